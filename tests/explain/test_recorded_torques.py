"""Causes that recorded torques show without a simulation, and what they exclude."""

from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml

from trueup import sysid
from trueup.explain import explain
from trueup.explain.attribution import attribute
from trueup.explain.log import explained_log, prepare_log
from trueup.explain.recorded_torques import log_of_torques

STEP, COUNT = 0.004, 1000
JOINT = 'armature="{armature}" damping="{damping}" frictionloss="{loss}"'
ARM = """<mujoco><option timestep="0.004" integrator="implicitfast"/><worldbody>
<body name="upper"><joint name="shoulder" axis="0 1 0" {joint}/>
<inertial pos="0 0 -.15" mass="1.2" diaginertia=".01 .01 .002"/>
<body name="lower" pos="0 0 -.3"><joint name="elbow" axis="0 1 0" {joint}/>
<inertial pos="0 0 -.13" mass="{mass}" diaginertia=".006 .006 .001"/></body></body></worldbody>
<actuator>{actuators}</actuator>
<sensor><jointpos name="q0" joint="shoulder"/><jointpos name="q1" joint="elbow"/>{torques}</sensor>
</mujoco>"""
SENSORS = "".join(
    f'<jointactuatorfrc name="f{k}" joint="{j}"/>' for k, j in enumerate(("shoulder", "elbow"))
)
SERVOS = "".join(
    f'<position name="m{k}" joint="{j}" kp="40" kv="1"/>'
    for k, j in enumerate(("shoulder", "elbow"))
)
MOTORS = SERVOS.replace("position", "motor").replace(' kp="40" kv="1"', "")
TRUE = {"armature": 0.03, "damping": 0.2, "loss": 0.1, "mass": 0.8}


def model_of(actuators: str, torques: bool, **values: float) -> str:
    own = {**TRUE, **values}
    return ARM.format(
        joint=JOINT.format(**own),
        mass=own["mass"],
        actuators=actuators,
        torques=SENSORS if torques else "",
    )


def write(
    folder: Path,
    true: str,
    modelled: str,
    late: int = 0,
    limit: float = np.inf,
    torques: bool = True,
) -> Path:
    """Model, log and experiment of an arm; the commands of motors are torques."""
    model = mujoco.MjModel.from_xml_string(true)
    motors = not model.actuator_biasprm.any()
    if np.isfinite(limit):
        model.actuator_forcelimited[:] = 1
        model.actuator_forcerange[:] = [-limit, limit]
    rng = np.random.default_rng(3)
    now = STEP * np.arange(COUNT)[:, None, None]
    tones, phases = rng.uniform(0.4, 2.0, (3, 2)), rng.uniform(0, 6.3, (3, 2))
    waves = (np.sin(2 * np.pi * tones * now + phases) - np.sin(phases)).mean(axis=1)
    goals = waves * np.minimum(1.0, now[:, 0] / 0.3) * ([5.0, 1.5] if motors else [0.7, 0.7])
    data, rows = mujoco.MjData(model), []
    for step, goal in enumerate(goals):
        data.ctrl[:] = goals[max(step - late, 0)]
        mujoco.mj_forward(model, data)
        rows.append([data.time, *data.qpos, *data.actuator_force, *goal])
        mujoco.mj_step(model, data)
    table = np.array(rows)
    table[:, 1:3] += 5e-4 * rng.normal(size=(COUNT, 2))
    table[:, 3:5] += 0.01 * rng.normal(size=(COUNT, 2))
    np.savetxt(folder / "log.csv", table, delimiter=",", header="t,q0,q1,f0,f1,u0,u1", comments="")
    (folder / "arm.xml").write_text(modelled)
    signals = ("q0", "q1", "f0", "f1") if torques else ("q0", "q1")
    experiment = {
        "name": "arm",
        "model": {"file": "arm.xml"},
        "recordings": [
            {
                "file": "log.csv",
                "time": "t",
                "signals": {name: name for name in signals},
                "controls": {"m0": "u0", "m1": "u1"},
            }
        ],
        "measurement": {"signals": {"q*": {"noise": 5e-4}}},
    }
    if torques:
        experiment["measurement"]["signals"]["f*"] = {"noise": 0.01}
    file = folder / "experiment.yaml"
    file.write_text(yaml.safe_dump(experiment, sort_keys=False))
    return file


def logs_of(file: Path):
    log = explained_log(prepare_log(sysid.load_experiment(file), file.parent))
    return log, log_of_torques(log)


def values_of(found, causes):
    fit = found.fit_of(causes)
    return {found.log.names[c]: fit.x[c] - found.log.offsets[c] for c in fit.columns}


def test_torques_name_several_errors_of_joints_with_their_values(tmp_path):
    wrong = {"damping": 1.0, "armature": 0.015}
    file = write(tmp_path, model_of(MOTORS, False), model_of(MOTORS, False, **wrong), torques=False)
    log, torques = logs_of(file)
    found = attribute(torques)
    assert sorted(found.chosen) == ["armature", "friction"]
    assert not any(found.together.values())
    values = values_of(found, found.chosen)
    for joint in ("shoulder", "elbow"):
        assert values[f"{joint}_damping"] == pytest.approx(0.2, abs=0.03)
        assert values[f"{joint}_armature"] == pytest.approx(0.03, abs=0.003)
    # not one simulation of the log: its problem is not evaluated
    assert found.log.training is not log.training


@pytest.mark.parametrize(
    ("planted", "cause", "unknown", "value"),
    [
        ({"late": 3}, "delay", "command_delay", 0.012),
        ({"limit": 5.0}, "limits", "m0_limit", 5.0),
    ],
)
def test_torques_of_servos_show_what_their_law_lacks(tmp_path, planted, cause, unknown, value):
    model = model_of(SERVOS, True)
    _, torques = logs_of(write(tmp_path, model, model, **planted))
    found = attribute(torques)
    assert found.chosen == [cause] and found.together == {cause: []}
    assert values_of(found, [cause])[unknown] == pytest.approx(value, rel=0.05)


def test_nothing_is_named_where_the_motion_has_no_gap(tmp_path):
    """Whatever the error of inverse dynamics itself looks like."""
    model = model_of(SERVOS, True)
    log, torques = logs_of(write(tmp_path, model, model))
    assert attribute(log, torques=torques).chosen == []


def test_predicted_torques_are_those_of_inverse_dynamics(tmp_path):
    """Tilted gravity, its compensation, and masses, against mj_inverse of the changed model."""
    model = model_of(MOTORS, False)
    log, torques = logs_of(write(tmp_path, model, model, torques=False))
    names, x = log.names, log.start.copy()
    x[names.index("gravity_tilt_y")] = 0.3
    x[names.index("gravcomp")] = 0.4
    x[names.index("upper_mass")] = 1.5
    x[names.index("elbow_damping")] = 0.9
    ((_, predicted),) = torques.training.predictions(x[None])
    changed = mujoco.MjModel.from_xml_string(model)
    changed.opt.gravity[:] = [-9.81 * np.sin(0.3), 0.0, -9.81 * np.cos(0.3)]
    changed.body_gravcomp[1:] = 0.4
    changed.body_inertia[1] *= 1.5 / changed.body_mass[1]
    changed.body_mass[1] = 1.5
    changed.dof_damping[1] = 0.9
    changed.dof_frictionloss[:] = 0.0
    rebuilt = mujoco.MjSpec.from_string(model)
    for body in rebuilt.bodies[1:]:
        body.gravcomp = 0.4
    scratch = rebuilt.compile()
    for field in ("body_mass", "body_inertia", "dof_damping", "dof_frictionloss"):
        getattr(scratch, field)[:] = getattr(changed, field)
    scratch.opt.gravity[:] = changed.opt.gravity
    mujoco.mj_setConst(scratch, mujoco.MjData(scratch))
    motion = torques.training.motions[0]
    data = mujoco.MjData(scratch)
    for row in range(0, len(motion.times), 9):
        data.qpos[:], data.qvel[:], data.qacc[:] = (
            motion.qpos[row], motion.qvel[row], motion.qacc[row],
        )  # fmt: skip
        mujoco.mj_inverse(scratch, data)
        expected = data.qfrc_inverse + 0.1 * motion.direction[row]
        np.testing.assert_allclose(predicted[0, row], expected, rtol=1e-6, atol=1e-6)


def test_a_log_without_torques_has_no_problem_of_them(tmp_path):
    model = model_of(SERVOS, False)
    _, torques = logs_of(write(tmp_path, model, model, torques=False))
    assert torques is None


def test_what_torques_show_is_named_first_and_limits_they_exceed_are_not(tmp_path):
    wrong = {"damping": 1.0, "armature": 0.015}
    file = write(tmp_path, model_of(SERVOS, True), model_of(SERVOS, True, **wrong))
    log, _ = logs_of(file)
    peak = np.abs(np.genfromtxt(tmp_path / "log.csv", delimiter=",", names=True)["f0"]).max()
    assert log.training.space.lower[log.names.index("m0_limit")] > 0.9 * peak
    found = explain(
        sysid.load_experiment(file), tmp_path, output=tmp_path / "run", verbose=False,
        causes=("friction", "armature", "limits", "gains"),
    )  # fmt: skip
    assert sorted(found.causes) == ["armature", "friction"]
    assert not any(found.together.values())
    assert sorted(found.summary["torques"]["chosen"]) == ["armature", "friction"]
    assert "Recorded torques alone" in (tmp_path / "run" / "report.html").read_text()
