"""Arms that follow motors or position servos, recorded from MuJoCo with known truth."""

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

NAMES = ("shoulder", "elbow")
ARMATURE, DAMPING, FRICTION = (0.05, 0.03), (0.6, 0.4), (0.8, 0.5)
LENGTHS, MASSES = (0.4, 0.3), (2.0, 1.0)
KP, KV = (120.0, 80.0), (4.0, 2.5)
STEP, RATE = 0.0025, 100.0


@dataclass(frozen=True)
class Plant:
    """What the real arm has that its model may lack."""

    joints: int = 1
    servo: bool = True
    friction: float = 1.0
    """Factor on the Coulomb friction."""
    payload: float = 0.0
    """Mass at the tip [kg]."""
    spring: float = 0.0
    """Stiffness of a spring of each joint [N m/rad]."""
    offset: float = 0.0
    """Constant torque on each joint [N m]."""
    delay: float = 0.0
    """Delay of the commands [s]."""
    stribeck: float = 0.0
    """Friction at rest above that at speed, gone above 0.35 rad/s [N m]."""
    drag: float = 0.0
    """Friction of the square of speed [N m s^2/rad^2]."""
    lean: float = 0.0
    """Friction in one direction above that in the other [N m]."""
    motion: float = 1.0
    """Factor on the commanded motion; a slow joint rests at its turning points."""

    def other_friction(self, speed: np.ndarray) -> np.ndarray:
        """Friction of each joint that no model of MuJoCo has [N m]."""
        direction = np.tanh(speed / 0.01)
        falling = self.stribeck * direction * np.exp(-np.square(speed / 0.2))
        return falling + self.drag * speed * np.abs(speed) + self.lean * np.maximum(direction, 0.0)


def model_of(plant: Plant, **values: tuple[float, ...]) -> str:
    """MJCF of an arm without what is unknown, or with values of ``armature`` and the like."""
    n = plant.joints
    bodies = ""
    for i in range(n):
        at = f' pos="0 0 -{LENGTHS[i - 1]}"' if i else ""
        own = "".join(f' {key}="{value[i]}"' for key, value in values.items())
        bodies += (
            f'<body name="link{i + 1}"{at}><joint name="{NAMES[i]}" axis="0 1 0"{own}/>'
            f'<geom type="capsule" contype="0" size=".03" mass="{MASSES[i]}" '
            f'fromto="0 0 0 0 0 -{LENGTHS[i]}"/>'
        )
    if plant.payload:
        bodies += (
            f'<geom size=".02" contype="0" pos="0 0 -{LENGTHS[n - 1]}" mass="{plant.payload}"/>'
        )
    drives = "".join(
        f'<position name="{NAMES[i]}" joint="{NAMES[i]}" kp="{KP[i]}" kv="{KV[i]}"/>'
        if plant.servo
        else f'<motor name="{NAMES[i]}" joint="{NAMES[i]}"/>'
        for i in range(n)
    )
    return (
        f'<mujoco><option timestep="{STEP}" integrator="implicitfast"/><worldbody>{bodies}'
        f"{'</body>' * n}</worldbody><actuator>{drives}</actuator></mujoco>"
    )


def record(folder: Path, plant: Plant, seconds: float = 8.0, seed: int = 0) -> None:
    """Write ``arm.csv``: times, positions q, velocities v and commands u of each joint."""
    n = plant.joints
    friction = tuple(plant.friction * f for f in FRICTION)
    truth = model_of(plant, armature=ARMATURE, damping=DAMPING, frictionloss=friction)
    model = mujoco.MjModel.from_xml_string(truth)
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    every, late = round(1 / RATE / STEP), round(plant.delay / STEP)
    phase, size = rng.uniform(0, 6, (n, 4)), plant.motion * rng.uniform(0.1, 0.4, (n, 4))
    queue, rows, bias = [], [], np.zeros(n)
    for k in range(int(seconds * RATE)):
        angle = 2 * np.pi * np.array([0.23, 0.41, 0.67, 1.1]) * k / RATE
        command = min(k / RATE, 1.0) * (size * np.sin(angle + phase)).sum(axis=1)
        if not plant.servo:
            mujoco.mj_rne(model, data, 0, bias)
            command = bias + np.array(KP[:n]) * (command - data.qpos) - KV[:n] * data.qvel
        noise = rng.normal(size=(2, n)) * [[2e-4], [5e-3]]
        rows.append([k / RATE, *(data.qpos + noise[0]), *(data.qvel + noise[1]), *command])
        for _ in range(every):
            queue.append(command)
            data.ctrl[:] = queue[max(len(queue) - 1 - late, 0)]
            data.qfrc_applied[:] = plant.offset - plant.spring * data.qpos
            data.qfrc_applied[:] -= plant.other_friction(data.qvel)
            mujoco.mj_step(model, data)
    names = [f"{what}{i + 1}" for what in "qvu" for i in range(n)]
    header = ",".join(["t", *names])
    np.savetxt(folder / "arm.csv", rows, delimiter=",", header=header, comments="", fmt="%.9g")


BOUNDS = {
    "armature": "start: 0.02, bounds: [0, 1]",
    "damping": "start: 0.2, bounds: [0, 5]",
    "frictionloss": "start: 0.1, bounds: [0, 5]",
}


def experiment(plant: Plant, unknown: tuple[str, ...] = tuple(BOUNDS), more: str = "") -> str:
    """Experiment file for ``arm.xml`` and ``arm.csv``."""
    joints = NAMES[: plant.joints]
    signals = [
        f"{joint}_{what}: {column}{i + 1}"
        for what, column in (("qpos", "q"), ("qvel", "v"))
        for i, joint in enumerate(joints)
    ]
    controls = [f"{joint}: u{i + 1}" for i, joint in enumerate(joints)]
    parameters = [
        f"  {name}: {{target: joint/*/{name}, each: true, {BOUNDS[name]}}}" for name in unknown
    ]
    return "\n".join(
        [
            "name: arm",
            "model: {file: arm.xml}",
            "recordings:",
            f"  - {{file: arm.csv, signals: {{{', '.join(signals)}}}, "
            f"controls: {{{', '.join(controls)}}}}}",
            "parameters:",
            *parameters,
            "output: {report: false}",
            more,
        ]
    )
