"""Choice of a servo model on simulated servos whose structure is known.

``python benchmarks/servo_choice_truths.py [EFFECT ...] [--repeats 10] [--output FILE]``. A servo
with one effect beyond friction, or none, is simulated with encoder noise: eight logs of two gains,
two masses and two trajectories. ``choose_model`` tries all friction models and terms. It is right
where it takes the true structure, or one whose error on logs of another gain, mass and trajectory
is at most 5 % above that of the true structure fitted to the same logs. The limit is 9 of 10 for
each effect; exit code 1 otherwise. Repeats have the friction models in turn and values of their
own. Finished repeats are read from ``FILE``; 1 to 3 minutes of CPU time each.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from servo_truths import RIGS, STRIDES, noisy_logs, planned_log, true_model, with_motion
from trueup.actuators import (
    FRICTION_MODELS,
    BenchSimulator,
    FitSettings,
    ServoLog,
    ServoModel,
    choose_model,
    evaluate,
    fit,
    trajectory_named,
)

EFFECTS = {
    "none": {},
    "current_limit": {"current_limit": 1.2},
    "torque_saturation": {"torque_saturation": 0.6},
    "backlash": {"backlash": 0.03},
    "command_delay": {"command_delay": 0.015},
}
"""Terms of the true servo, with their values."""

NEAR = 0.05
FEWEST = 0.9


def main() -> int:
    """Run the repeats and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("effects", nargs="*", default=list(EFFECTS))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("servo_choice_truths.json"))
    options = parser.parse_args()
    done = json.loads(options.output.read_text()) if options.output.exists() else {}
    for repeat in range(options.repeats):
        for effect in options.effects:
            key = f"{effect} {repeat}"
            if key not in done:
                done[key] = tried(effect, repeat, options.workers)
                options.output.write_text(json.dumps(done, indent=1))
            found = done[key]
            print(
                f"{key}: {'right' if found['right'] else 'WRONG'}: {found['chosen']} for "
                f"{found['truth']}; {found['error']:.2f} beside {found['best']:.2f} mrad unseen; "
                f"{found['cpu']:.0f} s CPU",
                flush=True,
            )
    worst = 1.0
    for effect in options.effects:
        hits = [v["right"] for k, v in done.items() if k.split()[0] == effect]
        worst = min(worst, np.mean(hits))
        print(f"{effect}: {sum(hits)} of {len(hits)}")
    return 0 if worst >= FEWEST else 1


def tried(effect: str, repeat: int, workers: int) -> dict:
    """The choice on one simulated servo, beside the true structure fitted to the same logs."""
    truth = true_servo(effect, repeat)
    rng = np.random.default_rng([repeat, *map(ord, effect)])
    logs = noisy_logs(recorded(truth, ("strides", "lift_and_drop"), (0.15, 0.4), (200, 800)), rng)
    unseen = noisy_logs(recorded(truth, ("sin_time_square", "strides"), (0.25,), (400,)), rng)
    started = time.process_time()
    found = fit("xl330", None, logs, settings=FitSettings(seed=repeat))
    cpu = time.process_time() - started
    settings = FitSettings(seed=repeat, terms=truth.terms)
    own = choose_model(
        "xl330", logs, settings=settings, models=(truth.friction.name,), try_terms=(), by=None,
        workers=workers,
    ).chosen  # fmt: skip
    known = truth.with_values(**own.values)
    error, best = (1e3 * evaluate(model, unseen).mae for model in (found.model, known))
    same = (found.model.friction.name, found.model.terms) == (truth.friction.name, truth.terms)
    return {
        "chosen": "+".join((found.model.friction.name, *found.model.terms)),
        "truth": "+".join((truth.friction.name, *truth.terms)),
        "error": error,
        "best": best,
        "right": bool(same or error <= (1.0 + NEAR) * best),
        "cpu": cpu,
    }


def true_servo(effect: str, repeat: int) -> ServoModel:
    """An XL330 with one effect; friction model and values by the repeat."""
    names = list(FRICTION_MODELS)
    plain = true_model("xl330", names[repeat % len(names)], repeat)
    terms = EFFECTS[effect]
    return ServoModel.create(
        "xl330", plain.friction.name, tuple(terms), **{**plain.values, **terms}
    )


def recorded(
    truth: ServoModel,
    trajectories: tuple[str, ...],
    masses: tuple[float, ...],
    gains: tuple[int, ...],
) -> list[ServoLog]:
    """Logs without noise."""
    length = RIGS["xl330"].length
    shapes = {
        name: STRIDES if name == "strides" else trajectory_named(name) for name in trajectories
    }
    planned = [
        planned_log(truth, shape, mass, gain, length)
        for shape in shapes.values()
        for mass in masses
        for gain in gains
    ]
    motion = BenchSimulator(truth, planned, threads=1).simulate()
    if motion.failures:
        raise ValueError(f"{truth.friction.name}: {motion.failures[0]}")
    return [
        with_motion(log, position[0], speed[0])
        for log, position, speed in zip(planned, motion.position, motion.speed, strict=True)
    ]


if __name__ == "__main__":
    sys.exit(main())
