"""Files of a designed recording: its motion, and the experiment of its identification."""

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from trueup.design.motion.files import (
    CSV,
    LEROBOT,
    MOTION,
    ROS2,
    write_csv,
    write_lerobot,
    write_ros2,
)
from trueup.design.prepared import PreparedDesign
from trueup.design.robot.designed_robot import DesignedRobot
from trueup.design.robot.start_states import is_start, start_of
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory

NEXT = "next_experiment.yaml"


def write_motion(prepared: PreparedDesign, commands: np.ndarray, directory: RunDirectory) -> None:
    """Write motion and experiment of the recording of commands ``(T, n)`` [rad, m]."""
    robot, inside = prepared.robot, directory.inside
    rate = prepared.spec.experiment.design.rate
    write_csv(inside(CSV), rate, actuator_names(robot), commands * robot.gears)
    write_ros2(inside(ROS2), rate, robot.joints, commands)
    write_lerobot(inside(LEROBOT), rate, robot.joints, commands, prepared.spec.name)
    text = yaml.safe_dump(next_experiment(prepared, directory.path), sort_keys=False)
    atomic.write_text(inside(NEXT), text)
    buffer = io.BytesIO()
    times = np.arange(len(commands)) / rate
    np.savez_compressed(buffer, times=times, commands=commands, strip=_strip(robot, commands))
    atomic.write_bytes(inside(MOTION), buffer.getvalue())


def next_experiment(prepared: PreparedDesign, directory: Path) -> dict[str, Any]:
    """Experiment of the designed recording, with paths relative to ``directory``."""
    experiment, folder = prepared.spec.experiment, prepared.spec.folder
    robot = prepared.robot
    content = experiment.model_dump(mode="json", exclude_defaults=True)
    content["model"]["file"] = os.path.relpath(folder / experiment.model.file, directory)
    fresh = {
        **content["recordings"][0],
        "file": "recording.csv",
        "name": "designed",
    }
    fresh.setdefault("signals", {s: s for s in robot.signals})
    fresh["controls"] = fresh.get("controls") or {a: a for a in actuator_names(robot)}
    former = []
    if prepared.last_run is not None:
        for entry in content["recordings"]:
            place = os.path.relpath(folder / entry["file"], directory)
            former.append({**entry, "file": place})
        names = {entry.get("name", Path(entry["file"]).stem) for entry in former}
        while fresh["name"] in names:
            fresh["name"] += "_next"
    initial, unknown = start_of(robot, fresh["name"])
    fresh["initial"] = initial.model_dump(mode="json", exclude_defaults=True)
    kept = {
        name: part
        for name, part in content["parameters"].items()
        if former or not is_start(experiment.parameters[name])
    }
    parts = {n: p.model_dump(mode="json", exclude_defaults=True) for n, p in unknown.items()}
    content["parameters"] = {**kept, **parts}
    content["recordings"] = [*former, fresh]
    content.pop("output", None)
    return content


def actuator_names(robot: DesignedRobot) -> list[str]:
    """Names of the position servos that move the joints."""
    return [robot.model.actuator(i).name for i in robot.actuators]


def _strip(robot: DesignedRobot, commands: np.ndarray) -> np.ndarray:
    """Positions of all bodies over the motion ``(poses, bodies, 3)``, and of their parents."""
    from trueup.design.stick_figures import body_places

    model = robot.model
    qpos = np.tile(robot.state[1 : 1 + model.nq], (len(commands), 1))
    qpos[:, [int(model.joint(j).qposadr[0]) for j in robot.joints]] = commands
    return body_places(model, qpos)
