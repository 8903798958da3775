"""Problems of studies: a test problem, a function in a Python file, or an object."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from trueup.errors import ExperimentError, did_you_mean, listing
from trueup.fitting import Problem

_LARGEST_DIMENSION = 100_000  # maximum dimension of a test problem


@dataclass(frozen=True)
class NamedProblem:
    """A problem, and its source for reconstruction."""

    problem: Problem
    name: str
    """Name for the run."""
    file: Path | None = None
    """Absolute path of the Python file of a custom problem."""
    function: str = ""
    """Function in that file, or the test problem; empty for an object, which cannot be
    reconstructed."""
    dimension: int | None = None
    """Requested dimension."""


def named_problem(
    problem: str | Callable[..., Any] | Problem, dimension: int | None = None
) -> NamedProblem:
    """Resolve the problem of a study.

    Args:
      problem: ``"sphere"`` for a test problem, ``"file.py:function"``, the function itself, or a
        problem.
      dimension: number of parameters of a test problem, or argument of the function.

    Raises:
      ExperimentError: no such test problem, file or function, the file cannot be run, or the
        function does not return a problem.
    """
    if dimension is not None and dimension < 1:
        raise ExperimentError(f"--dimension must be at least 1, found {dimension}")
    if isinstance(problem, str):
        return _problem_of_text(problem, dimension)
    if isinstance(problem, Problem):
        if dimension is not None:
            raise ExperimentError("dimension is not supported with a problem object; remove it")
        return NamedProblem(problem, type(problem).__name__.lower())
    return _problem_of_function(problem, dimension)


def _problem_of_text(text: str, dimension: int | None) -> NamedProblem:
    path, colon, function = text.rpartition(":")
    if colon and path.endswith(".py"):
        return problem_of_file(Path(path).expanduser(), function, dimension)
    if text.endswith(".py"):
        raise ExperimentError(
            f"{text} has no function name: give {text}:FUNCTION, where FUNCTION() returns a "
            "trueup.fitting.Problem"
        )
    return _test_problem(text, dimension)


def _problem_of_function(function: Callable[..., Any], dimension: int | None) -> NamedProblem:
    module, name = inspect.getmodule(function), getattr(function, "__name__", "")
    file = getattr(module, "__file__", None)
    if file is None or getattr(module, name, None) is not function:
        raise ExperimentError(
            f"{function!r} is not a module-level function of a Python file, so the problem cannot "
            "be reconstructed: give such a function, or the problem object"
        )
    path = Path(file).resolve()
    problem = _checked(_call(function, f"{name}() in {path}", dimension), name, path)
    return NamedProblem(problem, path.stem, path, name, dimension)


def problem_of_file(path: Path, function: str, dimension: int | None = None) -> NamedProblem:
    """The problem that a function in a Python file returns; errors as :func:`named_problem`."""
    if not path.is_file():
        raise ExperimentError(f"no such file: {path}")
    module = _module(path.resolve())
    made = getattr(module, function, None)
    if not callable(made):
        functions = [
            name
            for name, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__
        ]
        raise ExperimentError(
            f"{path} has no function {function!r}; available: {listing(functions)}."
            f"{did_you_mean(function, functions)}"
        )
    problem = _checked(_call(made, f"{function}() in {path}", dimension), function, path)
    return NamedProblem(problem, path.stem, path.resolve(), function, dimension)


def _checked(made: Any, function: str, path: Path) -> Problem:
    problem = getattr(made, "problem", made)  # of a TestProblem
    if not isinstance(problem, Problem):
        raise ExperimentError(
            f"{function}() in {path} returned a {type(problem).__name__}; expected a "
            "trueup.fitting.Problem, such as trueup.fitting.VectorisedCosts(costs, space)"
        )
    return problem


def send_by_value(named: NamedProblem) -> None:
    """Pickle a problem by value, for machines without its file; requires cloudpickle."""
    if named.file is not None:
        import cloudpickle

        cloudpickle.register_pickle_by_value(sys.modules[named.file.stem])


def _test_problem(name: str, dimension: int | None) -> NamedProblem:
    from trueup.fitting import test_problems

    names = [n for n in test_problems.__all__ if n != "TestProblem"]
    wanted = name.replace("-", "_")
    if wanted not in names:
        raise ExperimentError(
            f"unknown test problem {name!r}; available: {listing(names, 30)}."
            f"{did_you_mean(wanted, names)} A custom problem is FILE.py:FUNCTION"
        )
    if dimension is not None and dimension > _LARGEST_DIMENSION:
        raise ExperimentError(
            f"--dimension of a test problem must be at most {_LARGEST_DIMENSION}, found {dimension}"
        )
    made = _call(getattr(test_problems, wanted), f"the test problem {name}", dimension)
    return NamedProblem(made.problem, wanted, None, wanted, dimension)


def _call(function: Any, label: str, dimension: int | None) -> Any:
    parameters = inspect.signature(function).parameters
    if dimension is not None and "dimension" not in parameters:
        raise ExperimentError(f"{label} has a fixed number of parameters: remove --dimension")
    needed = [
        p.name
        for p in parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    given = {} if dimension is None else {"dimension": dimension}
    missing = [name for name in needed if name not in given]
    if missing:
        advice = "give --dimension" if missing == ["dimension"] else "give them defaults"
        raise ExperimentError(f"{label} requires the arguments {listing(missing)}: {advice}")
    return function(**given)


def _module(path: Path) -> ModuleType:
    """Import a file under its own name, so that worker processes can import it too."""
    if not path.is_file():
        raise ExperimentError(f"no such file: {path}")
    name = path.stem
    if not name.isidentifier():
        raise ExperimentError(
            f"{path.name} cannot be imported: its name must contain only letters, digits and '_'"
        )
    source = path.read_bytes()
    _forget_other(name, path, source)
    loaded = sys.modules.get(name)
    if loaded is not None and _is_at(getattr(loaded, "__file__", None), path):
        return loaded
    found = None if loaded is not None else importlib.util.find_spec(name)
    if loaded is not None or (found is not None and not _is_at(found.origin, path)):
        raise ExperimentError(
            f"{path.name} has the name of an existing module, {name!r}: rename the file"
        )
    folder = str(path.parent)
    added = folder not in sys.path
    if added:
        sys.path.insert(0, folder)  # inherited by worker processes
    importlib.invalidate_caches()
    try:
        made = importlib.import_module(name)
        added = False
    except SyntaxError as error:
        where = f"{error.filename or path}"
        line = "" if error.lineno is None else f" line {error.lineno}"
        raise ExperimentError(f"{where}{line}: {error.msg}") from error
    except ImportError as error:
        raise ExperimentError(f"{path} cannot be imported: {error}") from error
    finally:
        if added:  # allow a file of this name in another folder next time
            sys.path.remove(folder)
    _imported[name] = (path, source)
    return made


_imported: dict[str, tuple[Path, bytes]] = {}
"""Files imported for a problem in this process, by module name, and their content."""


def _forget_other(name: str, path: Path, source: bytes) -> None:
    """Remove a module of an earlier problem from another folder, or of a changed file.

    Only the folder of the new file is kept on the path, so that workers find the right one.
    """
    former, content = _imported.get(name, (path, source))
    if (former, content) == (path, source):
        return
    del _imported[name]
    sys.modules.pop(name, None)
    if former.parent != path.parent and str(former.parent) in sys.path:
        sys.path.remove(str(former.parent))


def _is_at(origin: str | None, path: Path) -> bool:
    return origin is not None and Path(origin).resolve() == path
