"""Runs of every kind killed at random times and resumed, compared with uninterrupted ones.

Run:  python benchmarks/kill_every_kind.py [--kills 200] [--results kills.jsonl]

The command of each kind (study, identification, servo fit, training, gait) runs in a process of its
own, is killed by SIGKILL at a random time and continued with ``trueup study resume``.
After each kill every JSON and YAML file is read; at the end the values of the result must equal
those of the run that was not killed. Results are appended to a file, and a benchmark that is
started again goes on after them.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS / "border"), str(TESTS / "cli"), str(TESTS / "actuators")]

from work import KINDS, Work  # noqa: E402

CHANGING = {"seconds", "wall", "started", "finished", "machine", "provenance", "directory"}
"""Keys of results that differ from run to run."""


def command(words: list[str], folder: Path) -> subprocess.Popen:
    """A command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "trueup", *words],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def finished(words: list[str], folder: Path) -> None:
    """Run a command to its end."""
    process = command(words, folder)
    error = process.communicate()[1].decode()
    if process.returncode not in (0, 3):
        raise RuntimeError(f"exit code {process.returncode}: {error[-1000:]}")


def read_all(run: Path) -> None:
    """Read every file of a run that is to be whole at any time."""
    for path in run.rglob("*") if run.is_dir() else ():
        if path.name.startswith(".") or ".partial" in path.name or not path.is_file():
            continue
        if path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".yaml":
            yaml.safe_load(path.read_text())


def plain(value: Any) -> Any:
    """A result without what differs from run to run."""
    if isinstance(value, dict):
        return {
            key: plain(inner)
            for key, inner in value.items()
            if not any(word in key for word in CHANGING)
        }
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def outcome(run: Path) -> Any:
    """The numbers that a run ends with."""
    for name in ("metrics.json", "parameters.json"):
        if (run / name).is_file():
            return plain(json.loads((run / name).read_text()))
    raise RuntimeError(f"{run} has no result")


def one(kind: str, work: Work, folder: Path, seconds: float, chance: random.Random) -> float:
    """Kill a run and let it go on to its end; returns the time of the kill [s]."""
    words, run = work.command(folder), folder / work.run
    process = command(words, folder)
    wait = chance.uniform(0.3, 1.0) * seconds
    time.sleep(wait)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    read_all(run)
    begun = (run / "experiment.yaml").is_file()
    finished(["study", "resume", str(run)] if begun else [*words, "--overwrite"], folder)
    return wait


def main() -> None:
    """Kill, go on, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--results", type=Path, default=Path("kills.jsonl"))
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    options = parser.parse_args()
    done = options.results.read_text().splitlines() if options.results.is_file() else []
    references: dict[str, tuple[Any, float]] = {}
    with tempfile.TemporaryDirectory() as base:
        for number in range(len(done), options.kills):
            kind = options.kinds[number % len(options.kinds)]
            if kind not in references:
                place = Path(base) / f"whole-{kind}"
                place.mkdir()
                work = KINDS[kind](place)
                started = time.monotonic()
                finished(work.command(place), place)
                references[kind] = (outcome(place / work.run), time.monotonic() - started)
            whole, seconds = references[kind]
            place = Path(base) / f"{number}"
            place.mkdir()
            work = KINDS[kind](place)
            record: dict[str, Any] = {"number": number, "kind": kind, "problem": None}
            try:
                record["killed"] = one(kind, work, place, seconds, random.Random(number))
                if outcome(place / work.run) != whole:
                    record["problem"] = "differs from the run that was not killed"
            except (RuntimeError, ValueError, yaml.YAMLError) as error:
                record["problem"] = str(error)
            with options.results.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(record, flush=True)
    records = [json.loads(line) for line in options.results.read_text().splitlines()]
    bad = [record for record in records if record["problem"]]
    print(
        f"{len(records)} kills over {len(options.kinds)} kinds of runs, {len(bad)} with a problem"
    )
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
