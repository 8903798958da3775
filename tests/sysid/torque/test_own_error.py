"""Inverse dynamics on recordings with held torques and soft friction: values, intervals, causes."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from trueup import sysid
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import Loss
from trueup.signals import TimeSeries
from trueup.simulation import SystemTrajectory
from trueup.simulation.engine.initial_state import create_initial_state
from trueup.sysid.assess.fit_covariance import residual_covariance, with_unknown_own_errors
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.torque.bandwidth import choose_bandwidth
from trueup.sysid.torque.causes import torque_causes
from trueup.sysid.torque.followed_motion import follow
from trueup.sysid.torque.joint_motion import torque_sources
from trueup.sysid.torque.own_error import fitted
from trueup.sysid.torque.problem import TorqueProblem
from trueup.sysid.torque.setup import torque_problem, torque_setup

ARM = """<mujoco><option timestep="0.002" integrator="{integrator}"/><worldbody>
<body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0" armature="{a1}" damping="{d1}"
 frictionloss="{f1}"/><inertial pos="0 0 -.15" mass="1.2" diaginertia=".012 .012 .002"/>
<body name="lower" pos="0 0 -.3"><joint name="elbow" axis="0 1 0" armature="{a2}" damping="{d2}"
 frictionloss="{f2}"/><inertial pos="0 0 {z}" mass="{m}" diaginertia=".006 .006 .001"/>
</body></body></worldbody><actuator>{drives}</actuator></mujoco>"""
MOTORS = '<motor name="m1" joint="shoulder"/><motor name="m2" joint="elbow"/>'
TRUE = {"a1": 0.045, "d1": 0.25, "f1": 0.2, "a2": 0.02, "d2": 0.4, "f2": 0.12}
NOMINAL = {
    "a1": 0.03,
    "d1": 0.3,
    "f1": 0.15,
    "a2": 0.03,
    "d2": 0.3,
    "f2": 0.15,
    "z": -0.13,
    "m": 0.8,
}
EXPERIMENT = """
name: arm
model: {{file: arm.xml}}
recordings:
  - file: arm.csv
    signals: {{shoulder_qpos: q1, elbow_qpos: q2}}
    controls: {{m1: t1, m2: t2}}
control: {control}
parameters:
  a1: {{target: joint/shoulder/armature, bounds: [0.001, 1]}}
  d1: {{target: joint/shoulder/damping, bounds: [0, 5]}}
  f1: {{target: joint/shoulder/frictionloss, bounds: [0, 5]}}
  a2: {{target: joint/elbow/armature, bounds: [0.001, 1]}}
  d2: {{target: joint/elbow/damping, bounds: [0, 5]}}
  f2: {{target: joint/elbow/frictionloss, bounds: [0, 5]}}
held_out: {{fraction: 0.25}}
search: {{method: {method}}}
output: {{report: false}}
"""


def xml(drives: str = MOTORS, integrator: str = "implicitfast", **values: float) -> str:
    return ARM.format(drives=drives, integrator=integrator, **{**NOMINAL, **values})


def record(
    folder: Path,
    seed: int = 0,
    hold: int = 5,
    seconds: float = 12.0,
    integrator: str = "implicitfast",
    late: int = 0,
    fault=None,
    step: float = 0.002,
    is_hard: bool = False,
    **machine: float,
) -> None:
    """Write an arm, and a log of another one that follows sines with held torques."""
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(xml(integrator=integrator, **{**TRUE, **machine}))
    model.opt.timestep = step
    if is_hard:
        model.dof_solref[:] = 0.004, 1.0
        model.dof_solimp[:] = 0.99, 0.9999, 0.001, 0.5, 2.0
    data = mujoco.MjData(model)
    rates, phases = rng.uniform(1.0, 9.0, (5, 2)), rng.uniform(0, 6.28, (5, 2))

    def goal(now: float) -> np.ndarray:
        ramp = min(1.0, now / 0.8)
        return 0.4 + 0.7 * ramp**2 * np.mean(np.sin(rates * now + phases) - np.sin(phases), axis=0)

    data.qpos[:] = goal(0.0)
    rows = []
    for k in range(round(seconds / 0.002 / hold)):
        now = k * hold * 0.002
        mujoco.mj_forward(model, data)
        speed = (goal(now) - goal(now - 1e-3)) / 1e-3
        torque = 20 * (goal(now) - data.qpos) + 0.8 * (speed - data.qvel) + data.qfrc_bias
        rows.append([now, *data.qpos, *torque])
        data.ctrl[:] = torque
        mujoco.mj_step(model, data, nstep=round(hold * 0.002 / step))
    table = np.array(rows)
    table[:, 1:3] += rng.normal(scale=1e-4, size=(len(table), 2))
    table[:, 3:] += (
        rng.normal(size=(len(table), 2)) * 0.01 * np.sqrt(np.mean(table[:, 3:] ** 2, axis=0))
    )
    if late:
        table[late:, 3:] = table[:-late, 3:]
    if fault is not None:
        fault(table)
    header = "time,q1,q2,t1,t2"
    np.savetxt(folder / "arm.csv", table, delimiter=",", header=header, comments="")
    (folder / "arm.xml").write_text(xml(integrator=integrator))


def prepared_arm(folder: Path, control: str = "zoh", method: str = "inverse-dynamics"):
    return prepare(parse_experiment(EXPERIMENT.format(control=control, method=method)), folder)


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
def test_values_of_held_torques_are_those_of_the_machine(tmp_path, integrator):
    record(tmp_path, hold=5, integrator=integrator)
    prepared = prepared_arm(tmp_path)
    x, _ = fitted(prepared.problem(), prepared.problem().space.start)
    setup = prepared.torques
    recorded = replace(setup.bandwidth, held=False, rest=None)
    plain = TorqueProblem(prepared.parameters, prepared.training, recorded, setup.noise)
    before, _ = fitted(plain, plain.space.start)
    truth = np.array([TRUE[name] for name in plain.space.names])
    # a torque held for 10 ms alone moves the armatures by 20 % and more
    assert np.abs(before / truth - 1)[[0, 3]].max() > 0.1
    np.testing.assert_allclose(x, truth, rtol=0.03)
    centred = replace(setup.bandwidth, rest=None)
    plain = TorqueProblem(prepared.parameters, prepared.training, centred, setup.noise)
    before, _ = fitted(plain, plain.space.start)
    # most of it is gone with the torque centred on its sample
    assert np.abs(before / truth - 1)[[0, 3]].max() < 0.05


def test_intervals_hold_the_truth(tmp_path):
    inside = total = 0
    for seed in range(2):
        record(tmp_path, seed, hold=(1, 5)[seed], seconds=8.0)
        text = EXPERIMENT.format(control="zoh", method="inverse-dynamics")
        found = sysid.identify(
            parse_experiment(text), tmp_path, output=tmp_path / f"run{seed}", verbose=False
        )
        truth = np.array([TRUE[name] for name in found.problem.space.names])
        low, high = found.solution.intervals.T
        inside += int(((low <= truth) & (truth <= high)).sum())
        total += len(truth)
        assert found.summary["verdict"]["grade"] == "use"
    assert inside >= total - 2


@pytest.mark.parametrize(
    ("step", "integrator", "is_hard"),
    [(0.001, "Euler", True), (0.002, "RK4", True), (0.0005, "implicitfast", False)],
)
def test_a_machine_of_another_friction_and_step_has_its_own_errors(
    tmp_path, step, integrator, is_hard
):
    record(tmp_path, 1, hold=5, seconds=8.0, integrator=integrator, step=step, is_hard=is_hard)
    (tmp_path / "arm.xml").write_text(xml(integrator="Euler"))
    text = EXPERIMENT.format(control="zoh", method="inverse-dynamics")
    found = sysid.identify(parse_experiment(text), tmp_path, output=tmp_path / "run", verbose=False)
    own = found.prepared.torques.own_errors
    assert own.machine.hard == is_hard
    names = found.problem.space.names
    truth = np.array([TRUE[name] for name in names])
    rows = [names.index("a1"), names.index("a2")]
    np.testing.assert_allclose(found.solution.x[rows], truth[rows], rtol=0.01)
    low, high = found.solution.intervals.T
    assert ((low <= truth) & (truth <= high)).sum() >= len(truth) - 1


def test_intervals_contain_the_unknown_step_of_the_machine(tmp_path):
    record(tmp_path, 0, hold=5, seconds=8.0)
    prepared = prepared_arm(tmp_path)
    problem = prepared.problem()
    x, _ = fitted(problem, problem.space.start)
    own = problem.own_errors
    known = problem.with_own_errors(replace(own, slopes={}))
    solutions = []
    for each in (problem, known):
        residual, jacobian, _ = final_jacobian(each, x)
        fixed = np.zeros(len(x), bool)
        estimate = residual_covariance(
            each, residual, jacobian, fixed, "auto", 0.05, Loss(), seed=0
        )
        solutions += with_unknown_own_errors([estimate], each, x, residual, jacobian, Loss())
    more, less = (s.half_widths for s in solutions)
    assert (more >= less).all() and (more > less).any()


def test_a_simulation_and_torques_of_a_right_model_agree(tmp_path):
    record(tmp_path, hold=5, seconds=9.0)
    text = EXPERIMENT.format(control="zoh", method="least-squares") + "window: 0.5\n"
    found = sysid.identify(parse_experiment(text), tmp_path, output=tmp_path / "run", verbose=False)
    torque = found.summary["torque"]
    assert torque["sentences"] == []
    for row in torque["parameters"]:
        assert abs(row["torque"] - row["simulation"]) < 2 * row["torque_half_width"] + 0.02
    # centred torques have little noise: of 6 s the uncertainty of the estimates adds 18 %
    assert all(r["identified"] < 1.1 * r["plain_least_squares"] for r in torque["errors"])


def test_torques_sampled_from_a_continuous_torque_are_recognised(tmp_path):
    record(tmp_path, hold=1)
    rows = np.loadtxt(tmp_path / "arm.csv", delimiter=",", skiprows=1)[::5]
    np.savetxt(tmp_path / "arm.csv", rows, delimiter=",", header="time,q1,q2,t1,t2", comments="")
    prepared = prepared_arm(tmp_path, control="zoh")
    x, _ = fitted(prepared.problem(), prepared.problem().space.start)
    assert not prepared.torques.bandwidth.held
    own = prepared.torques.own_errors
    assert own is None or own.control == "linear"
    truth = [TRUE[name] for name in prepared.problem().space.names]
    np.testing.assert_allclose(x, truth, rtol=0.05)


def test_a_simulation_that_leaves_the_recording_has_no_own_error(tmp_path):
    def turned(table: np.ndarray) -> None:
        table[:, 3:] *= -1

    record(tmp_path, fault=turned)
    prepared = prepared_arm(tmp_path)
    problem = prepared.problem()
    assert torque_setup(prepared).own_errors is None
    assert np.isfinite(fitted(problem, problem.space.start)[1])


def test_own_errors_of_a_part_are_those_of_its_times(tmp_path):
    record(tmp_path)
    prepared = prepared_arm(tmp_path)
    own = prepared.problem() and prepared.torques.own_errors
    times, values = own.series["arm"]
    np.testing.assert_allclose(own.at("arm", times[10:20]), values[10:20], atol=1e-9)
    assert own.at("another", times) is None


def causes(folder: Path):
    prepared = prepared_arm(folder)
    problem = prepared.problem()
    x, _ = fitted(problem, problem.space.start)
    unseen = torque_problem(prepared, sequences=prepared.held_out)
    return torque_causes(problem, unseen, x, "held-out data")


def scaled(table: np.ndarray) -> None:
    table[:, 4] *= 0.8


def reversed_sign(table: np.ndarray) -> None:
    table[:, 4] *= -1


def exchanged(table: np.ndarray) -> None:
    table[:, 3:] = table[:, [4, 3]]


def zero(table: np.ndarray) -> None:
    table[:, 2] += 0.1


def late_elbow(table: np.ndarray) -> None:
    table[3:, 4] = table[:-3, 4]


def rippled(table: np.ndarray) -> None:
    table[:, 4] += 0.1 * np.sin(12 * table[:, 2])


def test_late_torques_are_named_with_their_delay(tmp_path):
    record(tmp_path, late=6)
    found = causes(tmp_path)
    assert found and found[0].kind == "late-torques"
    number = found[0].sentence.split("late by ")[1].split(" s")[0]
    # six samples of 10 ms: half a hold of 5 ms is not missing
    assert float(number) == pytest.approx(0.06, abs=0.004)


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"fault": late_elbow}, "late-torques", "recorded torque of elbow is late by 0.0"),
        ({"fault": rippled}, "cogging", "12 times a turn of elbow"),
        ({"fault": scaled}, "torque-scale", "torque of elbow is 1.25 times the recorded one"),
        ({"fault": reversed_sign}, "torque-sign", "torque of elbow has the opposite sign"),
        ({"fault": exchanged}, "exchanged-torques", "torques of shoulder and elbow look exchanged"),
        ({"fault": zero}, "zero", "encoder zero of elbow is off by 0.1"),
        ({"m": 1.0}, "mass", "mass of lower is 1 kg rather than 0.8 kg"),
        ({"z": -0.17}, "centre", "centre of mass of lower is at (0, 0, -0.17) m"),
    ],
)
def test_the_cause_of_an_error_is_named_first(tmp_path, arguments, kind, words):
    record(tmp_path, **arguments)
    found = causes(tmp_path)
    assert found and found[0].kind == kind
    assert words in found[0].sentence
    assert found[0].share > 0.5


def unrelated(table: np.ndarray) -> None:
    table[:, 3:] = np.random.default_rng(3).normal(size=(len(table), 2))


def nearly_constant(table: np.ndarray) -> None:
    table[:, 3:] = 0.5 + 0.02 * np.random.default_rng(4).normal(size=(len(table), 2))


@pytest.mark.parametrize("fault", [unrelated, nearly_constant])
def test_torques_that_no_cause_explains_better_than_a_constant_have_none(tmp_path, fault):
    record(tmp_path, fault=fault, m=0.3)
    # the fewer torques there are, the better they fit a factor near zero or a vertical gravity
    assert causes(tmp_path) == []


def test_a_right_model_has_no_cause(tmp_path):
    for seed, hold in enumerate((1, 5)):
        record(tmp_path, seed, hold)
        assert causes(tmp_path) == []


@pytest.mark.parametrize("seed", [1, 2])
def test_torques_that_are_mostly_noise_do_not_choose_a_high_corner_by_chance(tmp_path, seed):
    def noisy(table: np.ndarray) -> None:
        noise = np.random.default_rng(seed).normal(size=(len(table), 2))
        table[:, 3:] += 4.0 * noise * table[:, 3:].std(axis=0)

    record(tmp_path, hold=1, seconds=6.0, fault=noisy)
    prepared = prepared_arm(tmp_path)
    found = choose_bandwidth(prepared.training, prepared.held_out)
    errors = dict(found.tried)
    assert min(errors, key=lambda corner: errors[corner]) > found.corner == 5.0


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
def test_the_torque_of_a_follower_accelerates_its_joint(integrator):
    spec = mujoco.MjSpec.from_string(
        f"""<mujoco><option timestep=".002" integrator="{integrator}" gravity="0 0 0"/><worldbody>
        <body><joint name="slide" type="slide" axis="1 0 0"/><geom size=".1" mass="2"/></body>
        </worldbody><actuator><motor name="motor" joint="slide"/></actuator></mujoco>"""
    )
    model = spec.compile()
    times = 0.002 * np.arange(1000)
    moved = np.sin(3 * times)[:, None]
    trajectory = SystemTrajectory(
        model,
        TimeSeries.from_control_names(times, np.zeros_like(moved), model),
        TimeSeries.from_names(times, moved, model, ["slide_qpos"]),
        create_initial_state(model, [0.0]),
        name="run",
    )
    sources = torque_sources(model, trajectory.sensordata, {0})
    found = follow(spec, trajectory, sources, 10.0, "zoh")
    assert found is not None
    # semi-implicit steps: the second difference of positions is the acceleration of a step
    q = found.trajectory.sensordata.data[:, 0]
    acceleration = (q[2:] - 2 * q[1:-1] + q[:-2]) / 0.002**2
    force = found.trajectory.control.data[1:-1, found.followers[0]]
    np.testing.assert_allclose(force[5:-5], 2.0 * acceleration[5:-5], atol=1e-3)
