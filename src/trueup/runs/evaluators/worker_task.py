"""Task of a worker: receive the problem, evaluate a chunk, report errors."""

import errno
import io
import pickle
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.errors import EvaluationError
from trueup.runs.evaluators.answers import Answer

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM)
"""Errors of a machine without space."""


def pack(problem: Any, by_value: bool) -> bytes:
    """The problem as bytes for a worker.

    Args:
      problem: the problem.
      by_value: also pickle definitions of the main script, which a worker that was not started
        from this process cannot import.

    Raises:
      EvaluationError: the problem cannot be pickled.
    """
    try:
        if not by_value:
            return pickle.dumps(problem, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        reason: Exception = error
    else:
        reason = ImportError("the package cloudpickle is not installed")
    try:
        import cloudpickle

        return cloudpickle.dumps(problem)
    except ImportError:
        pass
    except Exception as error:
        reason = error
    raise EvaluationError(
        f"a {type(problem).__name__} cannot be sent to other processes: {reason}. Evaluate it in "
        "this process (without workers and scheduler), or build it from functions of a module and "
        "plain data; functions within functions and lambdas need the package cloudpickle "
        '(pip install "trueup[distributed]")'
    ) from reason


def unpack(payload: bytes, threads: int | None) -> Any:
    """The problem of :func:`pack`, on the worker, with its number of threads set."""
    problem = pickle.loads(payload)
    if threads is not None and hasattr(problem, "limit_threads"):
        problem.limit_threads(threads)
    return problem


def evaluate(problem: Any, kind: str, X: np.ndarray) -> Answer:
    """Evaluate a chunk.

    Args:
      problem: the problem.
      kind: ``"costs"`` or ``"residuals"``.
      X: candidates ``(n, p)``.
    """
    failures: dict[int, str] = {}
    started = time.perf_counter()
    answer = Answer(failures=failures)
    if kind == "costs":
        answer.costs = np.asarray(problem.costs(X, failures), float)
    else:
        # the arrays of a block may be reused for the next one
        answer.blocks = [
            (rows.start, rows.stop, np.array(values))
            for rows, values in problem.residual_blocks(X, failures)
        ]
    answer.seconds = time.perf_counter() - started
    return answer


@dataclass
class Mistake:
    """An exception on a worker: an error in the problem, not an invalid candidate."""

    pickled: bytes | None
    """The exception, if it can be pickled."""
    summary: str
    traceback: str
    worker: str
    rebuilding: bool = False
    """Whether it was raised while unpickling the problem on the worker."""
    of_machine: bool = False
    """Whether the memory or the disk of the worker was full: another one may have more."""


def mistake_of(error: BaseException, worker: str) -> Mistake:
    """Describe an exception so that it can be raised in the study."""
    pickled = None
    # some exceptions cannot be pickled or unpickled
    with suppress(Exception):
        stream = io.BytesIO(pickle.dumps(error))
        if type(pickle.load(stream)) is type(error):
            pickled = stream.getvalue()
    summary = "".join(traceback.format_exception_only(error)).strip()
    of_machine = isinstance(error, MemoryError) or (
        isinstance(error, OSError) and error.errno in _FULL
    )
    text = "".join(traceback.format_exception(error))
    return Mistake(pickled, summary, text, worker, of_machine=of_machine)


def raise_mistake(mistake: Mistake) -> None:
    """Raise the error of a worker: the exception itself if it could be pickled.

    Raises:
      EvaluationError: the problem could not be unpickled there, or the exception here.
    """
    if mistake.rebuilding:
        raise EvaluationError(
            f"the problem cannot be unpickled on {mistake.worker}: {mistake.summary}. Workers "
            "require "
            "the same packages, and the modules and files that the problem refers to\n"
            f"{mistake.traceback.rstrip()}"
        )
    error: BaseException | None = None
    if mistake.pickled is not None:
        with suppress(Exception):  # its class may be missing here
            error = pickle.loads(mistake.pickled)
    if error is None:
        error = EvaluationError(f"the evaluation of candidates failed with {mistake.summary}")
    error.add_note(f"It was raised on {mistake.worker}:\n{mistake.traceback.rstrip()}")
    raise error
