"""Messages for errors from outside of trueup, and for signals."""

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
    """Check that no word of a command is a pipe, device or socket, before anything is read.

    Raises:
      InputFileError: a word, or its value, is the path of one.
    """
    for before, word in zip(("", *words), words, strict=False):
        if before in _DEVICES or word.partition("=")[0] in _DEVICES:
            continue
        for text in {word, word.partition("=")[2], word.rpartition(":")[0]}:
            if text and "\0" not in text and len(text) < 4096:
                check_regular(Path(text))


def in_words(error: Exception) -> str | None:
    """Message for an error that a user can correct; None for a defect of trueup.

    Such errors are sizes that exceed the memory or the range of a number, errors of the operating
    system, and errors raised in a Python file of the user.
    """
    if isinstance(error, MemoryError) or _is_out_of_memory(error):
        return (
            f"out of memory: {_reason(error)}. Use less data, fewer candidates at once, or smaller "
            "sizes"
        )
    if isinstance(error, OverflowError):
        return f"a size or a number is too large: {_reason(error)}. Use a smaller one"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or _reason(error)}"
    if isinstance(error, RuntimeError) and "Symlink loop" in str(error):  # of Path.resolve
        return f"{_reason(error)}: the path contains a symbolic link to itself"
    place = _place_in_user_file(error)
    if place is not None:
        return f"{place} raised {type(error).__name__}: {_reason(error)}"
    return None


def show_traceback(error: Exception) -> None:
    """Print the traceback of an error raised in a Python file of the user."""
    if not isinstance(error, MemoryError | OSError) and _place_in_user_file(error) is not None:
        lines = traceback.format_exception(error)
        print(mask("".join(lines)), file=sys.stderr, end="", flush=True)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def _is_out_of_memory(error: Exception) -> bool:
    words = str(error).lower()  # torch raises plain RuntimeErrors
    return isinstance(error, RuntimeError) and any(w in words for w in _OUT_OF_MEMORY)


def _place_in_user_file(error: Exception) -> str | None:
    """File and line of the user's code that raised an error, or None."""
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
    """Handle SIGTERM as Ctrl-C: the command cleans up and ends with a message."""
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
