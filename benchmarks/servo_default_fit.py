"""The default servo fit on recordings: error on conditions that it has not seen, and its time.

``python benchmarks/servo_default_fit.py DATA [PART ...] [--work FOLDER]`` with ``DATA`` the folder
that holds ``xl330_bench`` and ``sts3215_bench``. Each fit is ``trueup actuator fit`` without
``--model``: friction model and terms are chosen by cross-validation over the training logs alone.
Runs are kept in ``FOLDER`` and resumed; a finished one is read.

- ``xl330-gain``: logs of kp 100 and 200, scored on kp 400; at most 26 mrad.
- ``xl330-all``: all 12 logs; CPU seconds of the process, at most 600 (5 minutes on two cores).
- ``sts3215-trajectory``: logs of the first three trajectories by name, scored on the other two, and
  the reverse.
- ``sts3215-driven``: the same for three trajectories that never have torque off, which leaves open
  what the other two, with torque off, depend on.
- ``sts3215-alternate``: every other log by name, scored on the rest, and the reverse.

Limits of the last three are 24, 24 and 22 mrad; the recommendation of one half has to be within 5 %
of that of the other half, fitted to the same logs and scored on the same logs.
"""

import argparse
import json
import resource
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from servo_quality import STS3215_VOLTS, processed, sts3215, with_benches
from trueup.actuators import (
    FitSettings,
    Servo,
    ServoFit,
    ServoLog,
    ServoModel,
    evaluate,
    fit,
    load_model,
    register,
)

PARTS = ("xl330-gain", "xl330-all", "sts3215-trajectory", "sts3215-driven", "sts3215-alternate")
LEARNED = {
    "sts3215-trajectory": ("brutal", "lift_and_drop", "sin_sin"),
    "sts3215-driven": ("sin_sin", "sin_time_square", "up_and_down"),
}
"""Trajectories of the STS3215 in the first half."""


def main() -> None:
    """Run the parts that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--work", type=Path, default=Path("servo_default_fit"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    for part in options.parts:
        print(f"\n== {part}", flush=True)
        if part.startswith("xl330"):
            xl330(part, options)
        elif part in PARTS:
            halves(part, options)
        else:
            parser.error(f"there is no part {part!r}; there are {', '.join(PARTS)}")


def xl330(part: str, options: argparse.Namespace) -> None:
    """The XL330: an unseen gain, or the time on all logs."""
    logs = processed(options.data / "xl330_bench")
    seen = [log for log in logs if part == "xl330-all" or log.kp < 400]
    model = fitted("xl330", seen, options.work / f"{part}-{options.seed}", options.seed)
    if part == "xl330-gain":
        report(model, [log for log in logs if log.kp == 400], 26.0)


def halves(part: str, options: argparse.Namespace) -> None:
    """The STS3215: each half of the logs predicts the other."""
    folder = options.data / "sts3215_bench"
    logs = sorted(with_benches(processed(folder), folder / "configs"), key=lambda log: log.name)
    servo = register(sts3215(logs[0].motor), replace=True)
    if part in LEARNED:
        first = [log for log in logs if log.trajectory in LEARNED[part]]
    else:
        first = logs[::2]
    second = [log for log in logs if log not in first]
    limit = 24.0 if part in LEARNED else 22.0
    settings = {"seed": options.seed, "vin": STS3215_VOLTS}
    found = {}
    for name, seen in (("first", first), ("second", second)):
        place = options.work / f"{part}-{name}-{options.seed}"
        found[name] = fitted(servo, seen, place, **settings)
    report(found["first"], second, limit, STS3215_VOLTS)
    report(found["second"], first, None, STS3215_VOLTS)
    chosen, other = found["first"], found["second"]
    if (chosen.friction.name, chosen.terms) == (other.friction.name, other.terms):
        print("both halves recommend one model")
        return
    place = options.work / f"{part}-recommended-by-second-{options.seed}"
    terms, model = other.terms, other.friction.name
    theirs = fitted(servo, first, place, model=model, terms=terms, **settings)
    own, errors = (mae(m, second, STS3215_VOLTS) for m in (chosen, theirs))
    print(f"recommendation of the other half, same logs: {errors:.2f} beside {own:.2f} mrad")


def fitted(
    servo: str | Servo,
    logs: Sequence[ServoLog],
    place: Path,
    seed: int,
    model: str | None = None,
    terms: tuple[str, ...] = (),
    vin: float | None = None,
) -> ServoModel:
    """A fit in a run directory, resumed or read where it was made before."""
    output, times = place.with_suffix(".json"), place.with_suffix(".times.json")
    if not times.exists():
        wall, cpu = time.perf_counter(), cpu_seconds()
        found: ServoFit = fit(
            servo,
            model,
            logs,
            settings=replace(FitSettings(seed=seed, terms=terms), vin=vin),
            output=output,
            resume=place.with_suffix(".run").exists(),
            verbose=True,
        )
        spent = {"wall": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu}
        if found.choice is not None:
            spent["tried"] = {t.label: 1e3 * t.error for t in found.choice.tried}
        times.write_text(json.dumps(spent))
    spent = json.loads(times.read_text())
    found_model = load_model(output)
    label = "+".join((found_model.friction.name, *found_model.terms))
    print(
        f"{place.name}: {label}; {spent['wall']:.0f} s wall, {spent['cpu']:.0f} s CPU", flush=True
    )
    return found_model


def report(
    model: ServoModel, logs: Sequence[ServoLog], limit: float | None, vin: float | None = None
) -> None:
    """Print the error on logs that the fit has not seen."""
    error = mae(model, logs, vin)
    bar = "" if limit is None else f" (at most {limit:g}: {'met' if error <= limit else 'MISSED'})"
    print(f"unseen, {len(logs)} logs: {error:.2f} mrad{bar}", flush=True)


def mae(model: ServoModel, logs: Sequence[ServoLog], vin: float | None) -> float:
    """Mean absolute position error [mrad], each log alike."""
    return 1e3 * evaluate(model, logs, vin=vin).mae


def cpu_seconds() -> float:
    """CPU time of this process and its children."""
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in parts)


if __name__ == "__main__":
    main()
