"""Friction models with equations of their own, registered for the time of a test."""

import contextlib
from collections.abc import Iterator

import numpy as np

from trueup.actuators import FRICTION_MODELS, ModelParameter, register_friction_model
from trueup.actuators.equations.friction_models import FrictionModel


def wedge_loss(motor, external, speed, p):
    """Friction budget [N m]: Coulomb friction, and a wedge that the load tightens."""
    return p.friction_base + p.friction_wedge * np.sqrt(np.absolute(external))


def mixed_loss(motor, external, speed, p):
    """Friction budget [N m] that reads parameters of M3 and M4 in a way of its own."""
    product = np.where(motor * external > 0.0, motor * external, 0.0)
    peak = p.load_friction_stribeck * np.tanh(np.absolute(motor)) + p.friction_lock
    return p.load_friction_base * np.sqrt(product) + np.exp(-np.absolute(speed)) * peak


WEDGE = {"friction_base": 0.013, "friction_wedge": 0.047, "friction_viscous": 0.0071}
"""Values of the model of :func:`wedge_loss`."""
MIXED = {
    "load_friction_base": 0.19,
    "load_friction_stribeck": 0.11,
    "friction_lock": 0.023,
    "friction_viscous": 0.0071,
}
"""Values of the model of :func:`mixed_loss`."""


@contextlib.contextmanager
def registered(name: str, values: dict[str, float], loss) -> Iterator[FrictionModel]:
    """Register a model with the parameters that ``values`` names."""
    parameters = [
        ModelParameter(n, 0.01, 0.0, 0.5, "", "a new one") if n.endswith(("wedge", "lock")) else n
        for n in values
    ]
    yield register_friction_model(name, name, parameters, loss)
    del FRICTION_MODELS[name]
