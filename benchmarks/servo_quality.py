"""Error and time of servo fits on recordings of two benches.

``python benchmarks/servo_quality.py DATA [PART ...]`` with ``DATA`` the folder that holds
``xl330_bench`` and ``sts3215_bench``, and parts among:

- ``fit``: M1 and M6 of the XL330 from all its logs, constant 7.4 V, no extended term: error, wall
  and CPU time for several seeds, scored in both schemes; then fits made in the scheme ``bam``.
- ``held-out``: M1 to M6 with kp 400 held out, and an extended model that ``choose_model`` selects
  by cross-validation over the other two gains. The logs of kp 400 serve for the last line only; the
  term ``torque_saturation`` was motivated by the logs of kp 100 and 200.
- ``sts3215``: M1 and M6 with the firmware's speed limit, kp 16 and mass 1.168 kg held out in turn.
- ``workers``: M6 of the XL330 with one worker and with two: wall time, and equality of the results.

Errors are mean absolute position errors [mrad] with equal weight for each log. The reference tool
reaches 48.1 (M1, 6 minutes) and 29.4 (M6, 8 minutes) with 2000 trials on the same XL330 logs.
"""

import argparse
import dataclasses
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import yaml

from trueup.actuators import (
    FitSettings,
    Servo,
    ServoFit,
    ServoLog,
    TriedModel,
    choose_model,
    evaluate,
    find_servo,
    fit,
    process,
    read_logs,
    split_logs,
)

PARTS = ("fit", "held-out", "sts3215", "workers")
MODELS = ("m1", "m2", "m3", "m4", "m5", "m6")
XL330_VOLTS, STS3215_VOLTS = 7.4, 12.1


def main() -> None:
    """Run the parts that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    for part in arguments.parts:
        print(f"\n== {part}", flush=True)
        if part == "fit":
            fits_of_all_logs(arguments.data, range(arguments.seeds))
        elif part == "held-out":
            held_out_gain(arguments.data, range(arguments.seeds))
        elif part == "sts3215":
            held_out_sts3215(arguments.data)
        elif part == "workers":
            one_worker_beside_two(arguments.data, range(arguments.seeds))
        else:
            parser.error(f"there is no part {part!r}; there are {', '.join(PARTS)}")


def fits_of_all_logs(data: Path, seeds: Sequence[int]) -> None:
    """M1 and M6 of the XL330 from all logs."""
    logs = processed(data / "xl330_bench")
    for scheme in ("semi-implicit", "bam"):
        for model in ("m1", "m6"):
            settings = FitSettings(scheme=scheme, vin=XL330_VOLTS)
            fit("xl330", model, logs, settings=dataclasses.replace(settings, trials=10))  # compiles
            for seed in seeds:
                found, seconds, cpu = timed(
                    "xl330", model, logs, dataclasses.replace(settings, seed=seed)
                )
                scores = [
                    evaluate(found.model, logs, scheme=s, vin=XL330_VOLTS).mae
                    for s in ("semi-implicit", "bam")
                ]
                print(
                    f"{model} fitted as {scheme:13} seed {seed}: {milli(found.training.mae)}; "
                    f"scored as semi-implicit {milli(scores[0])}, as bam {milli(scores[1])}; "
                    f"{found.solution.stats['evaluations']} evaluations, {seconds:.1f} s wall, "
                    f"{cpu:.1f} s CPU; on a bound: {', '.join(found.at_bound) or 'none'}",
                    flush=True,
                )


def held_out_gain(data: Path, seeds: Sequence[int]) -> None:
    """M1 to M6 with kp 400 held out, and the extended model that an inner split chooses."""
    logs = processed(data / "xl330_bench")
    settings = FitSettings(vin=XL330_VOLTS, validation_kp=(400,))
    errors = {}
    for model in MODELS:
        found, seconds, cpu = timed("xl330", model, logs, settings)
        assert found.held_out is not None
        errors[model] = found.held_out.mae
        print(f"{model}: {split_line(found)}, {seconds:.1f} s wall, {cpu:.1f} s CPU", flush=True)
    inner, _ = split_logs(logs, kp=400)
    print("inner split, mean error on each gain after a fit to the other:", flush=True)
    choice = choose_model(
        "xl330", inner, settings=FitSettings(vin=XL330_VOLTS), on_tried=tell_tried
    )
    chosen = choice.chosen
    for seed in seeds:
        extended = dataclasses.replace(settings, terms=chosen.terms, seed=seed)
        found, seconds, cpu = timed("xl330", chosen.model, logs, extended)
        assert found.held_out is not None
        reduction = 1.0 - found.held_out.mae / errors["m6"]
        print(
            f"chosen: {chosen.label}, seed {seed}: {split_line(found)}; held out "
            f"{100 * reduction:.1f} % below m6; {seconds:.1f} s wall, {cpu:.1f} s CPU; "
            f"{', '.join(f'{k} {v:.4g}' for k, v in found.solution.parameters.items())}",
            flush=True,
        )


def tell_tried(tried: TriedModel) -> None:
    """Print the inner error of a model."""
    errors = ", ".join(f"kp {value} {milli(error)}" for value, error in tried.errors.items())
    print(f"  {tried.label}: {milli(tried.error)} ({errors})", flush=True)


def held_out_sts3215(data: Path) -> None:
    """M1 and M6 of the STS3215, by gain and by mass."""
    folder = data / "sts3215_bench"
    logs = with_benches(processed(folder), folder / "configs")
    servo = sts3215(logs[0].motor)
    for model in ("m1", "m6"):
        for settings in (
            FitSettings(vin=STS3215_VOLTS, validation_kp=(16,)),
            FitSettings(vin=STS3215_VOLTS, validation_mass=(1.168,)),
        ):
            found, seconds, cpu = timed(servo, model, logs, settings)
            what = "kp 16" if settings.validation_kp else "mass 1.168 kg"
            print(
                f"{model}, {what} held out: {split_line(found)}, {seconds:.1f} s wall, "
                f"{cpu:.1f} s CPU; on a bound: {', '.join(found.at_bound) or 'none'}",
                flush=True,
            )


def sts3215(name: str) -> Servo:
    """The 12 V servo as the logs call it; its speed limit is a parameter of the fit."""
    known = find_servo("sts3215")
    return dataclasses.replace(known, name=name, error_gain=0.164890901, vin=STS3215_VOLTS)


def with_benches(logs: Sequence[ServoLog], configs: Path) -> list[ServoLog]:
    """The logs with the inertia and the gravity torque of their rig, found by mass and length."""
    rigs = []
    for path in sorted(configs.glob("*.yaml")):
        rigs.append(yaml.safe_load(path.read_text(encoding="utf-8"))["sysid"])
    out = []
    for log in logs:
        distance = [
            abs(rig["mass"] - log.mass) + 10.0 * abs(rig["length"] - log.length) for rig in rigs
        ]
        rig = rigs[int(np.argmin(distance))]
        if min(distance) > 0.01:
            raise ValueError(f"{log.name}: no rig of {log.mass} kg at {log.length} m in {configs}")
        load = {name: float(rig[name]) for name in ("total_inertia", "total_g_bias")}
        out.append(dataclasses.replace(log, header={**log.header, **load}))
    return out


def processed(raw: Path) -> list[ServoLog]:
    """The logs of a folder, resampled as ``trueup actuator process`` does."""
    with tempfile.TemporaryDirectory() as folder:
        process(raw, folder, 0.005, skip_bad=True)
        return read_logs(folder, uniform=True)


def one_worker_beside_two(data: Path, seeds: Sequence[int]) -> None:
    """M6 of the XL330 from all logs, with one worker and with two."""
    logs = processed(data / "xl330_bench")
    settings = FitSettings(vin=XL330_VOLTS)
    for seed in seeds:
        settings = dataclasses.replace(settings, seed=seed)
        one, two = (timed("xl330", "m6", logs, settings, workers=count) for count in (1, 2))
        same = bool(np.array_equal(one[0].solution.x, two[0].solution.x))
        print(
            f"m6 seed {seed}: one worker {one[1]:.1f} s wall, two {two[1]:.1f} s, "
            f"{one[1] / two[1]:.2f} times as fast; same result: {same}",
            flush=True,
        )


def timed(
    servo: str | Servo,
    model: str,
    logs: Sequence[ServoLog],
    settings: FitSettings,
    workers: int | None = None,
) -> tuple[ServoFit, float, float]:
    """A fit, its wall time and its CPU time [s]."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = fit(servo, model, logs, settings=settings, workers=workers)
    return found, time.perf_counter() - wall, time.process_time() - cpu


def split_line(found: ServoFit) -> str:
    """Training and held-out error, beside a servo that stays where it began."""
    assert found.held_out is not None
    return (
        f"training {milli(found.training.mae)}, held out {milli(found.held_out.mae)} "
        f"(at rest {milli(found.held_out.at_rest)})"
    )


def milli(value: float) -> str:
    """A value in thousandths."""
    return f"{1e3 * value:.2f} mrad"


if __name__ == "__main__":
    main()
