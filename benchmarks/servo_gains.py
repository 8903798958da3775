"""Gains of a firmware that are not those of a servo's entry: found, named, and not invented.

``python benchmarks/servo_gains.py [SERVO ...] [--seeds 2]``. Each servo is simulated with an
error gain of a quarter, half, twice and four times that of its entry, with encoder noise: eight
logs of two gains, two masses and two trajectories. Its friction model is fitted with the gain of
the entry, and what explains the error is asked for. Found is a factor within 2 % of the planted
one; named, the gain of all logs first. The limit is 19 of 20.

A right gain is named never: not with the right friction model, nor where the fitted model lacks
friction of the load, backlash, a delay or saturation, nor where the loads are wrong. About 10 s of
CPU time each.
"""

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from servo_truths import RIGS, STRIDES, noisy_logs, planned_log, true_model, with_motion
from trueup.actuators import BenchSimulator, FitSettings, ServoLog, ServoModel, trajectory_named
from trueup.actuators.assess.firmware_gain import GAIN_OF_ALL
from trueup.actuators.search.prepared_fit import Prepared
from trueup.actuators.selection.candidate_fits import LIGHT, Candidate, CandidateFits, FitOrder

SERVOS = ("xl330", "mx64", "mx106")
RATIOS = (0.25, 0.5, 2.0, 4.0)
NEAR = 0.02
FEWEST = 0.95

RIGHT_GAINS: dict[str, tuple[str, Mapping[str, float]]] = {
    "right model": ("m4", {}),
    "friction of the load missing": ("m1", {}),
    "backlash missing": ("m4", {"backlash": 0.05}),
    "delay missing": ("m4", {"command_delay": 0.02}),
    "saturation missing": ("m4", {"torque_saturation": 0.5}),
    "loads wrong": ("m4", {}),
}
"""Fitted friction model and terms of the servo that it lacks; the servo has M4."""


def main() -> int:
    """Run all benches and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("servos", nargs="*", default=list(SERVOS))
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    hits, alarms = [], []
    for seed in range(options.seeds):
        for servo in options.servos:
            for ratio in RATIOS:
                found = cause_of(servo, "m4", recorded(servo, ratio, seed), seed)
                hits.append(found is not None and abs(found / ratio - 1.0) <= NEAR)
                print(f"{servo} {seed}: planted {ratio:g}, named {found}: {hits[-1]}", flush=True)
            for name, (fitted, terms) in RIGHT_GAINS.items():
                logs = recorded(servo, 1.0, seed, terms)
                if name == "loads wrong":
                    logs = [replace(log, mass=0.7 * log.mass) for log in logs]
                found = cause_of(servo, fitted, logs, seed)
                alarms.append(found is not None)
                print(f"{servo} {seed}: right gain, {name}: named {found}", flush=True)
    print(f"{sum(hits)} of {len(hits)} planted gains found and named; "
          f"{sum(alarms)} of {len(alarms)} right gains named")  # fmt: skip
    return 0 if np.mean(hits) >= FEWEST and not any(alarms) else 1


def recorded(
    servo: str, ratio: float, seed: int, terms: Mapping[str, float] | None = None
) -> list[ServoLog]:
    """Noisy logs of a servo whose error gain is a multiple of that of its entry."""
    rig, plain, more = RIGS[servo], true_model(servo, "m4", seed), dict(terms or {})
    own = replace(plain.servo, error_gain=ratio * plain.servo.error_gain)
    truth = ServoModel.create(own, "m4", tuple(more), **{**plain.values, **more})
    planned = [
        planned_log(truth, shape, mass, gain, rig.length)
        for shape in (STRIDES, trajectory_named("lift_and_drop"))
        for mass in rig.masses
        for gain in rig.gains
    ]
    motion = BenchSimulator(truth, planned, threads=1).simulate()
    if motion.failures:
        raise ValueError(f"{servo} {ratio:g}: {motion.failures[0]}")
    pairs = zip(planned, motion.position, motion.speed, strict=True)
    logs = [with_motion(log, position[0], speed[0]) for log, position, speed in pairs]
    return noisy_logs(logs, np.random.default_rng([seed, int(100 * ratio), *map(ord, servo)]))


def cause_of(servo: str, model: str, logs: list[ServoLog], seed: int) -> float | None:
    """Factor on the gain of all logs that is named first; None if another cause is, or none."""
    started = time.process_time()
    settings = FitSettings(seed=seed)
    (fit,) = CandidateFits(servo, logs, settings).make(
        [FitOrder(Candidate(model), None, (), LIGHT)]
    )
    prepared = Prepared(servo, model, logs, settings, workers=1)
    x = np.array([fit.values[name] for name in prepared.space.names])
    causes = prepared.bench_causes(x)
    print(f"  {time.process_time() - started:.0f} s CPU: {causes}", flush=True)
    return causes[0].factor if causes and causes[0].what == GAIN_OF_ALL else None


if __name__ == "__main__":
    sys.exit(main())
