"""Executes the examples of a page, so that none of them can be wrong.

The blocks of a Markdown page run in order, in one namespace and one empty folder:

- ``python`` runs; ``pycon`` runs and its output is compared;
- ``console`` runs each line that starts with ``$``, which has to succeed; ``trueup`` runs in the
  process of the page, which spares its imports;
- a ``code-block`` with a ``:caption:`` is written to the file of that name;
- any other block is left alone, and so is one under the comment ``<!-- not executed -->``, which
  may give its reason after a colon.
"""

import contextlib
import doctest
import io
import multiprocessing
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SKIP = re.compile(r"<!-- not executed(: [^>]+)? -->")
_OPENING = re.compile(r"^(?P<fence>`{3,})(?P<info>[^`]*)$")
_DIRECTIVE = re.compile(r"^\{code-block\}\s*(?P<language>\w+)?$")
_OPTION = re.compile(r"^:(?P<name>[\w-]+):\s*(?P<value>.*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    file: str
    """File that it is written to, or empty."""
    text: str
    line: int
    """Line of its first character in the page."""
    skipped: bool


class ExampleError(Exception):
    """An example of a page fails."""


def blocks_of(page: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown page, in order."""
    lines = page.splitlines()
    at = 0
    while at < len(lines):
        opening = _OPENING.match(lines[at])
        at += 1
        if opening is None:
            continue
        above = next((text for text in reversed(lines[: at - 1]) if text.strip()), "")
        body = []
        first = at
        while at < len(lines) and lines[at].rstrip() != opening["fence"]:
            body.append(lines[at])
            at += 1
        at += 1
        info = opening["info"].strip()
        directive = _DIRECTIVE.match(info)
        options: dict[str, str] = {}
        if directive is not None:
            while body and (option := _OPTION.match(body[0])) is not None:
                options[option["name"]] = option["value"]
                body, first = body[1:], first + 1
        language = (directive["language"] or "") if directive is not None else info
        text = "\n".join(body) + "\n"
        skipped = SKIP.fullmatch(above.strip()) is not None
        yield Block(language, options.get("caption", ""), text, first + 1, skipped)


def run_page(page: Path) -> int:
    """Execute the examples of a page in an empty folder; returns how many there were.

    Raises:
      ExampleError: an example fails; the message names the page and the line.
    """
    with tempfile.TemporaryDirectory() as folder:
        return run_page_in(page, Path(folder))


def run_page_in(page: Path, folder: Path) -> int:
    """Execute the examples of a page in a folder, which keeps what they write.

    Raises:
      ExampleError: an example fails; the message names the page and the line.
    """
    namespace: dict[str, Any] = {"__name__": "__example__"}
    executed = 0
    text = page.read_text(encoding="utf-8")
    with contextlib.chdir(folder):
        for block in blocks_of(text):
            if block.skipped:
                continue
            where = f"{page.name} line {block.line}"
            if block.file:
                Path(block.file).write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                _run_python(block, where, namespace)
            elif block.language == "pycon":
                _run_session(block, where, namespace)
            elif block.language == "console":
                _run_commands(block, where)
            else:
                continue
            executed += 1
    return executed


def _run_python(block: Block, where: str, namespace: dict[str, Any]) -> None:
    # blank lines in front make the line numbers of a traceback those of the page
    source = "\n" * (block.line - 1) + block.text
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, where, "exec"), namespace)
    except Exception as error:
        raise ExampleError(f"{where}: {type(error).__name__}: {error}") from error


def _run_session(block: Block, where: str, namespace: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, {}, where, where, block.line - 1)
    test.globs = namespace
    runner = doctest.DocTestRunner(
        verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    if runner.failures:
        raise ExampleError(f"{where}: {''.join(report)}")


def _run_commands(block: Block, where: str) -> None:
    for line in block.text.splitlines():
        if not line.startswith("$ "):
            continue
        words = shlex.split(line[2:], comments=True)
        code, said = _run_trueup(words[1:]) if words[0] == "trueup" else _run_program(words)
        if code:
            raise ExampleError(f"{where}: {line[2:]} ended with {code}:\n{said}")


def _run_trueup(arguments: list[str]) -> tuple[int, str]:
    from trueup.cli import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        return main(arguments), said.getvalue()


def _run_program(words: list[str]) -> tuple[int, str]:
    # the commands of the environment that runs this page, also where it is not activated
    places = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
    environment = {**os.environ, "PATH": os.pathsep.join([*places, os.environ["PATH"]])}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    return done.returncode, done.stdout + done.stderr


def pages_with_examples(docs: Path) -> list[Path]:
    """Pages of the site, the README and CONTRIBUTING; generated ones left out."""
    left_out = {"_build", "generated", "_extensions"}
    pages = [p for p in docs.rglob("*.md") if not left_out & set(p.relative_to(docs).parts)]
    root = docs.parent
    return [root / "README.md", root / "CONTRIBUTING.md", *sorted(pages)]


IMPORTED = (
    "trueup.cli", "trueup.sysid", "mujoco", "numba", "scipy.optimize", "scipy.signal", "pydantic",
    "cma", "plotly.graph_objects", "torch",
)  # fmt: skip
"""Modules that most pages need; one process imports them, and that of each page begins as it is."""


def run_in_new_process(page: Path) -> None:
    """Execute the examples of a page in a separate process: what they register ends with it.

    Raises:
      ExampleError: an example fails.
    """
    context = multiprocessing.get_context(
        "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    )
    context.set_forkserver_preload(list(IMPORTED))
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run_and_send, args=(page, sender))
    process.start()
    sender.close()
    try:
        problem = receiver.recv()
    except EOFError:
        problem = f"{page.name}: its process died"
    process.join()
    if problem is not None:
        raise ExampleError(problem)


def _run_and_send(page: Path, sender: Any) -> None:
    """Execute the examples of a page, and send what failed, or None."""
    problem = None
    try:
        run_page(page)
    except ExampleError as error:
        problem = str(error)
    sender.send(problem)


def setup(app: Any) -> dict[str, Any]:
    """Execute all examples before a build reads its pages."""

    def run_all(app: Any) -> None:
        for page in pages_with_examples(Path(app.srcdir)):
            run_in_new_process(page)

    app.connect("builder-inited", run_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
