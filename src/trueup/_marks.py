"""Mark in all written files: a note that the inputs of a result had changed.

A result that was made although its inputs have changed contains that sentence in every file. It is
in the file if the format supports comments or extra entries; otherwise in a text file of the same
name.
"""

import contextlib
import io
import json
import zipfile
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

KEY = "made_although"
"""Name of the mark in JSON and in archives of numpy."""
ENDING = f".{KEY}.txt"
"""Suffix of the text file next to a file of a format without support for a mark."""

_BEGIN = "made although"
"""First words of every mark."""
_BETWEEN = "; "
_MARK: ContextVar[str | None] = ContextVar("mark of written files", default=None)
_HASH = (".py", ".yaml", ".yml", ".csv", ".txt", ".sh", ".toml")
_XML = (".xml", ".urdf", ".mjcf", ".svg")
_C = (".c", ".h")
_STORAGE = (".mot", ".sto")  # of OpenSim: the first line is a name


@contextlib.contextmanager
def marked(mark: str | None) -> Iterator[None]:
    """Add a sentence to every file written within the context; None for no sentence."""
    if mark is None:
        yield
        return
    token = _MARK.set(joined(_MARK.get(), mark))
    try:
        yield
    finally:
        _MARK.reset(token)


def joined(*marks: str | None) -> str | None:
    """Several sentences joined without duplicates; None for none."""
    parts = [part for mark in marks if mark for part in mark.split(_BETWEEN)]
    return _BETWEEN.join(dict.fromkeys(parts)) or None


def current_mark() -> str | None:
    """The current mark; None outside of a context with a mark."""
    return _MARK.get()


def with_mark(path: Path, text: str) -> str | None:
    """The text of a file with the mark; None if its format does not support one."""
    mark, ending = _MARK.get(), path.suffix.lower()
    if mark is None or ending == ".html":  # a page contains the mark already
        return text
    if ending in _HASH:
        return _after(text, "#!", f"# {mark}\n")
    if ending in _XML:
        return _after(text, "<?xml", f"<!-- {mark.replace('--', '- -')} -->\n")
    if ending in _C:
        return f"/* {mark.replace('*/', '* /')} */\n{text}"
    if ending in _STORAGE:
        head, _, rest = text.partition("\n")
        return f"{head}\n{mark}\n{rest}"
    if ending == ".json":
        content = json.loads(text)
        if isinstance(content, dict):
            return json.dumps({**content, KEY: mark}, indent=2, ensure_ascii=False) + "\n"
    return None


def unmarked(text: str) -> str:
    """The text of a table of trueup without the line of a mark."""
    first, _, rest = text.partition("\n")
    return rest if first.startswith(f"# {_BEGIN}") else text


def archive_with_mark(content: bytes) -> bytes:
    """A numpy archive with the mark as an additional array."""
    import numpy as np

    whole, member = io.BytesIO(content), io.BytesIO()
    np.lib.format.write_array(member, np.array(_MARK.get()), allow_pickle=False)
    with zipfile.ZipFile(whole, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{KEY}.npy", member.getvalue())
    return whole.getvalue()


def _after(text: str, first: str, line: str) -> str:
    """The text with a line inserted at its start, or after a fixed first line."""
    if not text.startswith(first):
        return line + text
    head, _, rest = text.partition("\n")
    return f"{head}\n{line}{rest}"
