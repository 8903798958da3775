"""A small identification for tests: a driven pendulum with known parameters."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

MODEL = """\
<mujoco model="pendulum">
  <compiler angle="radian"/>
  <option timestep="0.005" integrator="implicitfast"/>
  <worldbody>
    <body name="rod" pos="0 0 1">
      <joint name="hinge" axis="0 1 0" armature="{armature}" damping="{damping}"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02" mass="1"/>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="hinge"/></actuator>
  <sensor>
    <jointpos name="angle" joint="hinge"/>
    <jointvel name="speed" joint="hinge"/>
  </sensor>
</mujoco>
"""
TRUE = {"armature": 0.05, "damping": 0.3}
GUESS = {"armature": 0.02, "damping": 0.1}
EXPERIMENT: dict[str, Any] = {
    "name": "pendulum",
    "model": {"file": "pendulum.xml"},
    "recordings": [
        {
            "file": "run.csv",
            "signals": {"angle": "angle", "speed": "speed"},
            "controls": {"motor": "torque"},
            "time": "t",
            "initial": "default",
        }
    ],
    "parameters": {
        "armature": {"target": "joint/hinge/armature", "bounds": [0.001, 1], "scale": "log"},
        "damping": {"target": "joint/hinge/damping", "bounds": [0, 5]},
    },
    "measurement": {"signals": {"angle": {"noise": 0.002}, "speed": {"noise": 0.02}}},
    "held_out": {"fraction": 0.25},
    "output": {"report": False},
}


@dataclass(frozen=True)
class Files:
    """A folder with an experiment."""

    folder: Path
    experiment: Path
    model: Path
    recording: Path

    @property
    def run(self) -> Path:
        return self.folder / "runs/pendulum"


def write(folder: Path, experiment: dict[str, Any] | None = None, seed: int = 0) -> Files:
    """Write model, recording and experiment file."""
    files = Files(folder, folder / "experiment.yaml", folder / "pendulum.xml", folder / "run.csv")
    files.model.write_text(MODEL.format(**GUESS))
    files.recording.write_text(recorded(seed))
    files.experiment.write_text(yaml.safe_dump(experiment or EXPERIMENT, sort_keys=False))
    return files


@lru_cache
def recorded(seed: int = 0, seconds: float = 3.0) -> str:
    """CSV of a noisy run with the true parameters: t [s], angle [rad], speed [rad/s], torque."""
    model = mujoco.MjModel.from_xml_string(MODEL.format(**TRUE))
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    lines = ["t,angle,speed,torque"]
    for step in range(round(seconds / model.opt.timestep)):
        t = step * model.opt.timestep
        data.ctrl[0] = 1.5 * np.sin(2 * np.pi * 0.7 * t) + np.sin(2 * np.pi * 1.9 * t + 1)
        mujoco.mj_forward(model, data)
        angle, speed = data.sensordata + rng.normal(size=2) * [0.002, 0.02]
        lines.append(f"{t:.6f},{angle:.7f},{speed:.7f},{data.ctrl[0]:.7f}")
        mujoco.mj_step(model, data)
    return "\n".join(lines) + "\n"


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
