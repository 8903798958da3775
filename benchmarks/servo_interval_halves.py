"""Intervals of servo fits to two halves of the recordings: they have to overlap.

``python benchmarks/servo_interval_halves.py DATA [SERVO ...] [--models M1 M6] [--work FOLDER]``
with ``DATA`` the folder that holds ``xl330_bench`` and ``sts3215_bench``, servos ``xl330`` and
``sts3215``. Halves are alternate logs in the order of their names; gains 100 and 200 against 400
(XL330); the first three trajectories by name against the other two (STS3215). Fits are kept in
``FOLDER``; a finished one is read.

The limit: of the parameters that both halves call determined, the 95 % intervals of at least 95 %
overlap; exit code 1 otherwise. A parameter that a half does not determine counts as a miss, unless
a servo with the fitted values as truth is not determined by the same recordings either: if, by the
derivatives of its motion for noise of the size of the residuals, the parameter has no effect of its
own, or half its 95 % interval is more than 25 % of its value. The recording that would determine it
is listed.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from servo_coverage import LARGEST_HALF_WIDTH, predicted_deviations
from servo_quality import STS3215_VOLTS, processed, sts3215, with_benches
from servo_truths import ENCODER_COUNT
from trueup.actuators import FitSettings, Servo, ServoFit, ServoLog, fit, register

SERVOS = ("xl330", "sts3215")
BAR = 0.95
NORMAL = 1.2533  # standard deviation of a normal error over its mean size


def main() -> int:
    """Fit the halves and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("servos", nargs="*", default=list(SERVOS))
    parser.add_argument("--models", nargs="*", default=["m1", "m6"])
    parser.add_argument("--work", type=Path, default=Path("servo_interval_halves"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    together = compared = 0
    for name in options.servos:
        servo, halves, vin = cases(name, options.data)
        for model in options.models:
            for split, pair in halves.items():
                found = [
                    fitted(servo, model, logs, vin, options.work / f"{name}-{model}-{split}-{i}")
                    for i, logs in enumerate(pair)
                ]
                overlapping, both = compare(f"{name} {model} {split}", *found)
                together, compared = together + overlapping, compared + both
    share = together / max(1, compared)
    print(
        f"{together} of {compared} parameters that the recordings determine overlap: "
        f"{100 * share:.1f} %"
    )
    return 0 if share >= BAR else 1


def cases(
    name: str, data: Path
) -> tuple[str | Servo, dict[str, tuple[list[ServoLog], list[ServoLog]]], float | None]:
    """Servo, its logs in two halves by each split, and the supply voltage."""
    folder = data / f"{name}_bench"
    logs = sorted(processed(folder), key=lambda log: log.name)
    if name == "xl330":
        first = [log for log in logs if log.kp < 400]
        halves = {"gain": (first, [log for log in logs if log not in first])}
        servo: str | Servo = name
        vin = None
    elif name == "sts3215":
        logs = with_benches(logs, folder / "configs")
        learned = sorted({log.trajectory for log in logs})[:3]
        first = [log for log in logs if log.trajectory in learned]
        halves = {"trajectory": (first, [log for log in logs if log not in first])}
        servo, vin = register(sts3215(logs[0].motor), replace=True), STS3215_VOLTS
    else:
        raise SystemExit(f"there is no servo {name!r}; there are {', '.join(SERVOS)}")
    return servo, {**halves, "alternate": (logs[::2], logs[1::2])}, vin


def fitted(
    servo: str | Servo, model: str, logs: Sequence[ServoLog], vin: float | None, place: Path
) -> dict:
    """Values, intervals and determined parameters of a fit, made or read."""
    file = place.with_suffix(".json")
    if not file.exists():
        started = time.process_time()
        found = fit(servo, model, logs, settings=FitSettings(vin=vin))
        names = found.problem.space.names
        spread = found.assessment.spread
        content = {
            "values": dict(zip(names, found.solution.x.tolist(), strict=True)),
            "intervals": dict(zip(names, found.assessment.intervals.tolist(), strict=True)),
            "determined": list(found.assessment.identifiability.determined),
            "open": rightly_open(found, logs, vin),
            "advice": {n: a.sentence for a in found.assessment.advice for n in a.parameters},
            "left_out": None if spread is None else spread.to_dict(),
            "mae": found.training.mae,
            "cpu": time.process_time() - started,
        }
        file.write_text(json.dumps(content))
    return json.loads(file.read_text())


def rightly_open(found: ServoFit, logs: Sequence[ServoLog], vin: float | None) -> dict[str, bool]:
    """Parameters that the fit does not determine, and whether the recordings could not."""
    noise = max(found.training.mae * NORMAL, ENCODER_COUNT)
    deviations, alone, _ = predicted_deviations(found.model, logs, noise, vin)
    names = found.model.names
    determined = found.assessment.identifiability.determined
    out = {}
    for name in found.problem.space.names:
        if name not in determined:
            place = names.index(name)
            wide = 1.96 * deviations[place] > LARGEST_HALF_WIDTH * abs(found.model.values[name])
            out[name] = bool(wide or not alone[place])
    return out


def compare(title: str, first: dict, second: dict) -> tuple[int, int]:
    """Print two fits side by side; parameters with overlapping intervals, and all determined."""
    print(f"\n== {title}")
    for half in (first, second):
        print(
            f"{1e3 * half['mae']:.2f} mrad, {half['cpu']:.0f} s CPU, left out: {half['left_out']}"
        )
    missed = [n for half in (first, second) for n, right in half["open"].items() if not right]
    for half in (first, second):
        for name, right in half["open"].items():
            words = "rightly" if right else "WRONGLY"
            print(f"  {name} {words} left open: {half['advice'].get(name, 'no advice')}")
    both = [n for n in first["values"] if all(n in h["determined"] for h in (first, second))]
    overlapping = 0
    for name in first["values"]:
        (a, b), (c, d) = first["intervals"][name], second["intervals"][name]
        overlap = a <= d and c <= b
        overlapping += overlap and name in both
        remark = "not determined" if name not in both else "" if overlap else "APART"
        print(
            f"  {name:32} {first['values'][name]:.4g} [{a:.4g}, {b:.4g}]   "
            f"{second['values'][name]:.4g} [{c:.4g}, {d:.4g}]  {remark}"
        )
    return overlapping, len(both) + len(missed)


if __name__ == "__main__":
    sys.exit(main())
