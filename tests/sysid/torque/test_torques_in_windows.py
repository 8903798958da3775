"""Torques in the objective of a fit in windows of a torque-driven arm."""

import mujoco
import numpy as np
import pytest
import yaml

from trueup.fitting import minimise
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.fit.identification_search import PLATEAU
from trueup.sysid.torque.in_windows import fit_with_torques
from trueup.sysid.torque.report import torque_fit

ARM = """<mujoco><compiler angle="radian"/><option timestep="0.002" integrator="implicitfast"/>
<worldbody><body name="upper">
 <joint name="shoulder" axis="0 1 0" armature="{0}" damping="{1}" frictionloss="{2}"/>
 <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".04" mass="2" contype="0" conaffinity="0"/>
 <body name="fore" pos="0 0 -.4">
  <joint name="elbow" axis="0 1 0" armature="{3}" damping="{4}" frictionloss="{5}"/>
  <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03" mass="1" contype="0" conaffinity="0"/>
 </body></body></worldbody>
<actuator><motor name="shoulder" joint="shoulder"/><motor name="elbow" joint="elbow"/></actuator>
</mujoco>"""
TRUTH = (0.1, 0.8, 0.6, 0.06, 0.5, 0.4)
START = (0.03, 0.3, 0.2, 0.03, 0.3, 0.2)
NAMES = ("shoulder", "elbow")
RATE, HOLD = 250, 2  # [Hz], simulation steps of a sample


def prepared(folder, load=0.0, fore=1.0):
    """An arm with friction in proportion to its load, and another mass of the forearm."""
    machine = ARM.format(*TRUTH).replace('mass="1"', f'mass="{fore}"')
    model = mujoco.MjModel.from_xml_string(machine)
    data, mass, rows = mujoco.MjData(model), np.zeros((2, 2)), []
    for k in range(6 * RATE):
        angle = 2 * np.pi * np.array([0.5, 0.7]) * k / RATE
        mujoco.mj_fullM(model, data, mass)
        wanted = 0.9 * np.sin(angle) + 0.4 * np.sin(2.3 * angle)
        torque = mass @ (400 * (wanted - data.qpos) - 28 * data.qvel) + data.qfrc_bias
        rows.append((data.time, *data.qpos, *data.qvel, *torque))
        data.ctrl[:] = torque
        for _ in range(HOLD):
            direction = np.tanh(data.qvel / 0.02)
            data.qfrc_applied[:] = -load * direction * np.abs(data.qfrc_bias)
            mujoco.mj_step(model, data)
    table = np.array(rows)
    size = np.array([0, 2e-4, 2e-4, 4e-3, 4e-3, *(0.01 * np.abs(table[:, 5:]).max(axis=0))])
    table += size * np.random.default_rng(0).normal(size=table.shape)
    header = ",".join(["t", *(f"{n}_{what}" for what in ("q", "v", "u") for n in NAMES)])
    np.savetxt(folder / "log.csv", table, delimiter=",", header=header, comments="", fmt="%.9g")
    (folder / "model.xml").write_text(ARM.format(*START))
    content = {
        "model": {"file": "model.xml", "actuators": "torque"},
        "recordings": [
            {
                "file": "log.csv",
                "time": "t",
                "signals": {f"{n}_qpos": f"{n}_q" for n in NAMES}
                | {f"{n}_qvel": f"{n}_v" for n in NAMES},
                "controls": {n: f"{n}_u" for n in NAMES},
            }
        ],
        "parameters": {
            f"{n}_{what}": {"target": f"joint/{n}/{what}", "bounds": [0, 5]}
            for n in NAMES
            for what in ("armature", "damping", "frictionloss")
        },
        "window": 0.1,
        "held_out": {"fraction": 0},
    }
    return prepare(parse_experiment(yaml.safe_dump(content)), folder)


def by_windows(ready):
    """A fit to the motion in windows."""
    problem = ready.problem()
    settings = LeastSquaresSettings(**PLATEAU)
    return problem, minimise(problem, LeastSquares(problem.space, settings)), settings


def torque_errors(problem, X):
    """Root mean square errors of recorded torques ``(n,)`` [N m]."""
    return np.sqrt(np.mean(np.concatenate(problem.raw_residuals(X), axis=1) ** 2, axis=(1, 2)))


def test_a_wrong_model_stays_near_its_torques(tmp_path):
    ready = prepared(tmp_path, load=0.15, fore=1.2)
    problem, solution, settings = by_windows(ready)
    found, fit, (note,) = fit_with_torques(ready, problem, solution, settings, np.inf)
    of_torques = torque_fit(ready, solution.x)
    assert of_torques is not None
    torques, values, _ = of_torques
    alone, joined, least = torque_errors(torques, np.stack([solution.x, fit.x, values]))
    assert alone > 1.06 * least
    assert joined <= 1.05 * least
    # better in motion than what torques alone say
    motion, without = problem.costs(np.stack([fit.x, values]))[:, 0]
    assert motion < without
    assert found.residual_size > problem.residual_size
    assert "torques joined the objective" in note


def test_a_right_model_is_fitted_to_motion_alone(tmp_path):
    ready = prepared(tmp_path)
    problem, solution, settings = by_windows(ready)
    found, fit, notes = fit_with_torques(ready, problem, solution, settings, np.inf)
    assert found is problem and fit is solution and not notes
    names = [f"{n}_{what}" for n in NAMES for what in ("armature", "damping", "frictionloss")]
    truth = dict(zip(names, TRUTH, strict=True))
    at_truth = [truth[name] for name in problem.space.names]
    assert fit.x == pytest.approx(at_truth, rel=0.2)
