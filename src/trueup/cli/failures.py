"""What ends a command, in one sentence: errors that trueup did not raise itself, and signals."""

import contextlib
import signal
import sys
import sysconfig
import threading
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from trueup import _stop_signals
from trueup._input_files import check_regular
from trueup._secrets import mask

_OWN = Path(__file__).parents[1]
_INSTALLED = tuple(
    Path(path).resolve() for path in {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix}
)
_DEVICES = ("--port", "--device")
"""Options whose value is a device."""

_OUT_OF_MEMORY = (
    *("out of memory", "can't allocate memory", "cannot allocate", "failed to allocate"),
    "storage size calculation overflowed",
)


def check_paths(words: Sequence[str]) -> None:
    """Refuse pipes, devices and sockets among the words of a command before anything is read.

    Raises:
      InputFileError: a word, or the value of one, is the path of such a thing.
    """
    for before, word in zip(("", *words), words, strict=False):
        if before in _DEVICES or word.partition("=")[0] in _DEVICES:
            continue
        for text in {word, word.partition("=")[2], word.rpartition(":")[0]}:
            if text and "\0" not in text and len(text) < 4096:
                check_regular(Path(text))


def in_words(error: Exception) -> str | None:
    """A sentence on an error that a user can do something about; None for a mistake of trueup.

    A size that does not fit into memory or into a number is one, and so is whatever a file of the
    user's own raised.
    """
    if isinstance(error, MemoryError) or _is_out_of_memory(error):
        return (
            f"there is not enough memory for this: {_reason(error)}. Take less data, fewer "
            "candidates at once, or smaller sizes"
        )
    if isinstance(error, OverflowError):
        return f"a size or a number is too large: {_reason(error)}. Take a smaller one"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or _reason(error)}"
    if isinstance(error, RuntimeError) and "Symlink loop" in str(error):  # of Path.resolve
        return f"{_reason(error)}: it is a link that leads to itself"
    place = _place_in_own_file(error)
    if place is not None:
        return f"{place} raised {type(error).__name__}: {_reason(error)}"
    return None


def show_traceback(error: Exception) -> None:
    """Print the traceback of an error in a file of the user's own, who has to find it there."""
    if not isinstance(error, MemoryError | OSError) and _place_in_own_file(error) is not None:
        lines = traceback.format_exception(error)
        print(mask("".join(lines)), file=sys.stderr, end="", flush=True)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def _is_out_of_memory(error: Exception) -> bool:
    words = str(error).lower()  # torch raises plain RuntimeErrors
    return isinstance(error, RuntimeError) and any(w in words for w in _OUT_OF_MEMORY)


def _place_in_own_file(error: Exception) -> str | None:
    """File and line of the user's own that an error came from, or None."""
    if any("Traceback" in note for note in getattr(error, "__notes__", ())):
        return "the problem, on a worker,"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.startswith("<"):
            continue
        path = Path(frame.filename).resolve()
        if path.is_file() and not any(
            path.is_relative_to(folder) for folder in (_OWN, *_INSTALLED)
        ):
            return f"{path.name} line {frame.lineno}"
    return None


@contextlib.contextmanager
def terminated_in_words() -> Iterator[None]:
    """Turn SIGTERM into what Ctrl-C does: the command ends with a sentence, and cleans up."""
    number = signal.SIGTERM
    usable = threading.current_thread() is threading.main_thread()
    if not usable or signal.getsignal(number) is not signal.SIG_DFL:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        _stop_signals.note(number)
        raise KeyboardInterrupt("")

    signal.signal(number, stop)
    try:
        yield
    finally:
        signal.signal(number, signal.SIG_DFL)
