"""Errors of exported servos on the recordings that they are fitted to, against bars.

For each identified model, the recordings of an XL330 at three gains are given to every form without
code; the table has the error of the form, of the full model and of M1 in that form, in mrad. The
errors of MJCF are those of a second simulation here: the exported text in MuJoCo, its gains set for
each log; that of Isaac Lab's BAM drive steps the stand-in of the tests. Run::

    python benchmarks/servo_export_errors.py [--models m1 m4+torque_saturation m6] [--files ...]

Recordings: the environment variable TRUEUP_DATA names the folder that has ``xl330_bench``.
"""

import argparse
import math
import os
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "deploy"))
import bam_drive_stand_in
import mujoco
import numpy as np

from trueup.actuators import (
    FitSettings,
    ServoLog,
    ServoModel,
    bench_of,
    fit,
    load_model,
    process,
    read_logs,
)
from trueup.deploy import ServoExport, export_servo, set_mjcf_gains

BARS = {
    "mjcf-parallel": 35.0,
    "mjcf-dcmotor": 48.0,
    "mjcf-position": 54.0,
    "isaac-lab": 48.5,
    "isaac-lab-bam": 27.0,
}
"""Greatest error on the recordings [mrad], whatever the model."""
AGREES = {"mjcf": 0.1, "isaac-lab-bam": 1.0}
"""Difference between the stated error and the second simulation, by form or its beginning [mrad]:
the drive's friction is a constraint of MuJoCo there."""
STEP = 0.001  # time step of MuJoCo [s]


def error_of(exported: ServoExport, logs: list[ServoLog]) -> float:
    """Mean absolute error [rad] of an exported text in MuJoCo."""
    stated = re.search(r"The load angle is ([0-9.e+-]+) rad", " ".join(exported.text.split()))
    assert stated is not None and exported.gains is not None
    offset = float(stated[1])
    return float(np.mean([_log_error(exported, log, offset) for log in logs]))


def drive_error(exported: ServoExport, logs: list[ServoLog]) -> float:
    """Mean absolute error [rad] of an exported configuration in the stand-in of the BAM drive."""
    cfg = bam_drive_stand_in.configuration(exported.text)
    stated = re.search(r"angle is ([0-9.e+-]+) rad", exported.text.replace("\n# ", " "))
    assert stated is not None
    offset = float(stated[1])
    moved = [bam_drive_stand_in.positions(cfg, log, offset, bench_of(log), STEP) for log in logs]
    return float(
        np.mean([np.abs(a - log.position).mean() for a, log in zip(moved, logs, strict=True)])
    )


def second_error(exported: ServoExport, form: str, logs: list[ServoLog]) -> float:
    """Error of a second simulation [mrad]; NaN for a form without one."""
    if form.startswith("mjcf"):
        return 1e3 * error_of(exported, logs)
    return 1e3 * drive_error(exported, logs) if form == "isaac-lab-bam" else math.nan


def _log_error(exported: ServoExport, log: ServoLog, offset: float) -> float:
    used = re.findall(r"^ {6}(<.*/>)$", exported.text.split("-->")[0], re.M)
    joint, actuators = used[0].replace("JOINT", "j"), "".join(used[1:]).replace("JOINT", "j")
    bench = bench_of(log)
    arm = bench.inertia / bench.gravity_torque * 9.80665
    body = (
        f"<body><inertial pos='0 0 {-arm}' mass='{bench.inertia / arm**2}' "
        f"diaginertia='1e-9 1e-9 1e-9'/>{joint.replace('/>', ' axis=' + repr('0 -1 0') + '/>')}"
        "</body>"
    )
    model = mujoco.MjModel.from_xml_string(
        exported.text.replace(
            "</mujoco>",
            f"<option timestep='{STEP}' integrator='implicitfast' gravity='0 0 -9.80665'/>"
            f"<worldbody>{body}</worldbody><actuator>{actuators}</actuator></mujoco>",
        )
    )
    set_mjcf_gains(model, "j", exported.gains(log.kp))
    data = mujoco.MjData(model)
    data.qpos[0], data.qvel[0] = log.position[0] + offset, log.speed[0]
    assert log.dt is not None
    found = []
    for goal, on in zip(log.goal_position, log.torque_enable, strict=True):
        found.append(data.qpos[0] - offset)
        model.opt.disableactuator = 0 if on else 2
        data.ctrl[:] = goal + offset
        mujoco.mj_step(model, data, round(log.dt / STEP))
    return float(np.abs(np.array(found) - log.position).mean())


def models(names: list[str], files: list[Path], logs: list[ServoLog]) -> dict[str, ServoModel]:
    """Models of parameter files, and others fitted now."""
    found = {str(file): load_model(file) for file in files}
    for name in names:
        friction, *terms = name.split("+")
        settings = FitSettings(terms=tuple(terms))
        found[name] = fit("xl330", friction, logs, settings=settings).model
    return found


def main() -> None:
    """Print the table; exits with 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="*", default=["m1", "m4+torque_saturation", "m6"])
    parser.add_argument("--files", nargs="*", type=Path, default=[], help="parameter files")
    arguments = parser.parse_args()
    raw = Path(os.environ.get("TRUEUP_DATA", "shared/data")) / "xl330_bench"
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        process(raw, folder)
        logs = read_logs(folder, uniform=True)
        print("mrad on 12 logs         form           bar  error  second  full   M1     CPU s")
        for title, model in models(arguments.models, arguments.files, logs).items():
            for form, bar in BARS.items():
                began = time.process_time()
                exported = export_servo(model, form, logs=logs)
                seconds = time.process_time() - began
                assert exported.errors is not None
                error, full, simple = (
                    1e3 * exported.errors[name]
                    for name in ("from_logs", "model_from_logs", "simplest_from_logs")
                )
                second = second_error(exported, form, logs)
                agrees = next((v for k, v in AGREES.items() if form.startswith(k)), math.inf)
                print(
                    f"{title[-22:]:22}  {form:13} {bar:5.1f} {error:6.2f} {second:7.2f} "
                    f"{full:6.2f} {simple:6.2f} {seconds:6.1f}",
                    flush=True,
                )
                if error > bar or error > simple + 1e-9 or abs(second - error) > agrees:
                    missed.append(f"{title} {form}")
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
