"""Configuration of an identified servo as an actuator of mjlab."""

from dataclasses import dataclass
from typing import Any

from mjlab.actuator import Actuator  # pyright: ignore

from trueup.deploy.mjlab.module.actuator import BamActuator
from trueup.deploy.mjlab.module.settings import ServoSettings


@dataclass(kw_only=True)
class BamActuatorCfg(ServoSettings):
    """Joints driven by an identified servo.

    Position targets are the goals of the servo; velocity and effort targets are ignored, as a
    position servo has none. Armature and friction are those of the file. Random quantities are
    drawn at every reset, from torch's generator. The angle offset of the file belongs to the bench
    and is ignored.

    Environments require their own friction: add the event term ``prepare_servo_fields``.
    """

    def build(self, entity: Any, target_ids: list[int], target_names: list[str]) -> Actuator:
        """Actuator, in the interface of mjlab."""
        return BamActuator(self, entity, target_ids, target_names)
