"""Identified servo: a servo, a friction model and a value of each of their parameters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trueup.actuators.catalogue.entries import find_servo
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.equations.extended_terms import check_terms
from trueup.actuators.equations.friction_models import (
    FrictionModel,
    check_quadratic_form,
    friction_model,
)
from trueup.actuators.equations.model_parameter import ModelParameter
from trueup.actuators.equations.servo_laws import motor_torque
from trueup.errors import ParameterError, did_you_mean, listing
from trueup.parameters import Space


@dataclass(frozen=True)
class ServoModel:
    """A servo, a friction model and the values of their parameters; a fit returns one."""

    servo: Servo
    """Servo type."""
    friction: FrictionModel
    """Friction model, M1 to M6."""
    values: Mapping[str, float]
    """Value of each of :attr:`parameters`, by name, in SI units."""
    terms: tuple[str, ...] = ()
    """Extended terms of the model, see :data:`EXTENDED_TERMS`."""
    quadratic: str = "gated"
    """Form of the quadratic term of M6, see ``QUADRATIC_FORMS``."""
    notes: tuple[str, ...] = ()
    """Notes from reading its file: values outside the bounds, values filled in."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Origin of the values: data, cost, uncertainty; empty if the file has none."""

    def __post_init__(self) -> None:
        check_quadratic_form(self.quadratic)
        check_terms(self.terms, self.servo.law, self.servo.name)
        if missing := [name for name in self.names if name not in self.values]:
            raise ParameterError(
                f"the model of {self.servo.name!r} lacks values of {listing(missing)}"
            )
        if unknown := [name for name in self.values if name not in self.names]:
            raise ParameterError(
                f"{self.servo.name!r} with {self.friction.name} has no parameters "
                f"{listing(unknown)}; available: {listing(self.names, 40)}"
            )
        if bad := [name for name, value in self.values.items() if not np.isfinite(value)]:
            raise ParameterError(f"the values of {listing(bad)} must be finite")

    @classmethod
    def create(
        cls,
        servo: str | Servo,
        friction: str | FrictionModel,
        terms: Iterable[str] = (),
        *,
        quadratic: str = "gated",
        **values: float,
    ) -> "ServoModel":
        """Make a model with the catalogue's start values, except those given.

        Args:
          servo: a servo or its name in the catalogue.
          friction: a friction model or its name, ``m1`` to ``m6``.
          terms: extended terms, see :data:`EXTENDED_TERMS`.
          quadratic: form of the quadratic term of M6.
          values: values by parameter name.

        Raises:
          FitError: unknown servo, friction model or term.
          ParameterError: unknown parameter name.
        """
        servo = find_servo(servo) if isinstance(servo, str) else servo
        friction = friction_model(friction) if isinstance(friction, str) else friction
        terms = tuple(dict.fromkeys(terms))
        start = {p.name: p.initial for p in servo.model_parameters(friction, terms)}
        return cls(servo, friction, {**start, **values}, terms, quadratic)

    @property
    def parameters(self) -> tuple[ModelParameter, ...]:
        """Parameters of motor, friction and extended terms."""
        return self.servo.model_parameters(self.friction, self.terms)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(p.name for p in self.parameters)

    def vector(self, names: Iterable[str] | None = None) -> np.ndarray:
        """Values ``(p,)`` in the order of ``names``; default: :attr:`names`."""
        names = self.names if names is None else self.check_names(names)
        return np.array([self.values[name] for name in names], float)

    def with_values(self, **values: float) -> "ServoModel":
        """Copy of the model with some values replaced."""
        self.check_names(values)
        return replace(self, values={**self.values, **{k: float(v) for k, v in values.items()}})

    def check_names(self, names: Iterable[str]) -> tuple[str, ...]:
        """Names as a tuple, checked to be parameters of the model.

        Raises:
          ParameterError: unknown parameter name.
        """
        names = tuple(names)
        for name in names:
            if name not in self.names:
                raise ParameterError(
                    f"{self.servo.name!r} with {self.friction.name} has no parameter {name!r}; "
                    f"available: {listing(self.names, 40)}.{did_you_mean(name, self.names)}"
                )
        return names

    def space(self, names: Iterable[str] | None = None) -> Space:
        """Search space of the named parameters; default: all.

        The start is the model's value, clipped to the bounds.
        """
        names = self.names if names is None else self.check_names(names)
        found = {p.name: p for p in self.parameters}
        chosen = [found[name] for name in names]
        lower, upper = (np.array([getattr(p, b) for p in chosen]) for b in ("lower", "upper"))
        return Space(
            names=tuple(names),
            lower=lower,
            upper=upper,
            start=np.clip(self.vector(names), lower, upper),
            log=np.array([p.log for p in chosen], bool),
            units=tuple(p.unit for p in chosen),
        )

    def frictions(
        self,
        torque_motor: np.ndarray | float,
        torque_external: np.ndarray | float,
        speed: np.ndarray | float,
    ) -> tuple[np.ndarray, float]:
        """Friction torque limit ``frictionloss`` [N m] and ``damping`` [N m s/rad].

        See :meth:`FrictionModel.frictions`.
        """
        return self.friction.frictions(
            self.values, torque_motor, torque_external, speed, self.quadratic
        )

    def torque(
        self,
        error: np.ndarray | float,
        speed: np.ndarray | float,
        *,
        kp: float | None = None,
        vin: float | None = None,
    ) -> np.ndarray:
        """Motor torque [N m] at position errors [rad] and speeds [rad/s].

        See :func:`motor_torque`.
        """
        return motor_torque(self.servo, self.values, error, speed, kp=kp, vin=vin)[0]
