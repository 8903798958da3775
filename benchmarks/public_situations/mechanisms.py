"""Situations whose trouble is the mechanism: loops, tendons, couplings, two actuators."""

from pathlib import Path

import mujoco
import numpy as np
from arm_logs import ARM, known, named, whole
from judging import Case, Outcome, channels, intervals, loads, says, usable
from machines import NOISE, Link, Log, Machine, record, waves, write_model, write_table


def closed_loop_leg(folder: Path) -> Case:
    """A leg whose knee is driven by a crank and a rod; only hip and crank are recorded."""
    hip = Link("hip", mass=1.2, length=0.3, rest=0.2, reach=0.4, armature=0.04, damping=0.5)
    crank = Link("crank", mass=0.15, length=0.05, rest=0.0, reach=0.4, armature=0.02, damping=0.2)
    machine = Machine(((hip, crank),), kp=120, kv=4)

    def text(real: bool) -> str:
        f = 1.0 if real else 0.5
        joint = lambda n: (  # noqa: E731
            f'armature="{f * n.armature}" damping="{f * n.damping}" frictionloss="{f * n.friction}"'
        )
        passive = 'armature="0.001" damping="0.02"'
        servos = "".join(
            f'<position name="{n}_servo" joint="{n}" kp="120" kv="4"/>' for n in ("hip", "crank")
        )
        return f"""<mujoco><option timestep="0.0025" integrator="implicitfast"/>
<compiler angle="radian" autolimits="true"/><worldbody><body name="thigh" pos="0 0 1">
<joint name="hip" axis="0 1 0" {joint(hip)}/>
<inertial pos="0 0 -.15" mass="1.2" diaginertia=".01 .01 .002"/>
<body name="crank_link" pos="0 0 0"><joint name="crank" axis="0 1 0" {joint(crank)}/>
<inertial pos=".025 0 0" mass=".15" diaginertia="2e-4 2e-4 2e-4"/>
<body name="rod" pos=".05 0 0"><joint name="rod_joint" axis="0 1 0" {passive}/>
<inertial pos="0 0 -.15" mass=".1" diaginertia="8e-4 8e-4 1e-5"/>
<site name="rod_end" pos="0 0 -.3"/>
</body></body>
<body name="shank" pos="0 0 -.3"><joint name="knee" axis="0 1 0" {passive}/>
<inertial pos="0 0 -.12" mass=".5" diaginertia=".004 .004 .001"/><site name="lever" pos=".05 0 0"/>
</body></body></worldbody>
<equality><connect site1="rod_end" site2="lever" solref="0.004 1"/></equality>
<actuator>{servos}</actuator></mujoco>"""

    log = record(machine, 27, model=mujoco.MjModel.from_xml_string(text(True)))
    columns = {"time": log.time}
    columns |= {f"{n}_pos": log.q[:, k] for k, n in enumerate(log.names)}
    columns |= {f"{n}_cmd": log.u[:, k] for k, n in enumerate(log.names)}
    return Case(
        write_model(folder, text(False)),
        [write_table(folder / "leg.csv", columns)],
        whole,
        **known(log, machine),
    )


def two_actuators(folder: Path) -> Case:
    """A PD law of one position and one velocity actuator per joint."""
    links = named(ARM, "hip", "knee")
    pairs = "".join(
        f'<position name="{n.joint}_p" joint="{n.joint}" kp="80"/>'
        f'<velocity name="{n.joint}_v" joint="{n.joint}" kv="3"/>'
        for n in links
    )
    machine = Machine((links,), kp=80, kv=3, step=0.002, actuators=pairs)
    model = mujoco.MjModel.from_xml_string(machine.mjcf(real=True))
    data = mujoco.MjData(model)
    rng = np.random.default_rng(28)
    goal, rows, hold = waves(machine, rng), [], 1
    data.qpos[:] = goal(0.0)
    for _ in range(1000):
        data.ctrl[0::2] = goal(0.0)
        mujoco.mj_step(model, data)
    for step in range(4000):
        now = step * hold * 0.002
        speed = (goal(now + 1e-4) - goal(now - 1e-4)) / 2e-4
        rows.append((now, data.qpos.copy(), data.qvel.copy(), goal(now), speed))
        data.ctrl[0::2], data.ctrl[1::2] = goal(now), speed
        mujoco.mj_step(model, data)
    time, q, v, u, speed = (np.array(part) for part in zip(*rows, strict=True))
    log = Log(time, q + NOISE * rng.normal(size=q.shape), v, u, q, u, ["hip", "knee"])
    columns = {"time": time}
    parts = (("pos", log.q), ("vel", v + 0.004 * rng.normal(size=v.shape)), ("pos_cmd", u),
             ("vel_cmd", speed))  # fmt: skip
    for what, values in parts:
        columns |= {f"{n}_{what}": values[:, k] for k, n in enumerate(log.names)}

    def judge(o: Outcome) -> list[str]:
        if faults := channels(o):
            return faults
        _, (first, *_) = o.loaded
        if not np.std(first.control.data[:, 1::2], axis=0).all():
            return ["the velocity commands drive nothing"]
        return [*usable(o), *intervals(o)]

    return Case(
        write_model(folder, machine.mjcf()),
        [write_table(folder / "run.csv", columns)],
        judge,
        **known(log, machine),
    )


def hand_e_tendon(folder: Path) -> Case:
    """Two sliding fingers on one tendon, commanded from 0 to 255."""
    gain = 400.0

    def text(real: bool) -> str:
        f = 1.0 if real else 0.5
        finger = "".join(
            f'<body name="{side}" pos="0 {y} 0"><joint name="{side}_finger" type="slide" '
            f'axis="0 {sign} 0" range="0 0.025" armature="{f * 0.4}" damping="{f * 20}"/>'
            '<inertial pos="0 0 0" mass="0.05" diaginertia="1e-5 1e-5 1e-5"/></body>'
            for side, y, sign in (("left", 0.03, -1), ("right", -0.03, 1))
        )
        bias = f"0 {-gain} -10"
        return f"""<mujoco><option timestep="0.002" integrator="implicitfast"/>
<compiler autolimits="true"/><worldbody><body name="hand">{finger}</body></worldbody>
<tendon><fixed name="split"><joint joint="left_finger" coef="0.5"/>
<joint joint="right_finger" coef="0.5"/></fixed></tendon>
<equality><joint joint1="left_finger" joint2="right_finger" solref="0.005 1"/></equality>
<actuator><general name="fingers" tendon="split" ctrlrange="0 255" biastype="affine"
gainprm="{gain * 0.025 / 255} 0 0" biasprm="{bias}"/></actuator></mujoco>"""

    model = mujoco.MjModel.from_xml_string(text(True))
    data, rng = mujoco.MjData(model), np.random.default_rng(48)
    time, q, u = [], [], []
    value = 0.0
    for step in range(6000):
        now = step * 0.002
        if step % 5 == 0:
            if step % 350 == 0 and step:
                value = float(np.round(rng.uniform(20, 235)))
            time.append(now)
            q.append(data.qpos[0])
            u.append(value)
        data.ctrl[0] = value
        mujoco.mj_step(model, data)
    time, q, u = np.array(time), np.array(q), np.array(u)
    measured = q + 1e-5 * rng.normal(size=q.shape)
    columns = {"time": time, "gripper_pos": 1e3 * measured, "gripper_cmd": u}
    truth = {"left_finger/armature": 0.4, "left_finger/damping": 20.0}

    def judge(o: Outcome) -> list[str]:
        if faults := loads(o):
            return faults
        _, parts = o.loaded
        controls = np.concatenate([p.control.data[:, 0] for p in parts])
        if controls.max() < 200:
            return ["gripper_cmd does not drive the tendon"]
        fingers = [n for p in parts for n in (p.sensordata.signal_mapping or {}) if "finger" in n]
        if not fingers:
            return ["no finger is measured"]
        size = max(float(np.max(p.sensordata.data)) for p in parts)
        if not 0.015 < size < 0.03:
            return [f"the finger moves {size:.3g} m in place of 0.02"]
        return [*usable(o), *intervals(o)]

    return Case(
        write_model(folder, text(False)),
        [write_table(folder / "gripper.csv", columns)],
        judge,
        truth=truth,
    )


def gripper_one_value(folder: Path) -> Case:
    """An arm with torques, and a gripper of six coupled joints with one value."""
    machine = Machine((named(ARM, "joint_1", "joint_2"),), step=0.002)
    log = record(machine, 15, rate=250)
    opening = 50 + 40 * np.sin(2 * np.pi * 0.2 * log.time)
    columns = {"time": log.time}
    columns |= {f"{n}_pos": log.q[:, k] for k, n in enumerate(log.names)}
    columns |= {f"{n}_torque": log.u[:, k] for k, n in enumerate(log.names)}
    columns["finger_joint_pos"] = np.round(opening, 1)
    fingers = ("finger_joint", "left_inner_finger_joint", "left_inner_knuckle_joint",
               "right_outer_knuckle_joint", "right_inner_finger_joint",
               "right_inner_knuckle_joint")  # fmt: skip
    bodies = "".join(
        f'<body pos="0 {0.02 * (-1) ** k} -.25"><joint name="{n}" axis="1 0 0" range="0 0.8" '
        'armature="0.001" damping="0.05"/><inertial pos="0 0 -.02" mass="0.01" '
        'diaginertia="1e-5 1e-5 1e-5"/></body>'
        for k, n in enumerate(fingers)
    )
    coupled = "".join(f'<joint joint1="{n}" joint2="{fingers[0]}"/>' for n in fingers[1:])
    motors = "".join(f'<motor name="{n}_motor" joint="{n}"/>' for n in log.names)
    motors += '<position name="gripper" joint="finger_joint" kp="2"/>'
    plain = Machine(
        machine.chains, step=0.002, extra=f"<equality>{coupled}</equality>", actuators=motors
    )
    text = plain.mjcf()
    end = text.rindex("</body></body></body></worldbody>")
    text = text[:end] + bodies + text[end:]

    def judge(o: Outcome) -> list[str]:
        held = ("held", "at rest", "computed from", "without effect", "equality")
        return [*(channels(o) or [*usable(o), *intervals(o)]), *says(o, held)]

    return Case(
        write_model(folder, text),
        [write_table(folder / "run.csv", columns)],
        judge,
        **known(log, machine),
    )
