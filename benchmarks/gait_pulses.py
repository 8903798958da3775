"""Effect of a small torque pulse on the effort of a walk, at each joint and time of stance.

    python benchmarks/gait_pulses.py [--start WALK.json] [--torque 1.5] [--beside 96]

A massless device applies a torque pulse, three tenths of stance long, to a walk whose gains were
searched without a device. At an optimum of the gains the cost is stationary in them, so the effect
of the pulse at fixed gains equals, to first order, the effect with adapted gains. The result is the
median over perturbed copies of the walk, each with the pulse and without, of cost and of effort at
equal speed: one walk alone is too sensitive.

The result shows where to start the curve of a device, and whether torques there lower the effort.
``gait_exoskeleton.py`` measures large torques.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from gait_exoskeleton import START, started_from
from gait_searches import SPEED
from trueup.errors import GaitError
from trueup.gait import (
    Device,
    FourParameterProfile,
    Walker,
    WalkSimulation,
    load_configuration,
    make_problem,
)
from trueup.gait.search.problem import Scenario, evaluate

ACTS = {
    ("hip", "forward"): "hip flexion",
    ("hip", "backward"): "hip extension",
    ("knee", "forward"): "knee extension",
    ("knee", "backward"): "knee flexion",
    ("ankle", "forward"): "dorsiflexion",
    ("ankle", "backward"): "plantarflexion",
}
"""What a device does, by its joint and the way that it turns the part below."""

TIMES = tuple(k / 10.0 for k in range(1, 10))
"""Peaks of the pulses, in parts of stance."""

WIDTH = 0.15
"""Rise and fall of a pulse, in parts of stance."""

BESIDE_BY = 2e-3
"""By how much the vectors of the walks beside differ."""

LEAST = 8
"""Walks that have to last with a pulse and without for it to be told."""


class Worth(NamedTuple):
    """What a pulse changes."""

    cost: float
    """Median of the change of the cost [%]."""
    effort: float
    """The same of the effort for each metre, at equal speed [%]."""
    error: float
    """Standard error of the latter [%]."""
    lasted: int
    """Walks that last with the pulse."""


class Walks(NamedTuple):
    """Walks beside one, ``(n,)`` each."""

    cost: np.ndarray
    effort: np.ndarray
    speed: np.ndarray
    lasted: np.ndarray
    """bool."""


def walked(scenario: Scenario, vectors: np.ndarray, curve: tuple[float, ...]) -> Walks:
    """Walks with vectors ``(n, size)`` and a curve of a device."""
    curves = np.repeat(np.array(curve)[None], len(vectors), axis=0)
    costs, terms = evaluate(scenario, np.concatenate([vectors, curves], axis=1))
    lasted = terms["lasted"] >= scenario.simulation.settings.duration
    return Walks(costs, terms["effort"], terms["speed"], lasted)


def worth(with_pulse: Walks, without: Walks) -> Worth | None:
    """What a pulse changes, None where too few walks last."""
    both = with_pulse.lasted & without.lasted
    if both.sum() < LEAST:
        return None
    alone = stats.linregress(without.speed[without.lasted], np.log(without.effort[without.lasted]))
    faster = (with_pulse.speed - without.speed)[both]
    effort = np.log(with_pulse.effort / without.effort)[both] - alone.slope * faster
    cost = (with_pulse.cost / without.cost)[both] - 1.0
    # a median's standard error is some 1.25 times that of a mean
    error = 1.25 * effort.std() / np.sqrt(both.sum())
    told = 100.0 * np.array([np.median(cost), np.median(effort), error])
    return Worth(*told.tolist(), int(with_pulse.lasted.sum()))


def scenario_with(device: Device, like: Scenario) -> Scenario:
    """The same scenario with a device."""
    walker = Walker.load("planar22", slope=like.simulation.walker.slope, device=device)
    simulation = WalkSimulation(walker, like.simulation.settings, profile=FourParameterProfile())
    return replace(like, simulation=simulation)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--start", type=Path, default=START, help="the walk")
    parser.add_argument("--torque", type=float, default=1.5, help="height of a pulse [N m]")
    parser.add_argument("--beside", type=int, default=96, help="walks beside it")
    parser.add_argument("--slope", type=float, default=5.0, help="of the ground [deg]")
    options = parser.parse_args()
    if options.beside < LEAST:
        parser.error(f"--beside has to be {LEAST} or more, not {options.beside}")
    configuration = load_configuration("walk_sparing").with_changes(
        {
            "tgt_slope": options.slope,
            "tgt_vel": SPEED,
            "perturbed_repeats": 0,
            "unperturbed_repeat": False,
            "perturbation_sizes": None,
        }
    )
    if not 0.0 < options.torque <= configuration.max_torque:
        parser.error(
            f"--torque is above 0 and up to {configuration.max_torque:g} N m, not "
            f"{options.torque:g}"
        )
    try:
        body, speeds = started_from(options.start, make_problem(configuration, threads=1))
        configuration = configuration.with_changes({"joint_speeds": speeds})
        alone = make_problem(configuration, threads=1).scenarios[0]
    except (GaitError, FileNotFoundError) as error:
        parser.error(str(error))
    nudges = np.random.default_rng(0).standard_normal((options.beside, len(body)))
    beside = body * (1.0 + BESIDE_BY * nudges)
    height = options.torque / configuration.max_torque
    for (joint, turns), does in ACTS.items():
        device = Device(joint=joint, turns=turns, torque=configuration.max_torque)
        scenario = scenario_with(device, alone)
        without = walked(scenario, beside, (0.0, WIDTH, 0.5, WIDTH))
        print(f"{does}, {options.torque:g} N m; {int(without.lasted.sum())} last without")
        for time in TIMES:
            sides = (min(WIDTH, time), min(WIDTH, 1.0 - time))
            found = worth(walked(scenario, beside, (height, sides[0], time, sides[1])), without)
            if found is None:
                print(f"  at {time:.0%} of stance: too few walks last")
                continue
            print(
                f"  at {time:.0%} of stance: cost {found.cost:+.2f} %, effort at equal speed "
                f"{found.effort:+.2f} ± {found.error:.2f} %, {found.lasted} last",
                flush=True,
            )


if __name__ == "__main__":
    main()
