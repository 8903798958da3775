"""Friction models M1 to M6: a budget of friction torque that depends on load and speed.

The equations are those of Duclusaud, Passault, Padois, Ly 2025, "Extended friction models for the
physics simulation of servo actuators", ICRA 2025, arXiv 2410.08650. Friction takes away what torque
it needs to stop the joint, as far as its budget ``frictionloss + damping |speed|`` allows.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trueup.actuators.equations.model_parameter import ModelParameter
from trueup.errors import FitError, did_you_mean, listing

QUADRATIC_FORMS = ("gated", "ungated")
"""Forms of the quadratic term of M6. ``gated``: it acts only where motor and external torque
oppose each other. ``ungated``: always. The published parameters were identified with the gated
form, which is therefore the default; the documentation of that project writes the other one."""

FRICTION_PARAMETERS = {
    p.name: p
    for p in (
        ModelParameter("friction_base", 0.05, 0.0, 0.2, "N m", "Coulomb friction"),
        ModelParameter("friction_viscous", 0.1, 0.0, 1.0, "N m s/rad", "viscous friction"),
        ModelParameter("friction_stribeck", 0.05, 0.0, 0.2, "N m", "more friction near standstill"),
        ModelParameter("load_friction_base", 0.05, 0.0, 0.5, "", "friction per load torque"),
        ModelParameter("load_friction_stribeck", 0.05, 0.0, 1.0, "", "more of it near standstill"),
        ModelParameter("load_friction_motor", 0.05, 0.0, 0.5, "", "friction per motor torque"),
        ModelParameter(
            "load_friction_external", 0.05, 0.0, 0.5, "", "friction per external torque"
        ),
        ModelParameter(
            "load_friction_motor_stribeck", 0.05, 0.0, 1.0, "", "of motor torque, near standstill"
        ),
        ModelParameter(
            "load_friction_external_stribeck",
            0.05,
            0.0,
            1.0,
            "",
            "of external torque, near standstill",
        ),
        ModelParameter(
            "load_friction_motor_quad", 0.0, 0.0, 0.01, "1/(N m)", "of motor torque squared"
        ),
        ModelParameter(
            "load_friction_external_quad", 0.0, 0.0, 0.01, "1/(N m)", "of external torque squared"
        ),
        ModelParameter("dtheta_stribeck", 0.2, 0.1, 3.0, "rad/s", "Stribeck speed", log=True),
        ModelParameter("alpha", 1.35, 1.0, 10.0, "", "Stribeck exponent", log=True),
        ModelParameter("q_offset", 0.0, -0.1, 0.1, "rad", "angle of gravity against the encoder"),
    )
}
"""Name -> parameter of all models, with the published start values and bounds."""

_STRIBECK = ("dtheta_stribeck", "alpha")


@dataclass(frozen=True)
class FrictionModel:
    """One of the models M1 to M6."""

    name: str
    """``m1`` to ``m6``."""
    title: str
    """What it says about friction."""
    parameters: tuple[ModelParameter, ...]
    """Its parameters with the published start values and bounds, the angle offset last."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(p.name for p in self.parameters)

    @property
    def has_stribeck(self) -> bool:
        """Whether friction is higher near standstill."""
        return "friction_stribeck" in self.parameter_names

    def frictions(
        self,
        values: Mapping[str, float],
        torque_motor: np.ndarray | float,
        torque_external: np.ndarray | float,
        speed: np.ndarray | float,
        quadratic: str = "gated",
    ) -> tuple[np.ndarray, float]:
        """Friction budget at any states; everything broadcasts.

        Args:
          values: value of each parameter of the model.
          torque_motor: torque of the motor at the output [N m].
          torque_external: torque of the load at the joint, gravity with its sign [N m].
          speed: joint speed [rad/s].
          quadratic: ``"gated"`` or ``"ungated"``, see :data:`QUADRATIC_FORMS`.

        Returns:
          ``frictionloss`` [N m] and ``damping`` [N m s/rad]: the budget is
          ``frictionloss + damping |speed|``.
        """
        check_quadratic_form(quadratic)
        motor, external, speed = (
            np.asarray(a, float) for a in (torque_motor, torque_external, speed)
        )
        loss = values["friction_base"] + np.zeros(np.broadcast(motor, external, speed).shape)
        names = self.parameter_names
        if "load_friction_base" in names:
            loss = loss + values["load_friction_base"] * np.abs(external - motor)
        if "load_friction_motor" in names:
            loss = loss + np.abs(
                values["load_friction_external"] * external - values["load_friction_motor"] * motor
            )
        if self.has_stribeck:
            peak = self._standstill_peak(values, motor, external, quadratic)
            ratio = np.abs(speed) / values["dtheta_stribeck"]
            loss = loss + np.exp(-(ratio ** values["alpha"])) * peak
        return loss, float(values["friction_viscous"])

    def _standstill_peak(
        self, values: Mapping[str, float], motor: np.ndarray, external: np.ndarray, quadratic: str
    ) -> np.ndarray:
        """What friction has more at standstill [N m]."""
        names = self.parameter_names
        peak = np.asarray(values["friction_stribeck"])
        if "load_friction_stribeck" in names:
            peak = peak + values["load_friction_stribeck"] * np.abs(external - motor)
        if "load_friction_motor_stribeck" in names:
            peak = peak + np.abs(
                values["load_friction_external_stribeck"] * external
                - values["load_friction_motor_stribeck"] * motor
            )
        if "load_friction_motor_quad" in names:
            by_external = values["load_friction_external_quad"] * external**2
            by_motor = values["load_friction_motor_quad"] * motor**2
            driving = np.abs(motor) - np.abs(external)
            square = np.where(driving > 0, by_external, np.where(driving < 0, by_motor, 0.0))
            if quadratic == "gated":
                square = np.where(np.sign(motor) != np.sign(external), square, 0.0)
            peak = peak + square
        return peak


def _model(name: str, title: str, *parameters: str) -> FrictionModel:
    chosen = ("friction_base", "friction_viscous", *parameters, "q_offset")
    return FrictionModel(name, title, tuple(FRICTION_PARAMETERS[p] for p in chosen))


_DIRECTIONAL = (
    "friction_stribeck",
    "load_friction_motor",
    "load_friction_external",
    "load_friction_motor_stribeck",
    "load_friction_external_stribeck",
)

FRICTION_MODELS: dict[str, FrictionModel] = {
    model.name: model
    for model in (
        _model("m1", "Coulomb and viscous"),
        _model("m2", "Stribeck", "friction_stribeck", *_STRIBECK),
        _model("m3", "load-dependent", "load_friction_base"),
        _model(
            "m4",
            "Stribeck, load-dependent",
            "friction_stribeck",
            "load_friction_base",
            "load_friction_stribeck",
            *_STRIBECK,
        ),
        _model("m5", "Stribeck, load-dependent, directional", *_DIRECTIONAL, *_STRIBECK),
        _model(
            "m6",
            "Stribeck, load-dependent, directional, quadratic",
            *_DIRECTIONAL,
            "load_friction_motor_quad",
            "load_friction_external_quad",
            *_STRIBECK,
        ),
    )
}
"""Name -> friction model."""


def friction_model(name: str) -> FrictionModel:
    """The friction model of a name, ``m1`` to ``m6``.

    Raises:
      FitError: there is no such model.
    """
    found = FRICTION_MODELS.get(str(name).lower())
    if found is None:
        raise FitError(
            f"there is no friction model {name!r}; there are {listing(FRICTION_MODELS)}."
            f"{did_you_mean(str(name), FRICTION_MODELS)}"
        )
    return found


def check_quadratic_form(form: str) -> None:
    """Raise a FitError unless the quadratic term has this form."""
    if form not in QUADRATIC_FORMS:
        raise FitError(
            f"the quadratic term has no form {form!r}; there are {listing(QUADRATIC_FORMS)}"
        )
