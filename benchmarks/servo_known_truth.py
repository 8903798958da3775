"""Coverage of the intervals of servo fits with a known truth, for all servos and friction models.

For each servo of the catalogue and each of M1 to M6, 50 sets of logs of one invented servo, the
same motion with different noise, are fitted; the figure is how often the 95 % interval of each
parameter covers its true value. A rule on truth and planned recordings selects the identifiable
parameters before any fit (``servo_coverage.py``); the others are named. ``servo_truths.py``
defines truth, bench and noise. The limit is 90 % of the repeats for each identifiable parameter;
an interval with exactly 95 % coverage stays below 45 of 50 in 4 % of the cases.

A fixed rule separates chance from defects: for every parameter below 45 of its first 50 repeats,
its servo and model are repeated 200 times with new noise, and both counts are printed. The
parameter passes with at least 180 of the 200 new repeats; the first 50 do not count again. Exit
code 1 if one fails. ``--first`` postpones the new repeats; ``--settle FILE`` makes those that the
JSON file of such a run calls for.

    python benchmarks/servo_known_truth.py --first     # all, 20 to 25 minutes on two cores
    python benchmarks/servo_known_truth.py --settle servo_known_truth.json
    python benchmarks/servo_known_truth.py --quick     # 3 combinations, 10 repeats
    python benchmarks/servo_known_truth.py --servo xl330 mx64 --model m1 m6 --objective rmse

``--evolve`` adds the CMA-ES of ``trueup actuator fit``, ``--rounded`` rounds the noise to encoder
counts.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from servo_coverage import LOSSES, Case, Repeat, run_repeats, summarise
from servo_truths import RIGS
from trueup.actuators import FRICTION_MODELS

BAR = 0.9
QUICK = (("xl330", "m1"), ("mx64", "m3"), ("erob80_50", "m2"))
FRESH = 200
"""Further repeats where a parameter falls short."""

_CHUNK = 5  # repeats in one piece of work


def main() -> int:
    """Run what the command line asks for, print the table, write JSON."""
    options = _options()
    if options.settle is not None:
        return settled(json.loads(options.settle.read_text(encoding="utf-8")), options.workers)
    pairs = [(s, m) for m in options.model for s in options.servo]
    if options.quick:
        pairs, options.repeats = list(QUICK), min(options.repeats, 10)
    cases = [
        Case(s, m, options.seed, options.objective, options.rounded, options.evolve)
        for s, m in pairs
    ]
    started, cpu = time.perf_counter(), _cpu_time()
    results: list[dict] = []
    for result in run_cases(cases, options.repeats, options.workers):
        results.append(result)
        print(line(result), flush=True)
        summary = overall(results)
        content = {**vars(options), "output": str(options.output), **summary, "cases": results}
        content.pop("settle")
        content |= {"seconds": time.perf_counter() - started}
        options.output.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print("\n".join(verdict(results, summary)))
    seconds, cpu = time.perf_counter() - started, _cpu_time() - cpu
    print(f"{seconds:.0f} s wall, {cpu:.0f} s CPU; written to {options.output}")
    if summary["short"] and not options.first:
        return settled(json.loads(options.output.read_text(encoding="utf-8")), options.workers)
    return 1 if summary["short"] else 0


def settled(content: dict, workers: int) -> int:
    """Fresh repeats of the cases with a parameter that fell short; 1 where one still does."""
    doubtful = {}
    for result in content["cases"]:
        bar = BAR * result["repeats"]
        names = [
            n for n, r in result["parameters"].items() if r["identifiable"] and r["hits"] < bar
        ]
        if names:
            doubtful[result["servo"], result["model"]] = (result, names)
    settings = (content["seed"], content["objective"], content["rounded"], content["evolve"])
    cases = [Case(servo, model, *settings) for servo, model in doubtful]
    missed = 0
    for fresh in run_cases(cases, FRESH, workers, content["repeats"]):
        result, names = doubtful[fresh["servo"], fresh["model"]]
        for name in names:
            first, hits = result["parameters"][name]["hits"], fresh["parameters"][name]["hits"]
            missed += hits < BAR * FRESH
            print(
                f"{fresh['servo']:12} {fresh['model']} {name}: {first} of {result['repeats']} at "
                f"first, {hits} of {FRESH} afresh{'' if hits >= BAR * FRESH else ': SHORT'}",
                flush=True,
            )
    print(f"below the bar after fresh repeats: {missed}")
    return 1 if missed else 0


def run_cases(cases: list[Case], repeats: int, workers: int, begin: int = 0) -> Iterator[dict]:
    """The summary of each case, in their order; progress goes to the error stream.

    Repeats are numbered from ``begin``; each number has noise of its own.
    """
    end = begin + repeats
    parts = [range(n, min(n + _CHUNK, end)) for n in range(begin, end, _CHUNK)]
    started, done = time.perf_counter(), 0
    with ProcessPoolExecutor(workers) as pool:
        running = [[pool.submit(run_repeats, case, part) for part in parts] for case in cases]
        for case, futures in zip(cases, running, strict=True):
            found: list[Repeat] = []
            for future in futures:
                found += future.result()
                done += 1
                share = done / (len(cases) * len(parts))
                left = (time.perf_counter() - started) * (1.0 / share - 1.0) / 60
                text = f"\r{100 * share:3.0f} %, {left:.1f} minutes left "
                print(text, end="", file=sys.stderr, flush=True)
            yield summarise(case, found)
    print(file=sys.stderr)


def overall(results: list[dict]) -> dict:
    """Counts over all identifiable parameters."""
    from scipy.stats import binom

    rows = [
        (result, name, row)
        for result in results
        for name, row in result["parameters"].items()
        if row["identifiable"]
    ]
    short = [
        f"{result['servo']} {result['model']} {name}: {row['hits']} of {result['repeats']}"
        for result, name, row in rows
        if row["hits"] < BAR * result["repeats"]
    ]
    chance = sum(
        float(binom.cdf(np.ceil(BAR * result["repeats"]) - 1, result["repeats"], 0.95))
        for result, _, _ in rows
    )
    total = sum(result["repeats"] for result, _, _ in rows)
    return {
        "identifiable": len(rows),
        "coverage": sum(row["hits"] for _, _, row in rows) / max(total, 1),
        "short": short,
        "short_by_chance": chance,
    }


def line(result: dict) -> str:
    """A case: hits of each identifiable parameter, and the names of the others."""
    known = {n: r for n, r in result["parameters"].items() if r["identifiable"]}
    others = [n for n in result["parameters"] if n not in known]
    counts = " ".join(
        f"{name} {row['hits']}{'!' if row['hits'] < BAR * result['repeats'] else ''}"
        for name, row in known.items()
    )
    share = np.mean([row["hits"] for row in known.values()]) / result["repeats"]
    return (
        f"{result['servo']:12} {result['model']}: {100 * share:5.1f} % | {counts}"
        f" | not identifiable: {', '.join(others) or 'none'}"
        f" | starts {result['starts']}, worse than the truth {result['worse_than_truth']}"
    )


def verdict(results: list[dict], summary: dict) -> list[str]:
    """What it comes to."""
    fits = sum(result["repeats"] for result in results)
    return [
        f"{fits} fits, {summary['identifiable']} identifiable parameters: their intervals hold the "
        f"truth in {100 * summary['coverage']:.2f} % of all cases (nominal 95 %)",
        f"below {100 * BAR:.0f} %: {len(summary['short'])} of {summary['identifiable']}; exact "
        f"intervals would give {summary['short_by_chance']:.1f} by chance",
        *(f"  {line}" for line in summary["short"]),
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--servo", nargs="+", choices=list(RIGS), default=list(RIGS))
    models = list(FRICTION_MODELS)
    parser.add_argument("--model", nargs="+", choices=models, default=models)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--objective", choices=list(LOSSES), default="mae")
    parser.add_argument("--rounded", action="store_true")
    parser.add_argument("--evolve", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--settle", type=Path)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, default=Path("servo_known_truth.json"))
    return parser.parse_args()


def _cpu_time() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    raise SystemExit(main())
