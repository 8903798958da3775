"""Base model of a correction: a servo model, a PD law of the joint, or none."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from trueup._marks import KEY, joined
from trueup.actuators.catalogue.parameter_file import model_from_dict, model_to_dict
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.errors import FitError, listing, reason
from trueup.networks.base.analytic import AnalyticBase
from trueup.runs.store.input_check import mark_of_file

PD, NONE, SERVO = "pd", "none", "servo"
KINDS = (SERVO, PD, NONE)


@dataclass(frozen=True)
class PdJoint:
    """Joint of a simulator: a PD law within a torque-speed curve, armature and joint friction.

    With all parameters zero only the load acts, and the correction is the whole torque.
    """

    kp: float = 0.0
    """Proportional gain per unit of the gain in a log [N m/rad]."""
    kd: float = 0.0
    """Derivative gain [N m s/rad], per unit of the derivative gain where logs have one."""
    stall_torque: float | None = None
    """Stall torque, the limit of the law at rest [N m]; None: no limit."""
    no_load_speed: float | None = None
    """Speed at which the torque in the direction of motion is zero [rad/s]."""
    armature: float = 0.0
    """Inertia of motor and gears at the joint [kg m2]."""
    frictionloss: float = 0.0
    """Coulomb friction of the joint [N m]."""

    def __post_init__(self):
        _ = self.law
        for name in ("kp", "kd", "armature", "frictionloss"):
            if not getattr(self, name) >= 0:
                raise FitError(
                    f"{name} of a PD base is {getattr(self, name)}; it must not be negative"
                )

    @property
    def law(self) -> AnalyticBase:
        """The PD law with its torque-speed curve."""
        return AnalyticBase(
            self.kp, self.kd, stall_torque=self.stall_torque, no_load_speed=self.no_load_speed
        )

    @property
    def values(self) -> dict[str, float]:
        """Parameters that are not zero, by name."""
        return {name: value for name, value in asdict(self).items() if value}


UNITS = {
    "kp": "N m/rad",
    "kd": "N m s/rad",
    "stall_torque": "N m",
    "no_load_speed": "rad/s",
    "armature": "kg m^2",
    "frictionloss": "N m",
}
"""Unit of each parameter of a PD joint."""

Joint = ServoModel | PdJoint
"""Base model of the joint."""


@dataclass(frozen=True)
class MotionBase:
    """Base model of a correction, with the firmware factors of the gains."""

    joint: Joint | None
    """None: a PD joint with parameters identified from the training logs."""
    gains: Mapping[float, float] = field(default_factory=dict)
    """Gain of a log -> factor applied by the firmware; other gains by interpolation over the
    logarithm. Empty: all factors are 1."""
    made_although: str | None = None
    """Warning carried by a base whose run was forced despite a refusal."""

    @classmethod
    def of(cls, given: "Joint | MotionBase | str") -> "MotionBase":
        """A base from a servo model, a PD joint, the names ``pd`` and ``none``, or another base.

        Raises:
            FitError: unknown name.
        """
        if isinstance(given, MotionBase):
            return given
        if not isinstance(given, str):
            return cls(given)
        if given not in (PD, NONE):
            raise FitError(f"unknown base {given!r}; available: pd, none, or a servo model")
        return cls(None if given == PD else PdJoint())

    @property
    def kind(self) -> str:
        """``servo``, ``pd`` or ``none``."""
        if isinstance(self.joint, ServoModel):
            return SERVO
        return PD if self.joint is None or self.joint.values else NONE

    @property
    def words(self) -> str:
        """Description for texts."""
        return {SERVO: "servo model", PD: "PD base", NONE: "load alone"}[self.kind]

    @property
    def mark(self) -> str | None:
        """Warning for every result based on this model; None without one."""
        of_servo = self.joint.provenance.get(KEY) if isinstance(self.joint, ServoModel) else None
        return joined(self.made_although, of_servo)

    def numbers(self) -> list[tuple[str, float, str]]:
        """Parameters of the joint and factors of the gains, each with its name and unit."""
        joint, found = self.joint, []
        if isinstance(joint, ServoModel):
            found = [(p.name, joint.values[p.name], p.unit) for p in joint.parameters]
        elif joint is not None:
            found = [(name, value, UNITS[name]) for name, value in joint.values.items()]
        return found + [(f"factor of the gain {g:g}", each, "") for g, each in self.gains.items()]

    def with_values(
        self, values: Mapping[str, float], gains: Mapping[float, float]
    ) -> "MotionBase":
        """A copy of the base with other parameters."""
        joint = self.joint
        if isinstance(joint, ServoModel):
            moved: Joint = replace(joint, values={**joint.values, **values})
        else:
            moved = replace(joint or PdJoint(), **values)
        return replace(self, joint=moved, gains=gains)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        joint = self.joint
        content: dict[str, Any] = {"kind": self.kind}
        if isinstance(joint, ServoModel):
            content["servo"] = model_to_dict(joint)
        elif joint is not None and self.kind == PD:
            content["pd"] = asdict(joint)
        if self.gains:
            content["gains"] = [[gain, factor] for gain, factor in self.gains.items()]
        if self.made_although is not None:
            content[KEY] = self.made_although
        return content

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], where: str = "the base") -> "MotionBase":
        """The base from `to_dict`.

        Raises:
            FitError: the kind is unknown, or an entry is missing or unknown.
        """
        kind = content.get("kind")
        if kind not in KINDS:
            raise FitError(f"{where}: unknown kind of base {kind!r}; available: {listing(KINDS)}")
        try:
            mark = None if content.get(KEY) is None else str(content[KEY])
            gains = {float(gain): float(factor) for gain, factor in content.get("gains", ())}
            if kind == SERVO:
                return cls(model_from_dict(content["servo"], where), gains, mark)
            if kind == PD:
                return cls(PdJoint(**content["pd"]) if "pd" in content else None, gains, mark)
            return cls(PdJoint(), gains, mark)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FitError(f"{where} cannot be read as a base: {error!r}") from error


def read_base(file: Path, *, anyway: bool = False) -> MotionBase:
    """The base of a ``base.json``.

    Args:
        file: the file.
        anyway: also accept a base whose logs have changed since; results based on it record this.

    Raises:
        RunDirectoryError: the logs of its run have changed since.
        FitError: the file is missing or does not contain a base.
    """
    try:
        content = json.loads(file.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise FitError(
            f"{file} cannot be read as a base: {reason(error)}. Give pd, none, or the base.json of "
            "a run"
        ) from error
    if not isinstance(content, dict):
        raise FitError(f"{file} does not contain a base: give pd, none, or the base.json of a run")
    base = MotionBase.from_dict(content, str(file))
    mark = mark_of_file(file, anyway=anyway)
    return replace(base, made_although=joined(base.made_although, mark))
