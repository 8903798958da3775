"""Studies on four Dask workers with faults, compared bit for bit with one in this process.

Run:  python benchmarks/dask_faults.py [--generations 30] [--only paused ...]

killed       a worker ends by SIGKILL
replaced     so do all, one after the other, and new ones join
paused       a worker is stopped for 1 s by SIGSTOP
hanging      and never continues: the scheduler gives it up after 2 s
memory       the memory of a worker is full
disk         the disk of a worker is full
scheduler    the scheduler ends by SIGKILL; the study is resumed with another at its address

Each fault strikes every fifth generation, without and with TLS on the loopback interface.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tests" / "runs")]

from toy_study import Evolution  # noqa: E402

from dask_faults import Needy, fleet, free_address, openssl  # noqa: E402
from trueup.errors import EvaluationError  # noqa: E402
from trueup.runs import Budget, RunDirectory, Store, run_search  # noqa: E402
from trueup.runs.evaluators import DaskCluster  # noqa: E402
from trueup.runs.loop.generation import Generation  # noqa: E402

FAULTS = ("killed", "replaced", "paused", "hanging", "memory", "disk", "scheduler")
EVERY = 5
"""Generations between two faults."""


def study(path: Path, problem: Needy, generations: int, **options: object) -> None:
    """Run a study, or continue the one in the folder."""
    directory = RunDirectory.open(path) if path.exists() else RunDirectory.create(path)
    limits, search = Budget(max_generations=generations), Evolution(problem.space)
    run_search(problem, search, directory, budget=limits, verbose=False, **options)  # type: ignore[arg-type]


def history(path: Path) -> tuple:
    """Candidates, costs and reasons of all evaluations."""
    with Store.open(path / "study.sqlite") as store:
        found = store.history()
    return found.X.tobytes(), found.costs.tobytes(), found.reasons


def faulty_study(fault: str, folder: Path, generations: int, tls: dict[str, str]) -> int:
    """Run a study with a fault; returns how often it struck."""
    address = free_address("tls" if tls else "tcp")
    struck, joined, problem, path = 0, [], Needy(folder), folder / "there"
    with fleet(address, **tls) as processes:
        scheduler, *workers = processes

        def strike(generation: Generation) -> None:
            nonlocal struck
            if generation.number % EVERY != 1:
                return
            struck += 1
            if fault == "scheduler":
                os.kill(scheduler, signal.SIGKILL)
            elif fault in ("killed", "replaced", "hanging") and len(workers) > 1:
                worker = workers.pop()
                os.kill(worker, signal.SIGSTOP if fault == "hanging" else signal.SIGKILL)
                if fault == "replaced":
                    joined.append(fleet(address, workers=1, scheduler=False, **tls))
                    workers[:0] = joined[-1].__enter__()
            elif fault == "paused":
                os.kill(workers[0], signal.SIGSTOP)
                threading.Timer(1.0, os.kill, (workers[0], signal.SIGCONT)).start()
            elif fault in ("memory", "disk"):
                name = "hungry" if fault == "memory" else "full"
                (folder / name).write_text(str(workers[struck % 4]))

        try:
            cluster = DaskCluster(address)
            study(path, problem, generations, evaluator=cluster, on_generation=strike)
        except EvaluationError:
            if fault != "scheduler":
                raise
            with fleet(address, **tls):
                study(path, problem, generations, evaluator=DaskCluster(address), resume=True)
        finally:
            for each in joined:
                each.__exit__(None, None, None)
    return struck


def main() -> None:
    """Strike, and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--generations", type=int, default=30)
    parser.add_argument("--only", nargs="+", default=list(FAULTS), choices=FAULTS)
    options = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = openssl(folder)
        study(folder / "here", Needy(folder, pause=0.0), options.generations)
        expected = history(folder / "here")
        for tls in ({}, given):
            os.environ.update(tls)
            from dask import config

            config.refresh()
            for fault in options.only:
                place, at = folder / f"{fault}{len(tls)}", time.monotonic()
                place.mkdir()
                struck = faulty_study(fault, place, options.generations, tls)
                same = history(place / "there") == expected
                bad += not same
                print(
                    f"{fault:10s} {'TLS' if tls else 'TCP'}: struck {struck} times, "
                    f"{'equal' if same else 'DIFFERENT'}, {time.monotonic() - at:.1f} s",
                    flush=True,
                )
                shutil.rmtree(place)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
