"""Progress of a search on the spatial walker with 26 muscles, for a given CPU time.

    python benchmarks/gait_3d.py --directory runs/gait_3d --cpu-minutes 60

Called again with the same folder, it resumes, also after a kill, until the CPU time of all calls is
spent. It prints distance and duration of the walks in the first and in the last generation: best by
cost, and mean. There is no peer: MyoAssist's spatial walker cannot be optimised.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from trueup.fitting import CmaEs, CmaEsSettings
from trueup.gait import GaitConfiguration, make_problem
from trueup.gait.search.run_files import TermsLog, read_terms
from trueup.runs import Budget, RunDirectory, atomic, run_search

WEIGHTS = {"effort": 100.0, "velocity": 100.0}
AT_ONCE = 5
"""Generations between two looks at the clock."""


def main() -> None:
    """Search, or search on, and print both distances."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", type=Path, default=Path("runs/gait_3d"))
    parser.add_argument("--cpu-minutes", type=float, default=60.0)
    parser.add_argument("--sim-time", type=float, default=10.0, help="[s]")
    parser.add_argument("--popsize", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--muscles", type=int, choices=(26, 80), default=26)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()

    configuration = GaitConfiguration(
        musc_model=options.muscles,
        sim_time=options.sim_time,
        weights=WEIGHTS,
        popsize=options.popsize,
        seed=options.seed,
    )
    problem = make_problem(configuration, options.threads)
    search = CmaEs(problem.space, CmaEsSettings(population=options.popsize), seed=options.seed)
    begun = (options.directory / "run.json").is_file()
    directory = (
        RunDirectory.open(options.directory) if begun else RunDirectory.create(options.directory)
    )
    clock = options.directory / "cpu_seconds.json"
    spent = json.loads(clock.read_text()) if clock.is_file() else 0.0
    log = TermsLog(options.directory / "terms.jsonl", problem)
    last = time.process_time()
    with directory.lock():
        while spent < 60.0 * options.cpu_minutes:
            done = len(distances(options.directory))
            solution = run_search(
                problem,
                search,
                directory,
                settings=configuration.to_dict(),
                resume=begun,
                budget=Budget(max_generations=done + AT_ONCE),
                on_generation=log.write,
                verbose=False,
            )
            begun = True
            now = time.process_time()
            spent, last = spent + now - last, now
            atomic.write_json(clock, spent)
            walked = distances(options.directory)
            print(
                f"{spent / 60.0:6.2f} min, generation {len(walked)}: cost {solution.cost:.4g}, "
                f"best {walked[-1][0]:.2f} m, mean {walked[-1][1]:.2f} m",
                flush=True,
            )
            if not solution.status.value.startswith("iteration"):
                print(solution.message)
                break
    walked = distances(options.directory)
    print(f"{options.muscles} muscles in space, {options.sim_time:g} s at most, with delays:")
    for which, (best, mean) in (("first", walked[0]), ("last", walked[-1])):
        print(f"  {which} generation: its best walked {best:.2f} m, its mean {mean:.2f} m")
    print(f"  {len(walked)} generations in {spent / 60.0:.1f} minutes of processor time")


def distances(directory: Path) -> list[tuple[float, float]]:
    """Distance of the best of each generation by cost, and the mean of the generation [m]."""
    path = directory / "terms.jsonl"
    every = read_terms(path) if path.is_file() else {}
    return [
        (float(terms["walked"][np.nanargmin(terms["cost"])]), float(terms["walked"].mean()))
        for _, terms in sorted(every.items())
    ]


if __name__ == "__main__":
    main()
