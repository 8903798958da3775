"""Matching of the columns of a recording to joints, sensors and actuators of a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from trueup.signals import Recording
from trueup.simulation.models.element_names import joint_label
from trueup.simulation.targets.actuator_types import command_quantity
from trueup.sysid.importing.columns.names import ColumnName, likeness, take_apart, words_of

_ENOUGH = 0.45  # minimum score of a match
_SENSOR_QUANTITY = {
    int(mujoco.mjtSensor.mjSENS_JOINTPOS): "position",
    int(mujoco.mjtSensor.mjSENS_JOINTVEL): "velocity",
    int(mujoco.mjtSensor.mjSENS_JOINTACTFRC): "effort",
    int(mujoco.mjtSensor.mjSENS_ACTUATORPOS): "position",
    int(mujoco.mjtSensor.mjSENS_ACTUATORVEL): "velocity",
    int(mujoco.mjtSensor.mjSENS_ACTUATORFRC): "effort",
    int(mujoco.mjtSensor.mjSENS_TENDONPOS): "position",
    int(mujoco.mjtSensor.mjSENS_TENDONVEL): "velocity",
}
_UNIT_WORDS = {"m", "mm", "cm", "rad", "deg", "dps", "s", "n", "nm", "g"}
_HINGE, _SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)


@dataclass(frozen=True)
class Place:
    """A signal or actuator of the model that a column may contain."""

    name: str
    """Its name in an experiment file."""
    element: str
    """Name of the joint, actuator or sensor that is expected in the column's name."""
    quantity: str
    joint: int
    """Joint that it moves or measures; -1 for none."""
    ordinal: int
    """Index among its kind, from 0."""
    what: str
    """Description for comments."""
    components: int = 1
    """Number of columns."""


@dataclass(frozen=True)
class Match:
    """A signal or actuator and its column."""

    place: Place
    column: ColumnName
    """Its column, or that of its first component."""
    score: float
    others: tuple[ColumnName, ...] = ()
    """Columns of the other components, in their order."""
    scale: float = 1.0
    """Factor on the column, before its unit."""
    offset: float = 0.0
    """Subtracted from the column before the factor."""
    unwrap: bool | float = False
    """Period after which an angle starts again, in the unit of the column; True for one turn."""
    sign_bit: int = 0
    """Bit that is the sign of a whole number; 0 for numbers with a sign."""
    remark: str = ""
    """Interpretation of the column, for a comment."""

    @property
    def columns(self) -> list[str]:
        """Columns of all components."""
        return [self.column.column, *(other.column for other in self.others)]

    def named(self, names: Mapping[str, str]) -> "Match":
        """The match in a recording with other names of the columns."""
        own, *others = (take_apart(names.get(c, c)) for c in self.columns)
        return replace(self, column=own, others=tuple(others))

    @property
    def sure(self) -> bool:
        """Whether the names match unambiguously; otherwise a comment requests a check."""
        return self.score >= 0.7


def measurable(model: mujoco.MjModel) -> list[Place]:
    """Sensors of a model, and the states of scalar joints without a sensor."""
    places: list[Place] = []
    covered: set[tuple[int, str]] = set()
    for i in range(model.nsensor):
        kind = int(model.sensor_type[i])
        name, components = model.sensor(i).name, int(model.sensor_dim[i])
        if not name:
            continue
        if components > 1:
            what = f"sensor, {components} components"
            places.append(Place(name, name, "", -1, len(places), what, components))
            continue
        quantity = _SENSOR_QUANTITY.get(kind, "")
        joint = int(model.sensor_objid[i])
        on_joint = int(model.sensor_objtype[i]) == int(mujoco.mjtObj.mjOBJ_JOINT)
        if not on_joint:
            joint = _joint_of_sensor(model, i)
        if on_joint and quantity:
            covered.add((joint, quantity))
        ordinal = sum(p.quantity == quantity for p in places)
        about = f", {quantity} of {joint_label(model, joint)}" if quantity and joint >= 0 else ""
        places.append(
            Place(
                model.sensor(i).name,
                joint_label(model, joint) if joint >= 0 else model.sensor(i).name,
                quantity,
                joint,
                ordinal,
                f"sensor{about}",
            )
        )
    for j, (quantity, suffix) in (
        (j, kind)
        for kind in (("position", "qpos"), ("velocity", "qvel"))
        for j in range(model.njnt)
    ):
        scalar = int(model.jnt_type[j]) in (_HINGE, _SLIDE)
        if scalar and model.joint(j).name and (j, quantity) not in covered:
            name, label = model.joint(j).name, joint_label(model, j)
            places.append(Place(f"{name}_{suffix}", label, quantity, j, j, f"joint {quantity}"))
    return places


def commandable(model: mujoco.MjModel) -> list[Place]:
    """Actuators of a model."""
    places = []
    for i in range(model.nu):
        quantity = command_quantity(model, i)
        name, joint = model.actuator(i).name, joint_of_actuator(model, i)
        where = f" on {joint_label(model, joint)}" if joint >= 0 else ""
        kinds = {"effort": "actuator", "voltage": "motor with a voltage"}
        what = f"{kinds.get(quantity, f'{quantity} servo')}{where}"
        element = joint_label(model, joint) if joint >= 0 else name
        places.append(Place(name, element, quantity, joint, i, what))
    return [p for p in places if p.name]


def actuators_by_joint(model: mujoco.MjModel) -> dict[int, list[Place]]:
    """Actuators of each joint that has one, in the order of the model."""
    out: dict[int, list[Place]] = {}
    for place in commandable(model):
        if place.joint >= 0:
            out.setdefault(place.joint, []).append(place)
    return out


def joint_of_actuator(model: mujoco.MjModel, actuator: int) -> int:
    """Joint that an actuator moves, or -1."""
    kinds = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    moves_joint = int(model.actuator_trntype[actuator]) in kinds
    return int(model.actuator_trnid[actuator, 0]) if moves_joint else -1


def joints_moved(model: mujoco.MjModel, actuator: int) -> list[int]:
    """Joints that an actuator moves at the pose of the model, by a tendon or directly."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    first, count = int(data.moment_rowadr[actuator]), int(data.moment_rownnz[actuator])
    dofs = set(data.moment_colind[first : first + count].tolist())
    return [j for j in range(model.njnt) if int(model.jnt_dofadr[j]) in dofs]


def match_columns(
    recording: Recording, model: mujoco.MjModel, without: Sequence[str] = ()
) -> tuple[list[Match], list[Match]]:
    """Match columns to signals and actuators of a model, by their names.

    Args:
      recording: the recording.
      model: the model.
      without: columns to exclude, such as the time.

    Returns:
      Matches of measured signals and of controls; each column and each signal at most once.
    """
    places = measurable(model)
    names = [take_apart(c) for c in recording.columns if c not in without]
    # a component may be constant; its name is sufficient
    wide = [m for p in places if p.components > 1 if (m := _components(p, names)) is not None]
    taken = {column for m in wide for column in m.columns}
    names = [n for n in names if n.column not in taken]
    names = [n for n in names if np.ptp(finite(recording, n.column)) > 0]
    controls = _assign(commandable(model), names, model, control=True)
    taken = {m.column.column for m in controls}
    left = [n for n in names if n.column not in taken]
    scalar = [p for p in places if p.components == 1]
    found = [*wide, *_assign(scalar, left, model, control=False)]
    order = {p.name: k for k, p in enumerate(places)}
    return sorted(found, key=lambda m: order[m.place.name]), controls


def _components(place: Place, names: list[ColumnName]) -> Match | None:
    """Columns named after a sensor and its components: ``tip_x``, ``tip[0]``, ``imu/tip/1``."""
    by_words = {tuple(w for w in words_of(n.column) if w not in _UNIT_WORDS): n for n in names}
    count = place.components
    numbered = [[str(k + first) for k in range(count)] for first in (0, 1)]
    lettered = [list("xyz")] if count == 3 else [list("wxyz")] if count == 4 else []
    for labels in (*lettered, *numbered):
        wanted = [(*words_of(place.name), label) for label in labels]
        # with a topic before the name the match is not certain
        for cut, score in ((0, 1.0), (len(wanted[0]), 0.6)):
            ends = {words[-cut:]: n for words, n in by_words.items()}
            columns = [ends[w] for w in wanted if w in ends]
            if len(columns) == count:
                return Match(place, columns[0], score, tuple(columns[1:]))
    return None


def _assign(
    places: list[Place], names: list[ColumnName], model: mujoco.MjModel, control: bool
) -> list[Match]:
    """Assign columns greedily, best pairs first."""
    pairs = [Match(p, n, _score(p, n, names, model, control)) for p in places for n in names]
    pairs = sorted((m for m in pairs if m.score >= _ENOUGH), key=lambda m: -m.score)
    chosen: dict[str, Match] = {}
    used: set[str] = set()
    for match in pairs:
        if match.place.name not in chosen and match.column.column not in used:
            chosen[match.place.name] = match
            used.add(match.column.column)
    return [chosen[p.name] for p in places if p.name in chosen]


def _score(
    place: Place, name: ColumnName, names: list[ColumnName], model: mujoco.MjModel, control: bool
) -> float:
    if name.column.lower() == place.name.lower():
        return 1.0
    kind = _kind_fits(place, name, control)
    if kind == 0:
        return 0.0
    alike = max(likeness(name, place.name), likeness(name, place.element))
    if alike == 0 and not name.words:
        alike = _number_fits(place, name, names, model)
    return kind * alike


def _kind_fits(place: Place, name: ColumnName, control: bool) -> float:
    """Score of the quantity of a column for a signal or actuator, 0 to 1."""
    if control:
        if name.commanded:
            return 1.0 if name.quantity in ("command", place.quantity) else 0.5
        if place.quantity == "effort" and name.quantity == "effort":
            return 0.9
        return 0.8 if not name.quantity and not name.unit else 0.0
    if name.commanded:
        return 0.0
    if not place.quantity or not name.quantity:
        return 0.7
    return 1.0 if place.quantity == name.quantity else 0.0


def _number_fits(
    place: Place, name: ColumnName, names: list[ColumnName], model: mujoco.MjModel
) -> float:
    """Whether the number matches: ``q1, q2`` may count from 0 or 1."""
    same = [n for n in names if n.quantity == name.quantity and n.commanded == name.commanded]
    numbers = [n.number for n in same if n.number is not None and not n.words]
    if name.number is None or not numbers:
        alone = len(same) == 1 and model.njnt == 1
        return 0.8 if alone else 0.0
    scalar = [j for j in range(model.njnt) if int(model.jnt_type[j]) in (_HINGE, _SLIDE)]
    place_number = scalar.index(place.joint) if place.joint in scalar else place.ordinal
    return 0.8 if name.number - min(min(numbers), 1) == place_number else 0.0


def finite(recording: Recording, column: str) -> np.ndarray:
    """Finite values of a column; a zero if it has none."""
    values = recording.column(column)[1]
    finite = values[np.isfinite(values)]
    return finite if finite.size else np.zeros(1)


def _joint_of_sensor(model: mujoco.MjModel, sensor: int) -> int:
    if int(model.sensor_objtype[sensor]) == int(mujoco.mjtObj.mjOBJ_ACTUATOR):
        return joint_of_actuator(model, int(model.sensor_objid[sensor]))
    return -1
