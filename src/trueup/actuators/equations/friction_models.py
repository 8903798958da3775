"""Friction models M1 to M6: a budget of friction torque that depends on load and speed.

The equations are in :mod:`trueup.actuators.equations.servo_equations`; the models are those of
Duclusaud, Passault, Padois, Ly 2025, "Extended friction models for the
physics simulation of servo actuators", ICRA 2025, arXiv 2410.08650. Friction is the torque that
stops the joint, limited by its budget ``frictionloss + damping |speed|``.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.actuators.equations._parameter_layout import (
    ENTERS_AS,
    QUANTITIES,
    Layout,
    ParameterValues,
)
from trueup.actuators.equations.model_parameter import ModelParameter
from trueup.actuators.equations.servo_equations import friction_loss
from trueup.errors import FitError, did_you_mean, listing

QUADRATIC_FORMS = ("gated", "ungated")
"""Forms of the quadratic term of M6. ``gated``: it acts only where motor and external torque
oppose each other. ``ungated``: always. The published parameters were identified with the gated
form, which is therefore the default; the documentation of that project gives the other one."""

FRICTION_PARAMETERS = {
    p.name: p
    for p in (
        ModelParameter("friction_base", 0.05, 0.0, 0.2, "N m", "Coulomb friction"),
        ModelParameter("friction_viscous", 0.1, 0.0, 1.0, "N m s/rad", "viscous friction"),
        ModelParameter(
            "friction_stribeck", 0.05, 0.0, 0.2, "N m", "extra friction near standstill"
        ),
        ModelParameter("load_friction_base", 0.05, 0.0, 0.5, "", "friction per load torque"),
        ModelParameter(
            "load_friction_stribeck", 0.05, 0.0, 1.0, "", "extra load friction at standstill"
        ),
        ModelParameter("load_friction_motor", 0.05, 0.0, 0.5, "", "friction per motor torque"),
        ModelParameter(
            "load_friction_external", 0.05, 0.0, 0.5, "", "friction per external torque"
        ),
        ModelParameter(
            "load_friction_motor_stribeck", 0.05, 0.0, 1.0, "", "per motor torque at standstill"
        ),
        ModelParameter(
            "load_friction_external_stribeck",
            0.05,
            0.0,
            1.0,
            "",
            "per external torque at standstill",
        ),
        ModelParameter(
            "load_friction_motor_quad", 0.0, 0.0, 0.01, "1/(N m)", "per motor torque squared"
        ),
        ModelParameter(
            "load_friction_external_quad", 0.0, 0.0, 0.01, "1/(N m)", "per external torque squared"
        ),
        ModelParameter("dtheta_stribeck", 0.2, 0.1, 3.0, "rad/s", "Stribeck speed", log=True),
        ModelParameter("alpha", 1.35, 1.0, 10.0, "", "Stribeck exponent", log=True),
        ModelParameter("q_offset", 0.0, -0.1, 0.1, "rad", "load angle relative to encoder"),
    )
}
"""Name -> parameter of all models, with the published start values and bounds."""

STRIBECK_SHAPE = ("dtheta_stribeck", "alpha")
"""Parameters that shape the Stribeck curve, and have no effect without Stribeck friction."""


@dataclass(frozen=True)
class FrictionModel:
    """A friction model: M1 to M6, or a custom one."""

    name: str
    """Name in files and on the command line, such as ``m6``."""
    title: str
    """Short description of the friction."""
    parameters: tuple[ModelParameter, ...]
    """Parameters with start values and bounds, the angle offset last."""
    loss: Callable[..., Any] = friction_loss
    """Equation of the friction budget without its viscous part [N m], a function
    ``loss(motor, external, speed, p)`` in the language of
    :mod:`trueup.actuators.equations.servo_equations`; ``p`` has the parameters as attributes."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(p.name for p in self.parameters)

    @property
    def has_stribeck(self) -> bool:
        """Whether friction is higher near standstill."""
        return "friction_stribeck" in self.parameter_names

    @property
    def is_curved(self) -> bool:
        """Whether its equation contains exponentials or logarithms (assumed of custom ones)."""
        return self.has_stribeck or self.loss is not friction_loss

    @property
    def reads_load(self) -> bool:
        """Whether friction depends on the torques of motor and load."""
        names = self.parameter_names
        return self.loss is not friction_loss or any(n.startswith("load_friction") for n in names)

    def frictions(
        self,
        values: Mapping[str, float],
        torque_motor: np.ndarray | float,
        torque_external: np.ndarray | float,
        speed: np.ndarray | float,
        quadratic: str = "gated",
    ) -> tuple[np.ndarray, float]:
        """Friction budget at given states; all arguments broadcast.

        Args:
          values: value of each parameter of the model.
          torque_motor: torque of the motor at the output [N m].
          torque_external: torque of the load at the joint, gravity with its sign [N m].
          speed: joint speed [rad/s].
          quadratic: ``"gated"`` or ``"ungated"``, see ``QUADRATIC_FORMS``.

        Returns:
          ``frictionloss`` [N m] and ``damping`` [N m s/rad]: the budget is
          ``frictionloss + damping |speed|``.
        """
        check_quadratic_form(quadratic)
        states = np.broadcast_arrays(
            *(np.asarray(a, float) for a in (torque_motor, torque_external, speed))
        )
        names = self.parameter_names
        p = ParameterValues({n: values[n] for n in names}, gate=float(quadratic == "gated"))
        loss = self.loss(*states, p) + np.zeros(states[0].shape)
        return loss, float(values["friction_viscous"])


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
        _model("m2", "Stribeck", "friction_stribeck", *STRIBECK_SHAPE),
        _model("m3", "load-dependent", "load_friction_base"),
        _model(
            "m4",
            "Stribeck, load-dependent",
            "friction_stribeck",
            "load_friction_base",
            "load_friction_stribeck",
            *STRIBECK_SHAPE,
        ),
        _model("m5", "Stribeck, load-dependent, directional", *_DIRECTIONAL, *STRIBECK_SHAPE),
        _model(
            "m6",
            "Stribeck, load-dependent, directional, quadratic",
            *_DIRECTIONAL,
            "load_friction_motor_quad",
            "load_friction_external_quad",
            *STRIBECK_SHAPE,
        ),
    )
}
"""Name -> friction model, including registered ones."""

PUBLISHED_MODELS = tuple(FRICTION_MODELS)
"""Names of the published models, M1 to M6."""


def register_friction_model(
    name: str,
    title: str,
    parameters: Iterable[str | ModelParameter],
    loss: Callable[..., Any] = friction_loss,
) -> FrictionModel:
    """Add a friction model, for fits, the bench, MuJoCo, torch and networks.

    ::

        def wedge_loss(motor, external, speed, p):
            return p.friction_base + p.friction_wedge * np.sqrt(np.absolute(external))

        wedge = ModelParameter("friction_wedge", 0.01, 0.0, 0.5, "(N m)^0.5", "wedge friction")
        register_friction_model("m7", "wedge", ["friction_base", wedge], wedge_loss)

    Args:
      name: name of the model; replaces a registered model of that name, but not M1 to M6.
      title: short description of the friction.
      parameters: parameters in addition to ``friction_viscous`` and ``q_offset``, which all models
        have: names of existing parameters, or new ones with names that start with ``friction_`` or
        ``load_friction_``.
      loss: equation of the friction budget without its viscous part.

    Returns:
      The model.

    Raises:
      FitError: the name is that of a published model, a parameter is unknown or its name is taken,
        or the equation cannot be traced.
    """
    name = name.lower()
    if name in PUBLISHED_MODELS:
        raise FitError(f"{name!r} is a published model and cannot be replaced: choose another name")
    chosen: dict[str, ModelParameter] = {}
    for given in ("friction_viscous", *parameters, "q_offset"):
        parameter = given if isinstance(given, ModelParameter) else FRICTION_PARAMETERS.get(given)
        if parameter is None:
            raise FitError(
                f"unknown friction parameter {given!r}: pass a ModelParameter, or one of "
                f"{listing(FRICTION_PARAMETERS, 40)}."
                f"{did_you_mean(str(given), FRICTION_PARAMETERS)}"
            )
        is_new = parameter.name not in FRICTION_PARAMETERS
        if is_new and not parameter.name.startswith(("friction_", "load_friction_")):
            raise FitError(
                f"the name of friction parameter {parameter.name!r} must start with friction_ "
                "or load_friction_"
            )
        if parameter.name == "friction_velocity":
            raise FitError(
                "friction_velocity is a setting of learned actuators: choose another name"
            )
        if not is_new and parameter is not FRICTION_PARAMETERS[parameter.name]:
            raise FitError(
                f"friction parameter {parameter.name!r} already exists: choose another name"
            )
        chosen[parameter.name] = parameter
    model = FrictionModel(name, title, tuple(chosen.values()), loss)
    _check_equation(model)
    FRICTION_MODELS[name] = model
    return model


def _check_equation(model: FrictionModel) -> None:
    """Raise a FitError if the equation of a model cannot be traced."""
    from trueup.actuators.equations.tracing import Graph

    graph = Graph()
    p = ParameterValues(
        {n: graph.input(n) for n in model.parameter_names}, gate=graph.input("gate")
    )
    try:
        graph.value(model.loss(*(graph.input(n) for n in ("motor", "external", "speed")), p))
    except (TypeError, AttributeError, ValueError) as error:
        raise FitError(
            f"the equation of the friction model {model.name!r} cannot be traced: {error}"
        ) from error


def layout_of(model: FrictionModel) -> Layout:
    """Parameter columns of servos with a friction model."""
    return frictions_layout((model,))


def frictions_layout(models: Iterable[FrictionModel]) -> Layout:
    """Parameter columns of servos with any of several friction models."""
    quantities: dict[str, None] = {}
    for model in models:
        own = model.loss is not friction_loss
        for name in model.parameter_names:
            quantities |= dict.fromkeys((name,) if own else ENTERS_AS.get(name, (name,)))
    return Layout(tuple(q for q in quantities if q not in QUANTITIES))


def friction_model(name: str) -> FrictionModel:
    """Friction model by name, ``m1`` to ``m6`` or a registered one.

    Raises:
      FitError: unknown model.
    """
    found = FRICTION_MODELS.get(str(name).lower())
    if found is None:
        raise FitError(
            f"unknown friction model {name!r}; available: {listing(FRICTION_MODELS)}."
            f"{did_you_mean(str(name), FRICTION_MODELS)}"
        )
    return found


def check_quadratic_form(form: str) -> None:
    """Raise a FitError if the form of the quadratic term is unknown."""
    if form not in QUADRATIC_FORMS:
        raise FitError(
            f"unknown form {form!r} of the quadratic term; available: {listing(QUADRATIC_FORMS)}"
        )
