"""Runs of every kind killed at random times and resumed, compared with uninterrupted ones.

Run:  python benchmarks/kill_every_kind.py [--kills 300] [--results kills.jsonl] [--kinds gait ...]

The command of each kind of run, and of a study by each method of search, runs in a child of one
process that has imported everything and computed nothing, so that a kill strikes the run and not
its imports. A run is killed by SIGKILL at random times up to three times in a row, continued with
``trueup study resume`` after each, and goes on to its end.
After each kill every JSON and YAML file, every checkpoint and every history is read; at the end the
values of the result, the weights of networks, and the history of a search with all its candidates
and costs must equal those of the run that was not killed, bit for bit. Results are appended to a
file, one line a kill, and a benchmark that is started again goes on after them.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("runs", "actuators", "cli", "networks", "sysid", "gait", "fitting", "knowledge")
sys.path[:0] = [str(ROOT), *(str(ROOT / "tests" / name) for name in FOLDERS)]

from run_kinds import KINDS  # noqa: E402

from trueup.cli import main as trueup  # noqa: E402
from trueup.errors import TrueupError  # noqa: E402
from trueup.runs import RunDirectory, Store  # noqa: E402

CHANGING = {"seconds", "wall", "started", "finished", "machine", "provenance", "directory"}
"""Keys of results that differ from run to run."""
SEARCHES = {
    "cmaes ipop": ("rotated_rastrigin", "--method=cmaes", "restarts=ipop", "population=8"),
    "cmaes bipop": ("rosenbrock", "--method=cmaes", "restarts=bipop"),
    # its noise belongs to the candidate: a generator of the problem would start anew with a process
    "cmaes of noise": ("rough_sphere", "--method=cmaes"),
    "nsgaii": ("zdt1", "--method=nsgaii", "population=20"),
    "auto": ("exponential_decay", "--method=auto"),
    "multi-start": ("exponential_decay", "--method=multi-start"),
    "sobol": ("sphere", "--method=sobol", "population=16"),
}
"""Test problem and settings of further studies."""
CHAIN = 3
"""Most kills of one run."""
IMPORTED = (
    *("numba", "scipy.optimize", "scipy.stats", "scipy.signal", "cma", "mujoco.batch", "plotly"),
    *("torch", "lightning.pytorch", "safetensors.numpy", "jinja2", "trueup.sysid"),
    *("trueup.actuators", "trueup.networks", "trueup.gait", "trueup.runs", "trueup.reports"),
    *("trueup.explain", "trueup.design"),
)


@dataclass(frozen=True)
class Begun:
    """A run of one kind."""

    words: list[str]
    """Its command."""
    run: Path
    """Its run directory, in a folder of its own."""


class Search:
    """A study of a test problem, with the interface of the other kinds."""

    def __init__(self, name: str, folder: Path):
        self.settings = SEARCHES[name]

    def target(self, run: Path) -> Path:
        """Run directory of a run that is called ``run``."""
        return run

    def command(self, run: Path) -> list[str]:
        """Words of the command."""
        return ["study", "run", *self.settings, "--seed=1", "--evaluations=2000", f"--output={run}"]


EVERY: dict[str, Callable[[Path], Any]] = {
    **{kind.kind: kind for kind in KINDS},
    **{f"study by {name}": lambda folder, name=name: Search(name, folder) for name in SEARCHES},
}
"""What is killed, by name: made from the folder of its inputs."""


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


def history(run: Path) -> Any:
    """Candidates and costs of a search, and what it reported about itself; None without one."""
    file = RunDirectory.open(run).study
    if not file.is_file() or Store.is_blank(file):
        return None
    with Store.open(file) as store:
        kept = store.history()
    arrays = [hashlib.sha256(each.tobytes()).hexdigest() for each in (kept.X, kept.costs)]
    return [*arrays, kept.generation.tolist(), plain(list(kept.generations)), dict(kept.reasons)]


def outcome(run: Path) -> Any:
    """The numbers that a run ends with."""
    from safetensors.numpy import load_file

    found: dict[str, Any] = {"history": history(run)}
    for name in ("metrics.json", "parameters.json", "solution.json"):
        if (run / name).is_file():
            found[name] = plain(json.loads((run / name).read_text()))
    for path in sorted(run.rglob("*.safetensors")):
        arrays = load_file(path)
        weights = b"".join(arrays[name].tobytes() for name in sorted(arrays))
        found[str(path.relative_to(run))] = hashlib.sha256(weights).hexdigest()
    if "solution.json" not in found:
        raise RuntimeError(f"{run} has no result")
    return found


def differences(found: Any, whole: Any, place: str = "") -> list[str]:
    """Places at which two results differ."""
    if isinstance(found, dict) and isinstance(whole, dict):
        names = {*found, *whole}
        return [
            text
            for name in sorted(names, key=str)
            for text in differences(found.get(name), whole.get(name), f"{place}/{name}")
        ]
    if isinstance(found, list) and isinstance(whole, list) and len(found) == len(whole):
        pairs = enumerate(zip(found, whole, strict=True))
        return [text for k, (a, b) in pairs for text in differences(a, b, f"{place}/{k}")]
    return [] if repr(found) == repr(whole) else [f"{place}: {found!r:.60} {whole!r:.60}"]


def chain(
    begun: Begun, folder: Path, seconds: float, chance: random.Random, times: list[float]
) -> None:
    """Kill a run up to three times, and let it end; times of the kills [s] go into ``times``."""
    going = begun.words
    for _ in range(CHAIN):
        wait = chance.uniform(0.02, 1.0) * seconds
        if not killed(command(going, folder), folder, wait):
            break
        times.append(wait)
        read_all(begun.run)
        is_begun = (begun.run / "experiment.yaml").is_file()
        going = ["study", "resume", str(begun.run)] if is_begun else [*begun.words, "--overwrite"]
    else:
        ended(command(going, folder), folder)
    read_all(begun.run)


def main() -> None:
    """Kill, go on, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--results", type=Path, default=Path("kills.jsonl"))
    parser.add_argument("--kinds", nargs="+", default=list(EVERY), choices=list(EVERY))
    options = parser.parse_args()
    done = options.results.read_text().splitlines() if options.results.is_file() else []
    runs = 1 + max((json.loads(line)["run"] for line in done), default=-1)
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()
    references: dict[str, tuple[Begun, Any, float]] = {}
    with tempfile.TemporaryDirectory() as base:
        while len(done) < options.kills:
            kind = options.kinds[runs % len(options.kinds)]
            if kind not in references:
                begun = prepared(kind, Path(base) / kind.replace(" ", "-"))
                for _ in range(2):  # the first one may compile
                    place, at = cleared(begun), time.monotonic()
                    ended(command(begun.words, place), place)
                    seconds = time.monotonic() - at
                references[kind] = (begun, outcome(begun.run), seconds)
                print(f"{kind}: {seconds:.2f} s", flush=True)
            begun, whole, seconds = references[kind]
            problem, times = None, []
            try:
                chain(begun, cleared(begun), seconds, random.Random(runs), times)
                if differ := differences(outcome(begun.run), whole):
                    problem = f"differs from the run that was not killed: {'; '.join(differ[:5])}"
            except (
                *(RuntimeError, ValueError, sqlite3.Error, yaml.YAMLError, OSError, TrueupError),
            ) as error:
                problem = f"{type(error).__name__}: {error}"
            records = [
                {"run": runs, "kind": kind, "killed": wait, "problem": problem}
                for wait in times or ([0.0] if problem else [])
            ]
            with options.results.open("a") as file:
                file.writelines(json.dumps(record) + "\n" for record in records)
            done += [json.dumps(record) for record in records]
            print(runs, kind, [round(t, 2) for t in times], problem, len(done), flush=True)
            if problem and begun.run.is_dir():
                shutil.copytree(begun.run, options.results.with_suffix(f".{runs}"))
            runs += 1
    every = [json.loads(line) for line in done]
    bad = [record for record in every if record["problem"]]
    counts = {kind: sum(r["kind"] == kind for r in every) for kind in options.kinds}
    print(f"{len(every)} kills over {counts}, {len(bad)} with a problem")
    sys.exit(bool(bad))


def prepared(kind: str, folder: Path) -> Begun:
    """Make the inputs of a kind in a child, so that this process computes nothing."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            (folder / "inputs").mkdir(parents=True)
            made, run = EVERY[kind](folder / "inputs"), folder / "place" / "run"
            with os.fdopen(writer, "wb") as file:
                pickle.dump(Begun(made.command(run), made.target(run)), file)
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        begun = pickle.load(file)
    os.waitpid(child, 0)
    return begun


def cleared(begun: Begun) -> Path:
    """The folder of a run, empty."""
    folder = begun.run.parent
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


if __name__ == "__main__":
    main()
