"""A mark in everything that is written: why what a file holds is not to be taken as it stands.

A result that was made although its inputs have changed carries that sentence in every file, whoever
writes it. Readers of a format find the sentence where the format has room for it; for others it is
in a text file of the same name.
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
"""Ending of the text file beside a file without room for a mark."""

_BEGIN = "made although"
"""First words of every mark."""
_BETWEEN = "; "
_MARK: ContextVar[str | None] = ContextVar("mark of what is written", default=None)
_HASH = (".py", ".yaml", ".yml", ".csv", ".txt", ".sh", ".toml")
_XML = (".xml", ".urdf", ".mjcf", ".svg")
_C = (".c", ".h")
_STORAGE = (".mot", ".sto")  # of OpenSim: the first line is a name


@contextlib.contextmanager
def marked(mark: str | None) -> Iterator[None]:
    """Put a sentence into every file that is written inside; None: none."""
    if mark is None:
        yield
        return
    token = _MARK.set(joined(_MARK.get(), mark))
    try:
        yield
    finally:
        _MARK.reset(token)


def joined(*marks: str | None) -> str | None:
    """Several sentences as one, each once; None for none."""
    parts = [part for mark in marks if mark for part in mark.split(_BETWEEN)]
    return _BETWEEN.join(dict.fromkeys(parts)) or None


def current_mark() -> str | None:
    """The sentence that files get now; None: none."""
    return _MARK.get()


def with_mark(path: Path, text: str) -> str | None:
    """The text of a file with the mark in it; None where its format has no room for one."""
    mark, ending = _MARK.get(), path.suffix.lower()
    if mark is None or ending == ".html":  # a page shows the mark itself
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
    """The text of a table without the line of a mark, for those who read what trueup wrote."""
    first, _, rest = text.partition("\n")
    return rest if first.startswith(f"# {_BEGIN}") else text


def archive_with_mark(content: bytes) -> bytes:
    """An archive of numpy with the mark as one more array."""
    import numpy as np

    whole, member = io.BytesIO(content), io.BytesIO()
    np.lib.format.write_array(member, np.array(_MARK.get()), allow_pickle=False)
    with zipfile.ZipFile(whole, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{KEY}.npy", member.getvalue())
    return whole.getvalue()


def _after(text: str, first: str, line: str) -> str:
    """The text with a line at its begin, or after a first line that has to stay there."""
    if not text.startswith(first):
        return line + text
    head, _, rest = text.partition("\n")
    return f"{head}\n{line}{rest}"
