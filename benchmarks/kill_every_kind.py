"""Runs of every kind killed at random times and resumed, compared with uninterrupted ones.

Run:  python benchmarks/kill_every_kind.py [--kills 200] [--results kills.jsonl]

The command of each kind (study, identification, servo fit, training, training by motion, gait) runs
in a child of one process that has imported everything and computed nothing, so that a kill strikes
the run and not its imports. A run is killed by SIGKILL at random times up to three times in a row,
continued with ``trueup study resume`` after each, and goes on to its end.
After each kill every JSON and YAML file and every checkpoint is read; at the end the values of the
result, and the weights of networks, must equal those of the run that was not killed. Results are
appended to a file, one line a kill, and a benchmark that is started again goes on after them.
"""

import argparse
import gc
import hashlib
import importlib
import json
import os
import pickle
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS / "border"), str(TESTS / "cli"), str(TESTS / "actuators")]

from work import KINDS, Work  # noqa: E402

from trueup.cli import main as trueup  # noqa: E402

CHANGING = {"seconds", "wall", "started", "finished", "machine", "provenance", "directory"}
"""Keys of results that differ from run to run."""
LONGER: dict[str, Callable[[list[str]], list[str]]] = {
    "study": lambda words: _replaced(words, "sobol", "cmaes", "3", "40"),
    "network": lambda words: [
        *_replaced(words, "train.max_epochs=1", "train.max_epochs=6"),
        "train.checkpointing.every_seconds=0.01",
    ],
    "motion": lambda words: _replaced(words, "2", "200"),
    "gait": lambda words: _replaced(words, "1", "4"),
}
"""Commands with more generations or epochs than those of the tests."""
CHAIN = 3
"""Most kills of one run."""
IMPORTED = (
    *("numba", "scipy.optimize", "scipy.stats", "scipy.signal", "cma", "mujoco.batch", "plotly"),
    *("torch", "lightning.pytorch", "safetensors.numpy", "jinja2", "trueup.sysid"),
    *("trueup.actuators", "trueup.networks", "trueup.gait", "trueup.runs", "trueup.reports"),
)


def _replaced(words: list[str], *pairs: str) -> list[str]:
    """Words with some replaced, given as old, new, old, new."""
    new = dict(zip(pairs[::2], pairs[1::2], strict=True))
    return [new.get(word, word) for word in words]


def command(words: list[str], folder: Path) -> int:
    """A command in a child of this process, in a process group of its own; its id."""
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        os.chdir(folder)
        out = os.open(folder / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        code = trueup(words)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        os.write(2, traceback.format_exc().encode())
        code = 1
    os._exit(code)


def ended(child: int, folder: Path, status: int | None = None) -> None:
    """Wait for a command to end."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1] if status is None else status)
    if code not in (0, 3):
        raise RuntimeError(f"exit code {code}: {(folder / 'said.txt').read_text()[-1500:]}")


def killed(child: int, folder: Path, seconds: float) -> bool:
    """Kill a command after some seconds; False where it has ended before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            ended(child, folder, status)
            return False
        time.sleep(0.002)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def read_all(run: Path) -> None:
    """Read every file of a run that is to be whole at any time."""
    import torch
    from safetensors.numpy import load_file

    for path in run.rglob("*") if run.is_dir() else ():
        if path.name.startswith(".") or ".partial" in path.name or not path.is_file():
            continue
        if path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".yaml":
            yaml.safe_load(path.read_text())
        elif path.suffix == ".safetensors":
            load_file(path)
        elif path.suffix == ".ckpt":
            torch.load(path, weights_only=False)
        elif path.suffix == ".sqlite":
            with sqlite3.connect(path) as store:
                if store.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                    raise RuntimeError(f"{path.name} is damaged")


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
    from safetensors.numpy import load_file

    found: dict[str, Any] = {}
    for name in ("metrics.json", "parameters.json"):
        if (run / name).is_file():
            found[name] = plain(json.loads((run / name).read_text()))
    for path in sorted(run.rglob("*.safetensors")):
        arrays = load_file(path)
        weights = b"".join(arrays[name].tobytes() for name in sorted(arrays))
        found[str(path.relative_to(run))] = hashlib.sha256(weights).hexdigest()
    if not found:
        raise RuntimeError(f"{run} has no result")
    return found


def words_of(kind: str, work: Work, folder: Path) -> list[str]:
    """The command of a kind."""
    return LONGER.get(kind, list)(work.command(folder))


def chain(
    kind: str, work: Work, folder: Path, seconds: float, chance: random.Random,
    times: list[float],
) -> None:  # fmt: skip
    """Kill a run up to three times, and let it end; times of the kills [s] go into ``times``."""
    words, run = words_of(kind, work, folder), folder / work.run
    going = words
    for _ in range(CHAIN):
        wait = chance.uniform(0.02, 1.0) * seconds
        if not killed(command(going, folder), folder, wait):
            break
        times.append(wait)
        read_all(run)
        begun = (run / "experiment.yaml").is_file()
        going = ["study", "resume", str(run)] if begun else [*words, "--overwrite"]
    else:
        ended(command(going, folder), folder)
    read_all(run)


def main() -> None:
    """Kill, go on, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--results", type=Path, default=Path("kills.jsonl"))
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    options = parser.parse_args()
    done = options.results.read_text().splitlines() if options.results.is_file() else []
    runs = 1 + max((json.loads(line)["run"] for line in done), default=-1)
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()
    references: dict[str, tuple[Any, float]] = {}
    works: dict[str, Work] = {}
    with tempfile.TemporaryDirectory() as base:
        while len(done) < options.kills:
            kind = options.kinds[runs % len(options.kinds)]
            source = Path(base) / kind
            if kind not in references:
                works[kind] = inputs(kind, source)
                for turn in range(2):  # the first one may compile
                    place = Path(base) / f"whole-{kind}-{turn}"
                    shutil.copytree(source, place)
                    work = works[kind]
                    started = time.monotonic()
                    ended(command(words_of(kind, work, place), place), place)
                    seconds = time.monotonic() - started
                references[kind] = (outcome(place / work.run), seconds)
                print(f"{kind}: {seconds:.2f} s", flush=True)
            whole, seconds = references[kind]
            place = Path(base) / f"{runs}"
            shutil.copytree(source, place)
            work, problem, times = works[kind], None, []
            try:
                chain(kind, work, place, seconds, random.Random(runs), times)
                found = outcome(place / work.run)
                if found != whole:
                    problem = f"differs from the run that was not killed: {found} {whole}"
            except (RuntimeError, ValueError, sqlite3.Error, yaml.YAMLError, OSError) as error:
                problem = f"{type(error).__name__}: {error}"
            records = [
                {"run": runs, "kind": kind, "killed": wait, "problem": problem}
                for wait in times or ([0.0] if problem else [])
            ]
            with options.results.open("a") as file:
                file.writelines(json.dumps(record) + "\n" for record in records)
            done += [json.dumps(record) for record in records]
            print(runs, kind, [round(t, 2) for t in times], problem, len(done), flush=True)
            if problem:
                shutil.copytree(place, options.results.with_suffix(f".{runs}"))
            shutil.rmtree(place)
            runs += 1
    every = [json.loads(line) for line in done]
    bad = [record for record in every if record["problem"]]
    counts = {kind: sum(r["kind"] == kind for r in every) for kind in options.kinds}
    print(f"{len(every)} kills over {counts}, {len(bad)} with a problem")
    sys.exit(bool(bad))


def inputs(kind: str, place: Path) -> Work:
    """Make the inputs of a kind in a child, so that this process computes nothing."""
    place.mkdir()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(writer, "wb") as file:
            pickle.dump(KINDS[kind](place), file)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        work = pickle.load(file)
    os.waitpid(child, 0)
    return work


if __name__ == "__main__":
    main()
