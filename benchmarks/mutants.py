"""Fate of small errors that are drawn from all of the sources: which tests notice each, if any.

A line is drawn with a seed, then a change on it. In a copy of the project the tests of the module's
folder run and, where the mutant survives, those of its package. FOLDER, outside of the project,
takes the copy and ``mutants.json``; the same call continues a stopped run, with the sources of the
copy and the tests of now. Exit code 1: a mutant survives. Run::

    python benchmarks/mutants.py FOLDER --seed 0 --number 60
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
SOURCES = Path("src/trueup")
OLD = (ast.Add, ast.Mult, ast.Lt, ast.Gt, ast.Eq, ast.Is, ast.In, ast.And)
NEW = (ast.Sub, ast.Div, ast.GtE, ast.LtE, ast.NotEq, ast.IsNot, ast.NotIn, ast.Or)
OPERATORS = dict(zip(OLD + NEW, NEW + OLD))
LATE = "timed out"
MESSAGES = (ast.Raise, ast.Assert, ast.JoinedStr)
ANNOTATIONS = ("annotation", "returns", "decorator_list")


def visited(node: ast.AST) -> Iterator[ast.AST]:
    """The node and those below it, without annotations and messages."""
    yield node
    below = (value for name, value in ast.iter_fields(node) if name not in ANNOTATIONS)
    for child in (each for value in below for each in (value if type(value) is list else [value])):
        if isinstance(child, ast.AST) and not isinstance(child, MESSAGES):
            yield from visited(child)


def changed(node: ast.AST) -> str | None:
    """Source that takes the place of that of a node; None where it stays."""
    match node:
        case ast.Expr(value=ast.Call()):
            return "pass"
        case ast.Return(value=ast.expr()) if ast.unparse(node) != "return None":
            return "return None"
        case ast.UnaryOp(op=ast.Not()):
            return f"({ast.unparse(node.operand)})"
        case ast.Constant(value=bool() | int() | float()):
            return repr(not node.value if isinstance(node.value, bool) else 2 * node.value or 1)
        case ast.BinOp() | ast.BoolOp() if type(node.op) in OPERATORS:
            turned = {"op": OPERATORS[type(node.op)]()}
        case ast.Compare():
            turned = {"ops": [OPERATORS[type(node.ops[0])](), *node.ops[1:]]}
        case _:
            return None
    return f"({ast.unparse(type(node)(**vars(node) | turned))})"


def drawn(root: Path, seed: int, number: int) -> list[dict]:
    """As many mutants, one a line; each line that has a change is as likely as any other."""
    lines: dict[tuple[str, int], list[dict]] = {}
    for path in sorted((root / SOURCES).rglob("*.py")):
        file, text = path.relative_to(root).as_posix(), path.read_bytes()
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        for node in visited(ast.parse(text)):
            if (after := changed(node)) is not None:
                start = starts[node.lineno - 1] + node.col_offset
                end = starts[node.end_lineno - 1] + node.end_col_offset
                row = {"file": file, "line": node.lineno, "start": start, "end": end}
                row |= {"before": text[start:end].decode(), "after": after}
                lines.setdefault((file, node.lineno), []).append(row)
    chance = random.Random(seed)
    places = chance.sample(sorted(lines), len(lines))[:number]
    return [chance.choice(lines[place]) for place in places]


def tests_of(root: Path, file: str) -> list[list[str]]:
    """Tests that run for a source: first those of its folder, then the others of its package."""
    inside = Path(file).relative_to(SOURCES)
    folder, words = root / "tests" / inside.parent, set(inside.stem.split("_"))
    while not folder.is_dir():
        folder = folder.parent
    # those that are named like the module come first: they fail soonest
    found = list(folder.glob("test_*.py")) or list(folder.rglob("test_*.py"))
    found.sort(key=lambda path: (-len(words & set(path.stem.split("_"))), path))
    package = root / "tests" / inside.parts[0]  # no folder for a module that is in no package
    rest = [path for path in sorted(package.rglob("test_*.py")) if path not in found]
    return [[str(path.relative_to(root)) for path in part] for part in (found, rest)]


def failed(root: Path, tests: list[str], limit: float) -> str | None:
    """The first test that fails, that they took too long, or None where all pass."""
    paths = {"PYTHONPATH": str(root / "src"), "NUMBA_CACHE_DIR": str(root.parent / "numba")}
    # what the tests have started ends with them
    command = ["timeout", "-k", "5", str(limit), sys.executable, "-m", "pytest", "-xq", *tests]
    ran = subprocess.run(command, cwd=root, env=os.environ | paths, capture_output=True, text=True)
    if ran.returncode in (0, 124):
        return LATE if ran.returncode else None
    found = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return found[0] if found else f"ended with {ran.returncode}: {ran.stderr[-200:]}"


def fate(root: Path, mutant: dict, limit: float) -> dict:
    """The mutant with what became of it, and the test that noticed it."""
    path = root / mutant["file"]
    text, times = path.read_bytes(), path.stat()
    path.write_bytes(text[: mutant["start"]] + mutant["after"].encode() + text[mutant["end"] :])
    try:
        for part, tests in zip(("mirrored", "package"), tests_of(root, mutant["file"])):
            if tests and (by := failed(root, tests, limit)):
                return mutant | {"fate": f"killed by {part}" if by != LATE else LATE, "by": by}
    finally:
        path.write_bytes(text)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # what is compiled of it stays
    return mutant | {"fate": "survived", "by": ""}


def main() -> int:
    """Draw mutants, run those without a fate, and print what became of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=60, help="mutants to draw")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of each run of tests")
    parser.add_argument("--again", action="store_true", help="run the survivors once more")
    given = parser.parse_args()
    root, results = given.folder.resolve() / "project", given.folder / "mutants.json"
    if not root.exists():
        shutil.copytree(PROJECT, root, ignore=shutil.ignore_patterns(".git", ".venv*", "shared"))
    shutil.rmtree(root / "tests")
    shutil.copytree(PROJECT / "tests", root / "tests")
    done = json.loads(results.read_text()) if results.exists() else []
    done = [row for row in done if not (given.again and row["fate"] == "survived")]
    for mutant in drawn(root, given.seed, given.number):
        row = next((each for each in done if mutant.items() <= each.items()), None)
        if row is None:
            row = fate(root, mutant, given.limit)
            done.append(row)
            results.write_text(json.dumps(done, indent=1))
        print("{fate}: {file}:{line}  {before}  ->  {after}  {by}".format(**row), flush=True)
    return int(any(row["fate"] == "survived" for row in done))


if __name__ == "__main__":
    raise SystemExit(main())
