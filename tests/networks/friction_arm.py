"""A two-joint arm with position servos, recorded with friction that its model does not have."""

import mujoco
import numpy as np
import yaml

ARM = """<mujoco><option timestep="0.0025" integrator="implicitfast"/><worldbody>
<body><joint name="shoulder" axis="0 1 0" damping="0.05" armature="0.02"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5"/>
<body pos="0 0 -0.3"><joint name="elbow" axis="0 1 0" damping="0.03" armature="0.01"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.02" mass="0.3"/></body></body></worldbody>
</mujoco>"""
GAINS = {"kp": {"shoulder": 12.0, "elbow": 6.0}, "kd": {"shoulder": 0.4, "elbow": 0.2}}
FRICTION = np.array([0.5, 0.25])
"""Coulomb friction that the model lacks [N m]."""


def swing(number, times):
    """Commands of a recording, (samples, 2) [rad]."""
    turn = 2 * np.pi * times
    return np.stack(
        [
            0.7 * np.sin((0.5 + 0.15 * number) * turn),
            0.6 * np.sin((0.9 - 0.1 * number) * turn + 1.0),
        ],
        axis=1,
    )


def recorded(number, seconds):
    """Times, commands and angles of a recording of the machine."""
    spec = mujoco.MjSpec.from_string(ARM)
    for joint, kp in GAINS["kp"].items():
        servo = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(kp=kp, kv=GAINS["kd"][joint])
    model = spec.compile()
    data, step = mujoco.MjData(model), model.opt.timestep
    times = np.arange(round(seconds / step)) * step
    # the controller sends a command every other step, which is recorded
    goals, angles = np.repeat(swing(number, times[::2]), 2, axis=0), []
    for goal in goals:
        angles.append(data.qpos.copy())
        data.ctrl[:] = goal
        data.qfrc_applied[:] = -FRICTION * np.tanh(data.qvel / 0.05)
        mujoco.mj_step(model, data)
    return times, goals, np.array(angles)


def write(folder, count=4, seconds=1.6, **changes):
    """Model, recordings and experiment file in a folder; the path of the file."""
    (folder / "arm.xml").write_text(ARM)
    parts = []
    for number in range(count):
        times, goals, angles = (values[::2] for values in recorded(number, seconds))
        rows = np.column_stack([times, angles, goals])
        name = f"swing{number}.csv"
        head = "time,shoulder,elbow,shoulder_command,elbow_command"
        np.savetxt(folder / name, rows, delimiter=",", header=head, comments="", fmt="%.9g")
        signals = {"shoulder_qpos": "shoulder", "elbow_qpos": "elbow"}
        controls = {joint: f"{joint}_command" for joint in ("shoulder", "elbow")}
        parts.append({"file": name, "time": "time", "signals": signals, "controls": controls})
    content = {
        "name": "arm",
        "model": {"file": "arm.xml", "actuators": "position", **GAINS},
        "recordings": parts,
        "control": "zoh",
        "held_out": {"recordings": [f"swing{count - 1}"]},
        **changes,
    }
    file = folder / "arm.yaml"
    file.write_text(yaml.safe_dump(content))
    return file
