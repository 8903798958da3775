"""How many small errors in a source file its tests notice.

A mutant is the source with one change that a slip of the pen makes: another variable of the same
kind, another sign, index, comparison, operator, number or order of operands. Mutants are drawn with
a fixed seed; each is written to a copy of the project, where the tests run with an empty cache of
compiled code. A mutant that no test fails on is alive: either a test is missing, or the change has
no effect, which a file of equivalents states with the reason.

    python benchmarks/mutants.py --targets src/trueup/gait/costs.py src/trueup/a.py:function \\
        --tests tests/gait/test_costs.py --count 40 --seed 1 --output mutants.json

Targets are files, or functions of files (``file.py:function``, ``file.py:Class.method``). The exit
code is 1 where a mutant is alive without a reason, or one that is listed as equivalent fails.
"""

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutations import Mutation, mutations_of

PROJECT = Path(__file__).resolve().parents[1]
FIRST_FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass
class Outcome:
    """What the tests say of a mutant."""

    killed: bool
    how: str
    """``test``, ``error`` (the tests cannot run), ``time`` (they take too long), or ``alive``."""
    by: str
    """First test that fails."""
    seconds: float


class Copy:
    """A copy of the project in which tests run.

    Args:
      folder: an empty folder.
      tests: arguments of pytest.
    """

    def __init__(self, folder: Path, tests: Sequence[str]):
        self.root, self.cache, self.tests = folder / "project", folder / "cache", tests
        names = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=PROJECT, check=True, capture_output=True, text=True,
        ).stdout.split("\0")  # fmt: skip
        for name in filter(None, names):
            if (PROJECT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(PROJECT / name, self.root / name)

    def run(self, limit: float) -> Outcome:
        """Run the tests, for at most so many seconds."""
        shutil.rmtree(self.cache, ignore_errors=True)
        environment = os.environ | {
            "PYTHONPATH": str(self.root / "src"),
            "NUMBA_CACHE_DIR": str(self.cache),
            # sources change within a second: none may be taken from bytecode of another mutant
            "PYTHONPYCACHEPREFIX": str(self.cache / "bytecode"),
        }
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        begun = time.monotonic()
        with tempfile.TemporaryFile("w+") as text:
            process = subprocess.Popen(
                [*command, *self.tests], cwd=self.root, env=environment, stdout=text,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                return Outcome(True, "time", "", time.monotonic() - begun)
            finally:
                _end(process)
            text.seek(0)
            said = text.read()
        seconds = time.monotonic() - begun
        if code == 0:
            return Outcome(False, "alive", "", seconds)
        found = FIRST_FAILURE.search(said)
        how = "test" if code == 1 else "error"
        return Outcome(True, how, found[1] if found else said.strip()[-2000:], seconds)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the tests and the processes that they have begun."""
    with contextlib.suppress(ProcessLookupError):  # all have ended
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def drawn(mutations: Sequence[Mutation], count: int, seed: int) -> list[Mutation]:
    """As many mutations, by chance: first a place in the source, then a change there.

    A place with many changes, such as a name among similar ones, is as likely as any other.
    """
    chance = random.Random(seed)
    places: dict[tuple[str, int, int], list[Mutation]] = {}
    for mutation in mutations:
        places.setdefault((mutation.file, mutation.start, mutation.end), []).append(mutation)
    chosen: list[Mutation] = []
    while places and len(chosen) < count:
        place = chance.choice(sorted(places))
        changes = places[place]
        chosen.append(changes.pop(chance.randrange(len(changes))))
        if not changes:
            del places[place]
    return sorted(chosen, key=lambda m: (m.file, m.start, m.change))


def all_mutations(targets: Iterable[str]) -> list[Mutation]:
    """Mutations of files, or of functions in files.

    Raises:
      SystemExit: there is no such file or function, or nothing in it to change.
    """
    found: list[Mutation] = []
    for target in targets:
        file, _, function = target.partition(":")
        path = PROJECT / file
        if not path.is_file():
            raise SystemExit(f"there is no file {file}: targets are relative to {PROJECT}")
        name = path.resolve().relative_to(PROJECT).as_posix()
        of_target = mutations_of(path.read_text(encoding="utf-8"), name, function or None)
        if not of_target:
            raise SystemExit(f"nothing to change in {target}: is it the name of a function?")
        found += [m for m in of_target if m not in found]
    return found


def table(rows: Sequence[dict[str, object]]) -> str:
    """The mutants as lines of text."""
    lines = []
    for row in rows:
        lines.append(
            f"{row['verdict']!s:10} {row['seconds']:6.1f} s  {row['file']}:{row['line']} "
            f"{row['function']}: {row['change']}"
        )
        lines.append(f"    {row['before']}\n    {row['after']}")
        if row["by"]:
            lines.append(f"    fails: {str(row['by']).splitlines()[-1]}")
        if row["reason"]:
            lines.append(f"    equivalent: {row['reason']}")
    return "\n".join(lines)


def key(entry: dict[str, str]) -> tuple[str, ...]:
    """What names a mutant apart from the number of its line."""
    return tuple(entry[name] for name in ("file", "function", "before", "after"))


def main() -> int:
    """Draw mutants, run the tests on each, and say which are alive."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--targets", nargs="+", required=True, help="FILE or FILE:FUNCTION")
    add("--tests", nargs="+", required=True, help="test files; arguments of pytest after --pytest")
    add("--pytest", default="", help="further arguments of pytest, in one word")
    add("--count", type=int, default=40, help="mutants to draw")
    add("--seed", type=int, default=1, help="seed of the draw")
    add("--limit", type=float, help="seconds a run; 3 times that of the unchanged source + 60 s")
    add("--equivalent", type=Path, help="JSON list of file, function, before, after and reason")
    add("--again", type=Path, help="only the mutants that this output has alive")
    add("--output", type=Path, default=Path("mutants.json"), help="takes the results as JSON")
    add("--list", action="store_true", help="list the mutants and run nothing")
    arguments = parser.parse_args()
    mutations = all_mutations(arguments.targets)
    chosen = drawn(mutations, arguments.count, arguments.seed)
    if arguments.again:
        alive = {key(m) for m in json.loads(arguments.again.read_text())["mutants"]
                 if m["verdict"] == "alive"}  # fmt: skip
        chosen = [m for m in mutations if key(m.plain()) in alive]
    reasons: dict[tuple[str, ...], str] = {}
    if arguments.equivalent:
        reasons = {key(e): e["reason"] for e in json.loads(arguments.equivalent.read_text())}
    print(f"{len(mutations)} possible mutants, {len(chosen)} drawn", flush=True)
    if arguments.list:
        for m in chosen:
            print(f"{m.file}:{m.line} {m.function}: {m.change}\n    {m.before}\n    {m.after}")
        return 0
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder), [*arguments.tests, *arguments.pytest.split()])
        first = copy.run(arguments.limit or 3600.0)
        if first.killed:
            print(f"the tests fail on the unchanged source: {first.by}", file=sys.stderr)
            return 2
        print(f"unchanged source: passes in {first.seconds:.1f} s", flush=True)
        limit = arguments.limit or 3.0 * first.seconds + 60.0
        for number, mutation in enumerate(chosen, 1):
            path = copy.root / mutation.file
            original = path.read_text(encoding="utf-8")
            path.write_text(mutation.applied(original), encoding="utf-8")
            outcome = copy.run(limit)
            path.write_text(original, encoding="utf-8")
            reason = reasons.get(key(mutation.plain()), "")
            verdict = outcome.how if outcome.killed else ("equivalent" if reason else "alive")
            if outcome.killed and reason:
                verdict = "mislisted"  # a test fails, so it is not equivalent
            rows.append({**mutation.plain(), "line": mutation.line, "change": mutation.change,
                         "verdict": verdict, "by": outcome.by, "reason": reason,
                         "seconds": round(outcome.seconds, 1)})  # fmt: skip
            print(f"{number}/{len(chosen)} {table(rows[-1:])}", flush=True)
            content = {"seed": arguments.seed, "targets": arguments.targets,
                       "tests": arguments.tests, "mutants": rows}  # fmt: skip
            arguments.output.write_text(json.dumps(content, indent=1), encoding="utf-8")
    counts = {v: sum(r["verdict"] == v for r in rows) for v in sorted({r["verdict"] for r in rows})}
    print("\n" + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    bad = [r for r in rows if r["verdict"] in ("alive", "mislisted")]
    print(table(bad) if bad else "no mutant is alive without a reason")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
