"""Parsing of the name of a recorded column: quantity, unit, number, and other words."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

_WORDS = {
    "position": "pos position positions q qpos angle angles theta phi encoder enc posn",
    "velocity": "vel velocity velocities dq qd qdot qvel speed speeds omega dtheta rate velo spd",
    "effort": (
        "tau torque torques effort efforts force forces trq trqs load current currents cur curr "
        "amps iq"
    ),
    "kp": "kp stiffness",
    "kd": "kd kv",
    "command": (
        "cmd command commands commanded ctrl control controls u target targets des desired goal "
        "ref reference setpoint action actions input pwm duty"
    ),
}
_QUANTITY = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_CURRENTS = frozenset({"current", "currents", "cur", "curr", "amps", "iq", "ma"})
_UNITS = {
    "deg": "deg",
    "degs": "deg",
    "degree": "deg",
    "degrees": "deg",
    "rad": "rad",
    "rads": "rad/s",
    "dps": "deg/s",
    "rpm": "rpm",
    "mm": "mm",
    "nm": "N m",
    "mnm": "mN m",
    "ma": "mA",
    "mrad": "mrad",
    "tick": "counts",
    "ticks": "counts",
    "counts": "counts",
    "turns": "turn",
    "rev": "turn",
    "revs": "turn",
    "percent": "percent",
    "pct": "percent",
}
NOISE_WORDS = {
    *("joint", "joints", "motor", "motors", "actuator", "state", "states"),
    *("measured", "meas", "actual", "act"),
    *("j", "jnt", "data", "values", "state", "states", "robot"),
    *("jointset", "value"),  # of OpenSim's states: /jointset/knee_r/knee_angle_r/value
}


@dataclass(frozen=True)
class ColumnName:
    """The parsed name of a column."""

    column: str
    quantity: str
    """position, velocity, effort, kp, kd, command, or empty."""
    commanded: bool
    """Whether it is commanded rather than measured."""
    unit: str
    """Unit in the name, or empty."""
    number: int | None
    """Number in it, such as 2 in ``q2``."""
    words: frozenset[str]
    """Remaining words, such as those of the joint."""


def words_of(name: str) -> list[str]:
    """Lower-case words and numbers of a name: ``leftElbow_q2`` -> left, elbow, q, 2."""
    name = re.sub(r" \(repeat \d+\)$", "", name)  # of a header that repeats a name
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [w for w in re.findall(r"[a-z]+|\d+", spaced.lower().replace("µ", "u")) if w]


def is_quantity(word: str) -> bool:
    """Whether a word is one for a quantity, such as torque or target."""
    return word in _QUANTITY


def is_current(name: str) -> bool:
    """Whether a name has a word for a current of a motor."""
    return not _CURRENTS.isdisjoint(words_of(name))


def take_apart(column: str) -> ColumnName:
    """Parse the name of a column."""
    quantities: list[str] = []
    rest: list[str] = []
    unit, number = "", None
    for word in words_of(column):
        if word in _QUANTITY:
            quantities.append(_QUANTITY[word])
        elif word in _UNITS:
            unit = _UNITS[word]
        elif word.isdigit():
            number = int(word)
        elif word == "d" and quantities and quantities[-1] in ("position", "velocity"):
            quantities.append("command")  # q_d, the desired q
        elif word not in NOISE_WORDS:
            rest.append(word)
    commanded = "command" in quantities
    measured = [q for q in quantities if q != "command"]
    quantity = measured[-1] if measured else "command" if commanded else ""
    if unit == "deg" and (quantity == "velocity" or re.search(r"deg.{0,3}s\b", column.lower())):
        unit = "deg/s"
    if unit == "rad" and quantity == "velocity":
        unit = "rad/s"
    return ColumnName(column, quantity, commanded, unit, number, frozenset(rest))


def likeness(name: ColumnName, element: str) -> float:
    """Similarity of the words of a column to those of an element of the model, 0 to 1."""
    wanted = [w for w in words_of(element) if w not in NOISE_WORDS and w not in _QUANTITY]
    numbers = {int(w) for w in wanted if w.isdigit()}
    plain = {w for w in wanted if not w.isdigit()}
    if numbers and name.number is not None and name.number not in numbers:
        return 0.0
    if not plain and not name.words:
        return 1.0 if numbers and name.number in numbers else 0.0
    if not plain or not name.words:
        return 0.0
    common = len(plain & name.words) / len(plain | name.words)
    spelled = SequenceMatcher(None, " ".join(sorted(plain)), " ".join(sorted(name.words))).ratio()
    return max(common, spelled if spelled > 0.75 else 0.0)
