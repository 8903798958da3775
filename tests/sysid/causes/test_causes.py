"""The cause of an error is named first, with its value, for faults of machine and recording."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np
import pytest

from trueup import sysid
from trueup.sysid.experiment.file import parse_experiment

ARM = """<mujoco><option timestep="0.004" integrator="implicitfast"/>
<default><joint damping=".3" armature=".03" frictionloss=".1"/></default><worldbody>
<body name="upper"><joint name="lift" axis="0 1 0"/>
<inertial pos="0 0 -.15" mass="1.2" diaginertia=".012 .012 .002"/>
<body name="lower" pos="0 0 -.3"><joint name="bend" axis="0 1 0"/>
<inertial pos="0 0 -.13" mass=".8" diaginertia=".006 .006 .001"/></body></body></worldbody>
<actuator><position name="m1" joint="lift" kp="60" kv="2"/>
<position name="m2" joint="bend" kp="50" kv="2"/></actuator></mujoco>"""

EXPERIMENT = """
name: arm
model: {file: arm.xml}
recordings:
  - {file: log.csv, signals: {lift_qpos: q1, bend_qpos: q2}, controls: {m1: u1, m2: u2}}
parameters:
  armature: {target: joint/*/armature, each: true, start: 0.03, bounds: [0.001, 0.5]}
  damping: {target: joint/*/damping, each: true, start: 0.3, bounds: [0, 5]}
control: zoh
held_out: {fraction: 0.25}
output: {report: false}
"""


@dataclass
class Fault:
    """What the machine, or its log, has that the model has not."""

    model: Callable[[mujoco.MjSpec], None] = lambda spec: None
    late: int = 0
    """Steps by which commands act late."""
    clip: float = np.inf
    """Largest command that acts [rad]."""
    limit: float = np.inf
    """Largest torque of the servos [N m]."""
    log: Callable[[np.ndarray], np.ndarray] = field(default=lambda positions: positions)
    clock: float = 1.0
    """Time in the log per time of the machine."""


def record(folder: Path, fault: Fault, seconds: float = 7.0, seed: int = 0) -> None:
    """Write ``arm.xml`` and ``log.csv`` of a machine with a fault."""
    (folder / "arm.xml").write_text(ARM)
    spec = mujoco.MjSpec.from_string(ARM)
    for joint in spec.joints:
        joint.armature, joint.damping = 0.045, [0.42, 0.0, 0.0]
    fault.model(spec)
    model = spec.compile()
    if np.isfinite(fault.limit):
        model.actuator_forcelimited[:] = 1
        model.actuator_forcerange[:] = [-fault.limit, fault.limit]
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    step = model.opt.timestep
    phase, speed = rng.uniform(0, 6.3, (2, 4)), rng.uniform(0.15, 1.4, (2, 4))
    times = np.arange(round(seconds / step)) * step
    waves = np.sin(2 * np.pi * speed[..., None] * times + phase[..., None])
    waves = (waves - waves[..., :1]).mean(axis=1).T
    commands = np.array([0.4, 0.5]) + 0.8 * waves * np.minimum(times / 0.8, 1.0)[:, None]
    data.qpos[:] = commands[0]
    for _ in range(700):
        data.ctrl[:] = commands[0]
        mujoco.mj_step(model, data)
    positions = np.empty((len(times), 2))
    for k in range(len(times)):
        positions[k] = data.qpos
        data.ctrl[:] = np.minimum(commands[max(k - fault.late, 0)], fault.clip)
        mujoco.mj_step(model, data)
    logged = fault.log(positions + 2e-4 * rng.normal(size=positions.shape))
    table = np.column_stack([times * fault.clock, logged, commands])
    header = "time,q1,q2,u1,u2"
    np.savetxt(folder / "log.csv", table, delimiter=",", header=header, comments="", fmt="%.9g")


def identified(folder: Path, fault: Fault, text: str = EXPERIMENT) -> dict:
    record(folder, fault)
    run = folder / "run"
    return sysid.identify(parse_experiment(text), folder, output=run, verbose=False).summary


def gain(spec: mujoco.MjSpec) -> None:
    for actuator in spec.actuators:
        actuator.gainprm[0] *= 0.7
        actuator.biasprm[1] *= 0.7


def payload(spec: mujoco.MjSpec) -> None:
    load = spec.body("lower").add_body(pos=[0.0, 0.0, -0.22])
    load.explicitinertial = True
    load.ipos = [0.0, 0.0, 0.0]
    load.mass, load.inertia = 0.25, [1e-5] * 3


def tilt(spec: mujoco.MjSpec) -> None:
    spec.option.gravity = 9.81 * np.array([np.sin(0.15), 0.0, -np.cos(0.15)])


def stale(positions: np.ndarray) -> np.ndarray:
    out = positions.copy()
    for row in np.flatnonzero(np.random.default_rng(1).random(len(out)) < 0.15):
        out[row] = out[max(row - 1, 0)]
    return out


FAULTS = {
    "gain": (Fault(gain), r"^servo gain of m1 and m2$", [42.0, 35.0]),
    "payload": (Fault(payload), r"^payload of lower$", [0.25]),
    "zero": (
        Fault(log=lambda q: q + np.array([0.05, -0.04])),
        r"^encoder zero in the log of lift and bend$",
        [0.05, -0.04],
    ),
    "scale": (
        Fault(log=lambda q: q * np.array([1.0, 0.9])),
        r"^scale of the position sensor of bend$",
        [0.9],
    ),
    "late": (Fault(late=5), r"^delay of the commands$", [0.02]),
    "clipped": (Fault(clip=0.75), r"^clipped commands", [0.75]),
    "limited": (Fault(limit=2.5), r"^force limit", [2.5]),
    "exchanged": (
        Fault(log=lambda q: q[:, ::-1]), r"^exchanged positions of lift and bend$", None
    ),
    "clock": (Fault(clock=1.1), r"^clock of the log$", [1 / 1.1]),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_the_cause_stands_first_with_its_value(name, tmp_path):
    fault, words, values = FAULTS[name]
    summary = identified(tmp_path, fault)
    assert summary["verdict"]["grade"] != "use"
    first = summary["causes"][0]
    assert re.search(words, first["cause"]), [c["cause"] for c in summary["causes"]]
    assert first["share"] > 0.9
    # its sentence is the first reason and the first finding, before bounds and baselines
    assert summary["verdict"]["reasons"][0]["sentence"] == first["sentence"]
    assert summary["insights"][0]["sentence"] == first["sentence"]
    if values is not None:
        found = [f["value"] for f in first["found"]]
        for value in values:
            assert min(abs(np.array(found) / value - 1.0)) < 0.05, found
    if name == "payload":
        place = re.search(r"at \(([-\d.e]+), ([-\d.e]+), ([-\d.e]+)\) m", first["sentence"])
        assert place is not None and abs(float(place[3]) + 0.22) < 0.03


def test_causes_that_the_data_cannot_distinguish_are_named_together(tmp_path):
    """A first joint across gravity: its zero and a tilt of the base move the same numbers."""
    first = identified(tmp_path, Fault(tilt))["causes"][0]
    named = [first["cause"], *first["alike"]]
    assert any("encoder zero of lift" in n for n in named)
    assert any("tilted gravity" in n for n in named)
    assert "cannot distinguish" in first["sentence"]


def test_a_right_model_has_no_cause(tmp_path):
    assert identified(tmp_path, Fault())["causes"] == []


def test_stale_frames_that_are_kept_are_the_first_cause_and_never_to_be_used(tmp_path):
    kept = EXPERIMENT.replace("{file: log.csv,", "{file: log.csv, leave_out: [],")
    summary = identified(tmp_path, Fault(log=stale), kept)
    assert summary["causes"][0]["cause"] == "stale frames"
    assert "repeat the previous sample" in summary["verdict"]["reasons"][0]["sentence"]
    assert summary["verdict"]["grade"] == "look"


def test_stale_frames_are_left_out_by_default_and_change_nothing(tmp_path):
    summary = identified(tmp_path, Fault(log=stale))
    assert not [cause for cause in summary["causes"] if cause["cause"] == "stale frames"]
    assert any("repeated frames are left out" in note for note in summary["notes"])
    values = [row["value"] for row in summary["parameters"] if row["name"].startswith("armature")]
    assert values == pytest.approx([0.045, 0.045], rel=0.02)


def test_what_is_a_parameter_is_no_cause(tmp_path):
    text = EXPERIMENT.replace(
        "control: zoh", "  kp: {target: actuator/*/kp, each: true, bounds: [10, 100]}\ncontrol: zoh"
    )
    summary = identified(tmp_path, FAULTS["gain"][0], text)
    assert summary["causes"] == []
    assert summary["verdict"]["grade"] == "use"
