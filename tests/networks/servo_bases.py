"""Servos as bases of networks, whose numbers all differ."""

from typing import Any

from distinct_servos import TERMS, distinct_model

from trueup.networks.base.servo import ServoBase

LAWS = tuple(TERMS)
MEMORYLESS = ("supply_resistance", "torque_saturation", "current_limit")


def distinct_base(law: str = "voltage", friction: str = "m6", **values: Any) -> ServoBase:
    """The base of a servo whose friction depends on a load."""
    terms = tuple(term for term in TERMS[law] if term in MEMORYLESS)
    model = distinct_model(law, friction, terms, **values)
    return ServoBase.of(model, load_gravity=0.83, load_gravity_angle=0.31)
