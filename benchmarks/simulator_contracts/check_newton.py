"""Exported networks in Newton's neural drives, compared with the numpy runtime.

The stand-in of the tests runs the same motion and must give the same torques, and refuse the files
that Newton refuses. Run in the environment that ``run.py`` makes.
"""

import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "networks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "deploy"))
import newton.actuators
import onnx
import warp
from check_networks import report
from newton_stand_in import NeuralDrive
from random_networks import random_network
from simulator_steps import expected, motion

from trueup.deploy import export_network
from trueup.networks.data.features import ANGLE, ANGLE_ERROR, SIMULATOR_FEATURE_NAMES, VELOCITY
from trueup.networks.model.network import HELD_STEPS

DT = 0.01
"""Time step of the random networks [s]."""
CASES = {
    "mlp": random_network("mlp", history=3, features=SIMULATOR_FEATURE_NAMES),
    "mlp without a skip": random_network("mlp", features=SIMULATOR_FEATURE_NAMES, skip=False),
    "linear": random_network("linear", history=4, features=SIMULATOR_FEATURE_NAMES),
    "lstm": random_network("lstm", layers=1, features=SIMULATOR_FEATURE_NAMES),
    "lstm without a skip": random_network(
        "lstm", layers=1, features=SIMULATOR_FEATURE_NAMES, skip=False
    ),
    "gru": random_network("gru"),
    "gru of three layers": random_network("gru", layers=3, features=(ANGLE, ANGLE_ERROR, VELOCITY)),
    "gru without a skip": random_network("gru", skip=False),
}


def drive_of(path: Path, usage: str) -> Any:
    """The real drive that the export's text makes."""
    names: dict[str, Any] = {}
    exec(compile(usage, "usage", "exec"), names)
    assert names["drive"].model_path == str(path)
    return names["drive"]


def real_torques(drive: Any, moved: tuple[np.ndarray, ...], dt: float) -> np.ndarray:
    """Torques of ``newton.actuators.Actuator`` with a drive, (steps, environments, joints)."""
    shape = moved[0].shape
    target, angle, velocity = (each.reshape(shape[0], -1) for each in moved)
    joints = target.shape[1]
    indices = warp.array(np.arange(joints), dtype=warp.uint32, device="cpu")
    actuator = newton.actuators.Actuator(indices, drive=drive)
    now, after = actuator.state(), actuator.state()
    torque = []
    for row in range(shape[0]):
        arrays = [warp.array(each[row], dtype=float, device="cpu") for each in (angle, velocity)]
        state = SimpleNamespace(joint_q=arrays[0], joint_qd=arrays[1])
        control = SimpleNamespace(
            joint_target_q=warp.array(target[row], dtype=float, device="cpu"),
            joint_target_qd=warp.zeros(joints, dtype=float, device="cpu"),
            joint_act=None,
            joint_f=warp.zeros(joints, dtype=float, device="cpu"),
        )
        actuator.step(state, control, now, after, dt=dt)
        torque.append(control.joint_f.numpy().copy())
        now, after = after, now
    return np.array(torque, dtype=float).reshape(shape)


def stand_in_torques(path: Path, moved: tuple[np.ndarray, ...], dt: float) -> np.ndarray:
    """The same by the stand-in of the tests."""
    shape = moved[0].shape
    rows = zip(*(each.reshape(shape[0], -1) for each in moved), strict=True)
    drive = NeuralDrive(path, int(np.prod(shape[1:])), dt)
    return np.array([drive.step(*row) for row in rows]).reshape(shape)


def check_torques(folder: Path) -> None:
    """Each family, by the real drive and by the stand-in."""
    # the first sample is held first, as the network holds it by itself
    moved = tuple(np.concatenate([each[:1]] * HELD_STEPS + [each]) for each in motion())
    for title, network in CASES.items():
        path = folder / f"{title.replace(' ', '_')}.onnx"
        usage = export_network(network, "newton", path).usage
        wanted = expected(network, *motion())
        real = real_torques(drive_of(path, usage), moved, DT)
        report(f"Newton, {title}", real[HELD_STEPS:], wanted)
        report(f"the stand-in, {title}", stand_in_torques(path, moved, DT), real)


def check_refusals(folder: Path) -> None:
    """What the stand-in refuses, Newton refuses."""
    path = folder / "gru.onnx"
    usage = export_network(CASES["gru"], "newton", path).usage
    moved = motion()
    both = (
        lambda: stand_in_torques(path, moved, 0.02),
        lambda: real_torques(drive_of(path, usage), moved, 0.02),
    )
    refused("a step of another length", both)
    model = onnx.load(str(path))
    for node in model.graph.node:
        if node.op_type == "GRU":
            node.input[5] = "hidden_in_0"
    onnx.save(model, str(path))
    both = (
        lambda: stand_in_torques(path, moved, DT),
        lambda: real_torques(drive_of(path, usage), moved, DT),
    )
    refused("layers that share a hidden state", both)
    export_network(CASES["lstm"], "onnx", path)
    described = onnx.load(str(path))
    both = (
        lambda: stand_in_torques(path, moved, DT),
        lambda: newton.actuators.DriveNeuralLSTM(model_path=str(path)),
    )
    assert any(node.op_type == "Split" for node in described.graph.node)
    refused("the LSTM's general export", both)


def refused(title: str, both: tuple[Any, Any]) -> None:
    """Stop where the stand-in or Newton takes a file."""
    for name, attempt in zip(("the stand-in", "Newton"), both, strict=True):
        try:
            attempt()
        except (ValueError, KeyError, NotImplementedError) as error:
            print(f"{name} refuses {title}: {str(error).splitlines()[0][:90]}")
        else:
            raise SystemExit(f"{name} takes {title}")


def main() -> None:
    """Run all checks."""
    warp.config.quiet = True
    with tempfile.TemporaryDirectory() as folder:
        check_torques(Path(folder))
        check_refusals(Path(folder))


if __name__ == "__main__":
    main()
