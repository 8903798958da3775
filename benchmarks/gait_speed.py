"""CPU time of evaluating walks, controller and cost included, relative to bare rollouts.

    python benchmarks/gait_speed.py MODEL.xml VECTOR.txt [--seconds 8] [--candidates 1 8]
        [--repeats 5] [--delayed] [--native]

MODEL is a walker with an exoskeleton, such as MyoAssist's planar model, VECTOR a parameter vector
that walks. Evaluations and ``Batch.rollout`` with the controls of that walk alternate on one
thread; the figure is the median ratio of their CPU times (limit: 1.2).
"""

import argparse
import time
from pathlib import Path

import numpy as np
from mujoco.batch import Batch

from trueup.gait import FourParameterProfile, MyoAssistCost, Walker, WalkSettings, WalkSimulation


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("vector", type=Path)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--candidates", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--delayed", action="store_true", help="neural delays, 1 ms control")
    parser.add_argument("--native", action="store_true", help="sense inside the step")
    options = parser.parse_args()
    walker = Walker.load(options.model)
    settings = WalkSettings(
        duration=options.seconds,
        delayed=options.delayed,
        compat=not options.native,
        threads=1,
    )
    simulation = WalkSimulation(walker, settings, profile=FourParameterProfile())
    for count in options.candidates:
        X = np.tile(np.loadtxt(options.vector), (count, 1))
        _compare(simulation, X, options.repeats)


def _compare(simulation: WalkSimulation, X: np.ndarray, repeats: int) -> None:
    cost = MyoAssistCost("Effort")
    controls, starts = [], []

    def keep(tick: int, batch: Batch) -> None:
        if not tick:
            starts.append(batch.state.copy())
        controls.append(np.repeat(batch.bind("ctrl")[:, None], simulation.steps, axis=1))

    def evaluate() -> np.ndarray:
        records = simulation.run(X)
        terms = cost.terms(records, simulation.walker.anatomy)
        return cost.scalars(X, records, terms, simulation.settings)

    records = simulation.run(X, keep)
    walked = records.length * records.period
    control = np.concatenate(controls, axis=1)
    bare = Batch(simulation.walker.model, len(X), 1)

    def roll_out() -> None:
        bare.state[:] = starts[0]
        bare.rollout(control.shape[1], control=control, record=())

    evaluate(), roll_out()
    ratios, rates = [], []
    for _ in range(repeats):
        own, peer = _seconds(evaluate), _seconds(roll_out)
        ratios.append(own / peer)
        rates.append(walked.sum() / own)
    print(
        f"{len(X)} candidates, {walked.min():.2f} s walked: evaluation {np.median(ratios):.3f} "
        f"times a bare rollout ({min(ratios):.3f} to {max(ratios):.3f}), "
        f"{np.median(rates):.2f} simulated s per CPU s, "
        f"frames {records.frames.nbytes / 1e6:.1f} MB",
        flush=True,
    )


def _seconds(function) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


if __name__ == "__main__":
    main()
