"""A log of an arm that rests away from zero, with its weight, before it moves."""

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np

MODEL = """
<mujoco model="arm">
  <compiler angle="radian"/>
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <body name="upper">
      <joint name="lift" axis="0 1 0" armature="%(armature)g" damping="%(damping)g"/>
      <geom type="capsule" fromto="0 0 0 .28 0 0" size=".02" mass=".8" contype="0"/>
      <body name="fore" pos=".28 0 0">
        <joint name="bend" axis="0 1 0" armature="0.02" damping="0.3"/>
        <geom type="capsule" fromto="0 0 0 .2 0 0" size=".02" mass=".4" contype="0"/>
      </body>
    </body>
  </worldbody>
  <actuator>%(actuators)s</actuator>
  <sensor>%(sensors)s</sensor>
</mujoco>
"""
TRUTH = {"armature": 0.03, "damping": 0.4}
START = {"armature": 0.02, "damping": 0.2}
DELAYED = (
    '<position name="ml" joint="lift" kp="60" kv="2" delay="%(delay)g" nsample="20" '
    'interp="%(interp)s"/><position name="mb" joint="bend" kp="40" kv="1" delay="%(delay)g" '
    'nsample="20" interp="%(interp)s"/>'
)
EXPERIMENT = """
name: arm
model: {file: arm.xml}
recordings:
%(recordings)s
parameters:
  armature: {target: joint/lift/armature, bounds: [0.001, 0.4], scale: log}
  damping: {target: joint/lift/damping, bounds: [0, 3]}
%(parameters)s
measurement: {signals: {"*_qpos": {noise: 0.0001}}}
output: {report: false}
%(more)s
"""


def delayed(delay: float, interp: str = "linear") -> str:
    """Position servos whose commands are late [s]."""
    return DELAYED % {"delay": delay, "interp": interp}


def model_text(values: dict[str, float], actuators: str, sensors: str = "") -> str:
    """MJCF of the arm."""
    return MODEL % {**values, "actuators": actuators, "sensors": sensors}


def sweep(pose=(0.5, -0.9), hold: float = 0.3) -> Callable[[float], np.ndarray]:
    """Commands that hold a pose, then move about it."""

    def command(t: float) -> np.ndarray:
        s = max(t - hold, 0.0)
        return np.array(pose) + np.array([0.4 * np.sin(3 * s), 0.5 * np.sin(4.1 * s)])

    return command


def write_log(
    folder: Path,
    actuators: str,
    command: Callable[[float], np.ndarray] | None = None,
    name: str = "run",
    duration: float = 2.4,
    noise: float = 1e-4,
    settle: float = 5.0,
    sensors: str = "",
    seed: int = 0,
    columns: Callable[[mujoco.MjData], list[float]] = lambda data: list(data.qpos),
) -> np.ndarray:
    """Let the true arm come to rest under its first command, and record it from there at 100 Hz.

    Returns:
      Rows of time, columns and commands.
    """
    command = command or sweep()
    model = mujoco.MjModel.from_xml_string(model_text(TRUTH, actuators, sensors))
    data = mujoco.MjData(model)
    data.qpos[:] = data.ctrl[:] = command(0.0)
    mujoco.mj_step(model, data, int(settle / 0.002))
    rows = []
    for k in range(int(duration / 0.002)):
        if k % 5 == 0:
            data.ctrl[:] = command(0.002 * k)
            mujoco.mj_forward(model, data)  # a step leaves sensors at its start
            rows.append([0.002 * k, *columns(data), *data.ctrl])
        mujoco.mj_step(model, data)
    rows = np.array(rows)
    width = rows.shape[1] - 3
    rng = np.random.default_rng(seed)
    rows[:, 1 : 1 + width] += noise * rng.normal(size=(len(rows), width))
    names = ["t", *[f"s{k}" for k in range(width)], "u0", "u1"]
    header = ",".join(names)
    np.savetxt(folder / f"{name}.csv", rows, delimiter=",", header=header, comments="", fmt="%.17g")
    return rows


def write_experiment(
    folder: Path,
    actuators: str,
    recordings: tuple[str, ...] = ("run",),
    each: str = "",
    parameters: str = "",
    more: str = "",
    sensors: str = "",
    values: dict[str, float] = START,
    signals: str = "lift_qpos: s0, bend_qpos: s1",
) -> str:
    """Write the model, with ``values`` and ``actuators``; returns the experiment."""
    (folder / "arm.xml").write_text(model_text(values, actuators, sensors))
    entries = [
        f"  - {{file: {name}.csv, signals: {{{signals}}}, controls: {{ml: u0, mb: u1}}{each}}}"
        for name in recordings
    ]
    parts = {"recordings": "\n".join(entries), "parameters": parameters, "more": more}
    return EXPERIMENT % parts
