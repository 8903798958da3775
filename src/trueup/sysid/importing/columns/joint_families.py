"""Detection of the source of a log, and of the columns of the joints of a robot.

Logs of known sources name their columns by a pattern: ``rt/lowstate/motor_state/3/q``,
``joint_states/elbow/position``. A pattern contains the quantity, whether it was commanded, and the
name or number of the joint.
"""

import re
from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.errors import RecordingError, listing
from trueup.signals import Recording
from trueup.simulation.models.element_names import joint_label
from trueup.sysid.importing.columns.names import likeness, take_apart
from trueup.sysid.importing.columns.stated_names import stated_names

_ANOTHER = 0.3  # difference of two positions of one joint, as a share of the motion
_SEPARATOR = r"[/.\[\]_]+"
_QUANTITIES = {
    **dict.fromkeys(("position", "positions", "q", "pos", "dof_pos", "qpos"), "position"),
    **dict.fromkeys(("velocity", "velocities", "dq", "vel", "dof_vel", "qvel"), "velocity"),
    **dict.fromkeys(("effort", "efforts", "tau", "tau_est", "torque", "applied_torque"), "effort"),
    "kp": "kp",
    "kd": "kd",
}
_COMMANDED = re.compile(
    r"(^|[/_.])(command|commands|cmd|reference|desired|target|action)s?([/_.]|$)"
)


@dataclass(frozen=True)
class Source:
    """A source of logs and the patterns of its columns.

    A pattern has the groups ``joint`` and ``quantity``, and optionally ``commanded``, which is
    otherwise determined by the topic.
    """

    name: str
    patterns: tuple[re.Pattern[str], ...]
    rank: int = 0
    """Priority if several sources match; higher first."""


SOURCES = (
    Source(
        "Unitree lowstate",
        (
            re.compile(
                rf"(?P<topic>.*low_?state.*?){_SEPARATOR}?motor_?state{_SEPARATOR}(?P<joint>\d+)"
                rf"{_SEPARATOR}(?P<quantity>q|dq|tau_est)",
                re.I,
            ),
            re.compile(
                rf"(?P<commanded>.*low_?cmd.*?){_SEPARATOR}?motor_?cmd{_SEPARATOR}(?P<joint>\d+)"
                rf"{_SEPARATOR}(?P<quantity>q|dq|tau|kp|kd)",
                re.I,
            ),
        ),
        3,
    ),
    Source(
        "ros2_control controller_state",
        (
            re.compile(
                r"(?P<topic>.*)/(?P<commanded>reference|desired)/(?P<joint>[^/]+)/"
                r"(?P<quantity>positions|velocities|effort)"
            ),
            re.compile(
                r"(?P<topic>.*)/(feedback|actual)/(?P<joint>[^/]+)/"
                r"(?P<quantity>positions|velocities|effort)"
            ),
        ),
        2,
    ),
    Source(
        "ROS JointState",
        (re.compile(r"(?P<topic>.*)/(?P<joint>[^/]+)/(?P<quantity>position|velocity|effort)"),),
        1,
    ),
    Source(
        "LeRobot",
        (
            re.compile(r"observation\.state/(?P<joint>.+?)(?P<quantity>\.pos)?"),
            re.compile(r"(?P<commanded>action)/(?P<joint>.+?)(?P<quantity>\.pos)?"),
        ),
        3,
    ),
    Source(
        "PACE chirp data",
        (
            re.compile(r"(?P<quantity>dof_pos|dof_vel)/(?P<joint>\d+)"),
            re.compile(r"(?P<commanded>des)_(?P<quantity>dof_pos)/(?P<joint>\d+)"),
        ),
        3,
    ),
    Source(
        "Isaac Lab or mjlab HDF5",
        (
            re.compile(
                r"(?P<topic>.*/)?joint_(?P<quantity>pos|position|vel|velocity|torque|effort)"
                r"/(?P<joint>\d+)"
            ),
            re.compile(r"(?P<topic>.*/)?(?P<quantity>applied_torque)/(?P<joint>\d+)"),
            re.compile(
                r"(?P<topic>.*/)?joint_(?P<quantity>pos|position)_(?P<commanded>target|command)"
                r"/(?P<joint>\d+)"
            ),
        ),
        2,
    ),
)

_GO2 = [f"{leg}_{part}" for leg in ("FR", "FL", "RR", "RL") for part in ("hip", "thigh", "calf")]
_G1 = [
    *(f"{s}_{j}" for s in ("left", "right") for j in (
        "hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")),
    *("waist_yaw", "waist_roll", "waist_pitch"),
    *(f"{s}_{j}" for s in ("left", "right") for j in (
        "shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow",
        "wrist_roll", "wrist_pitch", "wrist_yaw")),
]  # fmt: skip
_NUMBERED = {"Unitree lowstate": (_GO2, _G1)}
"""Joint names of the numbers of a source, one list per type of robot."""


@dataclass(frozen=True)
class JointColumn:
    """A column of a joint."""

    column: str
    quantity: str
    """position, velocity, effort, kp or kd."""
    commanded: bool
    label: str
    """Name or number of the joint in the log."""


@dataclass(frozen=True)
class JointLog:
    """A log of a known source."""

    source: str
    columns: tuple[JointColumn, ...]
    joints: dict[str, int]
    """Joint of the model by label."""
    by_order: bool
    """Whether joints are numbered in the order of the model, which must be confirmed."""
    notes: tuple[str, ...] = ()

    def column(self, joint: int, quantity: str, commanded: bool = False) -> str | None:
        """Column of a quantity of a joint, or None."""
        for c in self.columns:
            same = (c.quantity, c.commanded) == (quantity, commanded)
            if same and self.joints.get(c.label) == joint:
                return c.column
        return None


def recognise(recording: Recording, model: mujoco.MjModel) -> JointLog | None:
    """The source of a log and the joints of its columns; None for an unknown source.

    Args:
      recording: the log.
      model: the robot.

    Raises:
      RecordingError: no joint of the log is in the model.
    """
    found = []
    for source in SOURCES:
        columns = [c for name in recording.columns if (c := _column(name, source)) is not None]
        measured = {c.label for c in columns if c.quantity == "position" and not c.commanded}
        if measured:
            found.append((source.rank, len(measured), source, columns))
    if not found:
        return None
    _, _, source, columns = max(found, key=lambda f: (f[0], f[1]))
    _check_one_robot(recording, columns)
    columns = _first_of_each(columns)
    labels = list(dict.fromkeys(c.label for c in columns if c.quantity == "position"))
    names = [joint_label(model, j) for j in scalar_joints(model)]
    lists = stated_names(recording, names)
    stated = next((given for given in lists if len(given.names) == len(labels)), None)
    by_number = all(label.isdigit() for label in labels)
    own = {label: label for label in labels}
    if by_number and stated is not None:
        own = dict(zip(sorted(labels, key=int), stated.names, strict=True))
    joints, by_order = _joints(labels, model, source, own)
    if not joints:
        raise RecordingError(_no_joints(recording, own, by_number and stated is None, names))
    notes = []
    unused = next((given for given in lists if given.of_joints), None)
    if by_order and unused is not None:
        notes.append(
            f"{unused.key} of the log has {len(unused.names)} names, {listing(unused.names)}, "
            f"but there are {len(labels)} position columns: the names were not used"
        )
    left = [own[label] for label in labels if label not in joints]
    if left and not by_order:
        what = "is not a joint" if len(left) == 1 else "are not joints"
        notes.append(
            f"the log has {listing(left)}, which {what} of the model: skipped; available: "
            f"{listing(names)}"
        )
    return JointLog(source.name, tuple(columns), joints, by_order, tuple(notes))


def _no_joints(recording: Recording, own: dict[str, str], numbered: bool, names: list[str]) -> str:
    """Sentence on a log without any joint of the model."""
    if numbered:
        return (
            f"{recording.name} has {len(own)} numbered joints without names, but the model has "
            f"{len(names)} ({listing(names)}): write their names into the log (joint_names), or "
            "into the column names"
        )
    return (
        f"no joint of {recording.name} is in the model: the log has {listing(own.values())}, "
        f"the model {listing(names)}. Rename the joints of one of them"
    )


def scalar_joints(model: mujoco.MjModel) -> list[int]:
    """Named hinge and slide joints of a model."""
    kinds = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    return [j for j in range(model.njnt) if int(model.jnt_type[j]) in kinds and model.joint(j).name]


def _column(name: str, source: Source) -> JointColumn | None:
    for pattern in source.patterns:
        match = pattern.fullmatch(name)
        if match is None:
            continue
        groups = match.groupdict()
        quantity = _QUANTITIES.get((groups.get("quantity") or "pos").strip(".").lower())
        if quantity is None:
            continue
        topic = groups.get("topic") or ""
        commanded = bool(groups.get("commanded")) or bool(_COMMANDED.search(topic))
        return JointColumn(name, quantity, commanded, groups["joint"])
    return None


def _check_one_robot(recording: Recording, columns: list[JointColumn]) -> None:
    """Check that topics with the same joints have the same motion, as of filtered and raw states.

    Raises:
      RecordingError: two of them move differently.
    """
    first: dict[str, str] = {}
    for c in columns:
        if c.quantity != "position" or c.commanded:
            continue
        known = first.setdefault(c.label, c.column)
        if known == c.column:
            continue
        (times, values), (clock, others) = recording.column(known), recording.column(c.column)
        size, there = float(np.nanstd(values)), np.isfinite(others)
        if size < 1e-9 or not there.any():
            continue
        apart = np.abs(np.interp(times, clock[there], others[there]) - values)
        if float(np.nanmedian(apart)) > _ANOTHER * size:
            raise RecordingError(
                f"{recording.name} has two positions of joint {c.label} that move differently, "
                f"{known} and {c.column}: two robots in one log? Give a log with the topics of "
                "one robot"
            )


def _first_of_each(columns: list[JointColumn]) -> list[JointColumn]:
    """One column for each joint and quantity: the first topic that has it."""
    chosen: dict[tuple[str, str, bool], JointColumn] = {}
    for c in columns:
        chosen.setdefault((c.label, c.quantity, c.commanded), c)
    return list(chosen.values())


def _joints(
    labels: list[str], model: mujoco.MjModel, source: Source, own: dict[str, str]
) -> tuple[dict[str, int], bool]:
    """Joint of each label, and whether it is only by the order of the model."""
    joints = scalar_joints(model)
    names = {j: joint_label(model, j) for j in joints}
    if not all(name.isdigit() for name in own.values()):
        found, numbers = _by_name(own, names), [_number(own[label]) for label in labels]
        if found or None in numbers or len(set(numbers)) < len(numbers):
            return found, False
        # joint1, joint2: numbers in other words
        by_number = sorted(labels, key=lambda label: _number(own[label]) or 0)
        for moved in ([j for j in joints if is_driven(model, j)], joints):
            if len(moved) == len(labels):
                return dict(zip(by_number, moved, strict=True)), True
        return {}, True
    numbers = sorted(labels, key=int)
    for known in _NUMBERED.get(source.name, ()):
        wanted = {label: known[int(label)] for label in numbers if int(label) < len(known)}
        found = _by_name(wanted, names)
        if len(found) == len(joints):
            return found, False
    moved = [j for j in joints if is_driven(model, j)] or joints
    if len(numbers) >= len(moved):
        return dict(zip(numbers[: len(moved)], moved, strict=True)), True
    return {}, True


def _number(label: str) -> int | None:
    """Number of a label without words of a joint, such as 2 of ``joint_2``."""
    parsed = take_apart(label)
    return None if parsed.words or parsed.quantity else parsed.number


def _by_name(labels: dict[str, str], names: dict[int, str]) -> dict[str, int]:
    """Joints with the names most similar to the labels; each at most once."""
    pairs = []
    for label, text in labels.items():
        for joint, name in names.items():
            same = 2.0 if text.lower() == name.lower() else likeness(take_apart(text), name)
            if same > 0.4:
                pairs.append((same, label, joint))
    out: dict[str, int] = {}
    for _, label, joint in sorted(pairs, key=lambda pair: -pair[0]):
        if label not in out and joint not in out.values():
            out[label] = joint
    return out


def is_driven(model: mujoco.MjModel, joint: int) -> bool:
    """Whether an actuator acts on a joint."""
    on_joint = np.isin(
        model.actuator_trntype,
        [int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT)],
    )
    return bool((on_joint & (model.actuator_trnid[:, 0] == joint)).any())
