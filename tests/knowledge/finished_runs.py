"""A fitted servo, and a pendulum without gravity, whose armature and mass only act together."""

import mujoco
import numpy as np
import pytest
import servo_model_logs as made
import yaml
from fitted_servo import TRUTH as SERVO
from pendulum import BIAS, MODEL, TRUE

from trueup import actuators, sysid


@pytest.fixture(scope="session")
def pendulum_run(tmp_path_factory):
    """Run directory of its identification; two recordings, one held out."""
    folder = tmp_path_factory.mktemp("pendulum")
    model = mujoco.MjModel.from_xml_string(MODEL.format(**TRUE))
    (folder / "arm.xml").write_text(MODEL.format(armature=0.1, damping=0.2, mass=0.5))
    for index in range(2):
        rng = np.random.default_rng(index)
        data = mujoco.MjData(model)
        rows = []
        for k in range(600):
            torque = 0.6 * np.sin(0.005 * k * (5 + 2 * index)) + 0.3 * np.sin(0.005 * k * 13)
            position, speed = float(data.qpos[0]), float(data.qvel[0])
            rows.append((data.time, position + BIAS, speed, torque))
            data.ctrl[0] = torque
            mujoco.mj_step(model, data)
        table = np.array(rows)
        table[:, 1] += rng.normal(0, 0.002, len(table))
        table[:, 2] += rng.normal(0, 0.02, len(table))
        header = "t,q,dq,tau"
        np.savetxt(folder / f"log{index}.csv", table, delimiter=",", header=header, comments="")
    signals = {"angle": "q", "speed": "dq"}
    recording = {"signals": signals, "controls": {"motor": "tau"}, "time": "t"}
    experiment = {
        "name": "pendulum",
        "model": {"file": "arm.xml"},
        "recordings": [
            {"file": f"log{i}.csv", "initial": "default", **recording} for i in range(2)
        ],
        "parameters": {
            "armature": {"target": "joint/hinge/armature", "bounds": [0.01, 0.15]},
            "damping": {"target": "joint/hinge/damping", "bounds": [0.0, 2.0]},
            "mass": {"target": "body/arm/mass", "bounds": [0.2, 1.5]},
            "bias": {"start": 0.0, "bounds": [-0.1, 0.1]},
        },
        "measurement": {
            "signals": {"angle": {"noise": 0.002}, "speed": {"noise": 0.02}},
            "biases": {"angle": {"parameter": "bias", "target": "predicted"}},
        },
        "held_out": {"recordings": ["log1"]},
    }
    (folder / "experiment.yaml").write_text(yaml.safe_dump(experiment, sort_keys=False))
    loaded = sysid.load_experiment(folder / "experiment.yaml")
    return sysid.identify(loaded, folder, output=folder / "run", verbose=False).directory


@pytest.fixture(scope="session")
def servo_fit_run(tmp_path_factory):
    """Run directory of a fit of M1 to simulated logs; those of one gain are held out."""
    folder = tmp_path_factory.mktemp("servo")
    cases = [(100.0, 0.4, 0.9), (200.0, 0.4, np.inf), (100.0, 0.2, 0.8), (400.0, 0.2, np.inf)]
    paths = []
    for number, (kp, mass, off) in enumerate(cases):
        template = made.template_log(
            f"run{number}", seconds=1.2, kp=kp, mass=mass, torque_off_after=off
        )
        log = made.recorded(SERVO, template, 2e-3, number)
        paths.append(folder / f"run{number}.json")
        actuators.write_log(log, paths[-1])
    found = actuators.fit(
        "xl330", "m1", paths, settings=actuators.FitSettings(validation_kp=(400.0,), trials=2500),
        output=folder / "m1.json",
    )  # fmt: skip
    return found.directory
