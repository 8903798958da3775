"""Windows and later parts begin where the robot was, not where its late or scaled sensor shows."""

import mujoco
import numpy as np
import pytest
from recorded_models import PENDULUM, simulate, wobble

from trueup import sysid
from trueup.parameters import Parameter, ParameterDict
from trueup.signals import TimeSeries
from trueup.simulation.measured.measurement import DelayRule, MeasurementRules, ScaleRule
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.fit.observation_settings import ObservationSettings
from trueup.sysid.fit.problem import GrayBoxProblem

LATE, GAIN, BIAS = 0.0137, 1.3, -0.2


def problem_of(delay: float, gain: float, bias: float, side: str, window: float, velocity: bool):
    """A pendulum in motion, whose recorded angle is late, scaled and shifted."""
    spec, model, start, state, _ = simulate(PENDULUM, wobble(1500), [0.4])
    times = 0.002 * np.arange(1500)
    when = times[200:-40]
    angle = np.interp(when - delay, times[1:], state[:, 1])
    names, columns = ["pivot_qpos"], [gain * angle + bias]
    if side == "measured":
        columns = [(angle - bias) / gain]
    if velocity:
        names.append("pivot_qvel")
        columns.append(np.interp(when, times[1:], state[:, 2]))
    measured = TimeSeries.from_names(when, np.stack(columns, axis=1), model, names)
    parameters = ParameterDict(
        {
            "late": Parameter("late", 0.0, 0.0, 0.04),
            "gain": Parameter("gain", 1.0, 0.5, 2.0),
            "bias": Parameter("bias", 0.0, -1.0, 1.0),
        }
    )
    rules = MeasurementRules(
        dict.fromkeys(parameters, 1),
        (DelayRule("*qpos", "late"),),
        (ScaleRule("*qpos", "gain", True, side), ScaleRule("*qpos", "bias", False, side)),
    )
    control = TimeSeries(times[200:], wobble(1500)[200:])
    models = ModelSequences(
        "m", spec, "run", start, control, measured, allow_missing_sensors=True
    )  # fmt: skip
    settings = ObservationSettings(
        window=window, control="zoh", exact_sensor_times=True, normalise="none"
    )
    return GrayBoxProblem(parameters, [models], settings, rules)


@pytest.mark.parametrize("side", ["predicted", "measured"])
@pytest.mark.parametrize("velocity", [True, False])
def test_windows_begin_at_the_true_state(side, velocity):
    problem = problem_of(LATE, GAIN, BIAS, side, 0.2, velocity)
    X = np.array([[LATE, GAIN, BIAS], [0.0, 1.0, 0.0], [LATE, 1.0, 0.0]])
    right, plain, late = (np.abs(r) for r in problem.residuals(X, {}))
    later = slice(problem._first_rows[1], problem.data_rows)  # the first start is given
    assert right[later].max() < (1e-3 if velocity else 0.04) * plain[later].max()
    # the slope of an angle is smoothed
    assert right[later].max() < (2e-4 if velocity else 1e-2)
    assert late[later].max() > 20 * right[later].max()


def test_a_candidate_does_not_depend_on_those_beside_it():
    problem = problem_of(LATE, GAIN, BIAS, "predicted", 0.2, False)
    X = np.array([[0.01, 1.1, 0.05], [0.02, 0.9, -0.3], [0.04, 1.0, 0.0]])
    together = problem.residuals(X, {})
    for row, alone in zip(X, together, strict=True):
        np.testing.assert_array_equal(problem.residuals(row[None], {})[0], alone)


ARM = """<mujoco><compiler angle="radian"/><option timestep="0.0025" integrator="implicitfast"/>
<worldbody><body><joint name="j" axis="0 1 0" armature="{a}" damping="{d}" frictionloss="{f}"/>
<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02" mass=".8"/></body></worldbody>
<actuator><position name="j" joint="j" kp="60" kv="1.5"/></actuator></mujoco>"""
TRUTH = {"a": 0.04, "d": 0.3, "f": 0.25}


def record(folder, delay):
    model = mujoco.MjModel.from_xml_string(ARM.format(**TRUTH))
    data = mujoco.MjData(model)
    t = 0.005 * np.arange(1600)
    command = 0.4 * np.sin(2 * np.pi * (0.4 + 0.25 * t) * t)
    angles = []
    for control in np.repeat(command, 2):
        angles.append(float(data.qpos[0]))
        data.ctrl[:] = control
        mujoco.mj_step(model, data)
    clock = 0.0025 * np.arange(len(angles))
    seen = np.interp(t - delay, clock, angles) + 4e-4 * np.random.default_rng(0).normal(size=1600)
    table = np.stack([t, seen, command], axis=1)[200:]  # in motion from the first sample
    np.savetxt(folder / "log.csv", table, delimiter=",", header="t,q,c", comments="")
    (folder / "arm.xml").write_text(ARM.format(a=0.03, d=0.4, f=0.4))


@pytest.mark.parametrize("window", ["window: 0.5\n", ""])
def test_a_servo_with_a_late_encoder_is_identified(window, tmp_path):
    record(tmp_path, 0.012)
    text = f"""name: arm
model: {{file: arm.xml}}
recordings:
  - {{file: log.csv, time: t, signals: {{j_qpos: q}}, controls: {{j: c}}, initial: measured}}
held_out: {{fraction: 0.25}}
{window}measurement:
  delays: {{j_qpos: late}}
  signals: {{j_qpos: {{noise: 4.0e-4}}}}
parameters:
  late: {{start: 0.0, bounds: [0, 0.04]}}
  a: {{target: joint/j/armature, start: 0.03, bounds: [0, 1]}}
  d: {{target: joint/j/damping, start: 0.4, bounds: [0, 5]}}
  f: {{target: joint/j/frictionloss, start: 0.4, bounds: [0, 5]}}
"""
    found = sysid.identify(parse_experiment(text), tmp_path, output=tmp_path / "r", verbose=False)
    summary = found.summary
    assert summary["verdict"]["grade"] == "use", summary["verdict"]["reasons"]
    rows = {row["name"]: row for row in summary["parameters"]}
    for name, truth in {**TRUTH, "late": 0.012}.items():
        assert rows[name]["low"] <= truth <= rows[name]["high"], rows[name]
        assert rows[name]["value"] == pytest.approx(truth, rel=0.03)
    scores = {(s["part"], s["predictor"]): s["rmse"] for s in summary["scores"]}
    assert scores["held-out", "identified"] < 1.5e-3  # 3e-2 from the state as recorded
    # no torque belongs to the instants of a late angle
    assert summary["torque"] is None
