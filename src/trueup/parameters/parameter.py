"""Parameter of a fit: value, bounds, scale, prior, and its target in the model."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import ParameterError
from trueup.parameters.inertia import InertiaType

ModifierFn = Callable[[Any, "Parameter"], object]
"""``modifier(spec, parameter)`` writes the parameter's value into an ``mujoco.MjSpec``."""

SCALES = ("linear", "log", "logit")


@dataclass(frozen=True)
class Prior:
    """Gaussian prior of a value, from a data sheet or CAD: mean and standard deviation."""

    mean: float | tuple[float, ...]
    """Mean, in the parameter's unit: one value for all elements of a vector, or one each."""
    sd: float | tuple[float, ...]
    """Standard deviation, positive, with the same unit and shape."""

    def __post_init__(self):
        means, deviations = np.asarray(self.mean), np.asarray(self.sd)
        if not (
            np.isfinite(means).all() and np.isfinite(deviations).all() and deviations.min() > 0
        ):
            raise ParameterError(
                f"a prior requires a finite mean and a positive finite sd, found mean {self.mean} "
                f"and sd {self.sd}"
            )

    def elements(self, size: int) -> list[tuple[float, float]]:
        """Mean and standard deviation of each element of a parameter.

        Args:
          size: number of elements.

        Raises:
          ParameterError: another number of means or deviations.
        """
        try:
            means, deviations = (np.broadcast_to(v, size) for v in (self.mean, self.sd))
        except ValueError:
            raise ParameterError(
                f"expected a prior for {size} elements, found {np.size(self.mean)} means and "
                f"{np.size(self.sd)} standard deviations"
            ) from None
        return list(zip(means.tolist(), deviations.tolist(), strict=True))


class Parameter:
    """A named unknown with box bounds: a scalar, a vector or an array.

    Args:
      name: identifier, unique within a :class:`ParameterDict`.
      nominal: reference value, also the start value; scalar or array.
      min_value: lower bounds, a scalar or the shape of ``nominal``; may be ``-inf``.
      max_value: upper bounds, likewise; may be ``inf``.
      frozen: exclude the value from the fit. A frozen value is still applied to the model.
      modifier: ``modifier(spec, parameter)``, which writes the value into an ``MjSpec``. It
        requires one compilation per candidate.
      target: attribute of the model that takes the value, such as ``"joint/elbow/armature"``, or
        several; no compilation is needed. See :mod:`trueup.simulation`.
      scale: ``"log"`` searches the logarithm of the value, which then has to be positive;
        ``"logit"`` the log odds of its position between two finite bounds, which stretches the ends
        of the range, for a share or an efficiency near 0 or 1.
      deviation: initial standard deviation of a population search, a scalar or the shape of
        ``nominal``: in the parameter's unit, on a log scale of the natural logarithm (0.1 is
        10 %), on a logit scale of the log odds. None takes the default of the search.
      prior: Gaussian prior, which adds a residual to the fit.
      tied_to: name of the parameter that provides the value; a tied parameter is not free.
      unit: unit of the value, for tables and figures, such as ``"kg m^2"``.
      description: one line for tables.

    Raises:
      ParameterError: bounds of another shape, bounds that exclude the nominal value, a nominal
        value that is not finite, a log scale without positive bounds, a logit scale without finite
        ones, a deviation that is not positive.
    """

    def __init__(
        self,
        name: str,
        nominal: ArrayLike,
        min_value: ArrayLike,
        max_value: ArrayLike,
        frozen: bool = False,
        modifier: ModifierFn | None = None,
        *,
        target: str | tuple[str, ...] | list[str] | None = None,
        scale: str = "linear",
        prior: Prior | None = None,
        tied_to: str | None = None,
        unit: str = "",
        description: str = "",
        deviation: ArrayLike | None = None,
    ):
        self.name = name
        self.nominal = np.atleast_1d(np.array(nominal, dtype=float))
        self.min_value = self._bound(min_value, "min_value")
        self.max_value = self._bound(max_value, "max_value")
        self.value = self.nominal.copy()
        self.frozen = bool(frozen)
        self.modifier = modifier
        self.targets = (target,) if isinstance(target, str) else tuple(target or ())
        self.scale = scale
        self.prior = prior
        self.tied_to = tied_to
        self.unit = unit
        self.description = description
        self.deviation = None if deviation is None else self._bound(deviation, "deviation")
        # set by body_inertia_param: how the value parameterises a body's inertia
        self.inertia_type: InertiaType | None = None
        self.inertia_body: str | None = None
        self.scale_rot_inertia = False
        # set by an experiment: the fit moves a bound that it reaches, as nobody chose it
        self.widens = False
        # set by a fit that adds an unknown which the experiment does not ask for
        self.of_fit = False
        # a file cannot store a Python function: a parameter read from a file records that it had
        # one
        self.modifier_lost = False
        self._validate()

    def _bound(self, bound: ArrayLike, which: str) -> np.ndarray:
        array = np.atleast_1d(np.array(bound, dtype=float))
        try:
            return np.broadcast_to(array, self.nominal.shape).copy()
        except ValueError as error:
            raise ParameterError(
                f"parameter {self.name!r}: {which} has shape {array.shape}, the nominal value has "
                f"shape {self.nominal.shape}; give one number, or one for each element"
            ) from error

    def _validate(self) -> None:
        label = f"parameter {self.name!r}"
        if not np.all(np.isfinite(self.nominal)):
            raise ParameterError(f"{label}: the nominal value {self.nominal} is not finite")
        if np.isnan(self.min_value).any() or np.isnan(self.max_value).any():
            raise ParameterError(f"{label}: a bound is NaN; use -inf or inf for no bound")
        if np.any(self.min_value > self.max_value):
            raise ParameterError(
                f"{label}: the lower bound {_short(self.min_value)} is above the upper bound "
                f"{_short(self.max_value)}; swap them"
            )
        outside = (self.nominal < self.min_value) | (self.nominal > self.max_value)
        if outside.any():
            raise ParameterError(
                f"{label}: the nominal value {_short(self.nominal)} is outside the bounds "
                f"[{_short(self.min_value)}, {_short(self.max_value)}]; widen the bounds or "
                f"correct the value"
            )
        if self.scale not in SCALES:
            raise ParameterError(
                f"{label}: unknown scale {self.scale!r}; available: {', '.join(SCALES)}"
            )
        if self.scale == "log" and np.any(self.min_value <= 0):
            raise ParameterError(
                f"{label}: a log scale requires positive lower bounds, found "
                f"{_short(self.min_value)}"
            )
        if self.scale == "logit" and not (
            np.isfinite(self.min_value).all()
            and np.isfinite(self.max_value).all()
            and np.all(self.min_value < self.max_value)
        ):
            raise ParameterError(
                f"{label}: a logit scale requires two finite bounds that differ, found "
                f"[{_short(self.min_value)}, {_short(self.max_value)}]"
            )
        if self.deviation is not None and not np.all(
            np.isfinite(self.deviation) & (self.deviation > 0)
        ):
            raise ParameterError(
                f"{label}: deviation must be positive, found {_short(self.deviation)}"
            )
        if self.modifier is not None and self.targets:
            raise ParameterError(f"{label} has both a modifier and a target; remove one of them")

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.nominal.size

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return self.nominal.shape

    @property
    def is_free(self) -> bool:
        """Whether the fit estimates this parameter: neither frozen nor tied to another one."""
        return not self.frozen and self.tied_to is None

    @property
    def element_names(self) -> list[str]:
        """One name for each element: ``name``, or ``name[0]``, ``name[1]`` of a vector."""
        if self.size == 1:
            return [self.name]
        return [f"{self.name}[{','.join(map(str, i))}]" for i in np.ndindex(self.shape)]

    def apply_modifier(self, spec: Any) -> None:
        """Run the modifier on ``spec``, if there is one.

        Raises:
          ParameterError: the parameter was read from a file, which does not contain its modifier.
        """
        if self.modifier is not None:
            self.modifier(spec, self)
        elif self.modifier_lost:
            raise ParameterError(
                f"parameter {self.name!r} was saved with a Python modifier, which a file cannot "
                f"store: pass modifiers={{{self.name!r}: function}} to ParameterDict.load_from_disk"
            )

    def as_vector(self) -> np.ndarray:
        """Return the value as a new flat array."""
        return self.value.flatten()

    def as_nominal_vector(self) -> np.ndarray:
        """Return the nominal value as a new flat array."""
        return self.nominal.flatten()

    def update_from_vector(self, vector: ArrayLike) -> None:
        """Set the value from a flat array of ``size`` elements; bounds are not checked."""
        array = np.array(vector, dtype=float).reshape(-1)
        if array.size != self.size:
            raise ParameterError(
                f"parameter {self.name!r} has {self.size} elements, the vector has {array.size}"
            )
        self.value = array.reshape(self.shape)

    def get_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return flat copies of the lower and the upper bounds."""
        return self.min_value.flatten(), self.max_value.flatten()

    def reset(self) -> None:
        """Set the value to the nominal value."""
        self.value = self.nominal.copy()

    def sample(self, rng: np.random.Generator | None = None) -> np.ndarray:
        """Draw a flat value uniformly within the bounds (log-uniformly on a log scale).

        Raises:
          ParameterError: a bound is infinite.
        """
        lower, upper = self.get_bounds()
        if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            raise ParameterError(
                f"parameter {self.name!r} has an infinite bound: sampling requires finite bounds"
            )
        rng = np.random.default_rng() if rng is None else rng
        if self.scale == "log":
            return np.exp(rng.uniform(np.log(lower), np.log(upper)))
        return rng.uniform(lower, upper)

    def move_off_bound(self, fraction: float = 0.05, at_bound_tol: float = 1e-3) -> None:
        """Move elements that lie at a bound inwards by ``fraction`` of the range.

        An element counts as at a bound within ``at_bound_tol`` of the range. Elements without a
        finite range, or with an empty one, are not moved.
        """
        lower, upper = self.get_bounds()
        span = np.where(np.isfinite(upper - lower), upper - lower, 0.0)
        value = self.as_vector()
        at_lower = (span > 0) & (value - lower <= at_bound_tol * span)
        at_upper = (span > 0) & (upper - value <= at_bound_tol * span)
        value[at_lower] = (lower + fraction * span)[at_lower]
        value[at_upper] = (upper - fraction * span)[at_upper]
        self.update_from_vector(value)

    def __deepcopy__(self, memo: dict) -> "Parameter":
        # a modifier is a function, often with a model in its closure: shared, not copied
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        for key, item in self.__dict__.items():
            twin.__dict__[key] = item if key == "modifier" else copy.deepcopy(item, memo)
        return twin

    def __str__(self) -> str:
        flags = " frozen" if self.frozen else f" = {self.tied_to}" if self.tied_to else ""
        unit = f" {self.unit}" if self.unit else ""
        return (
            f"{self.name}: {_short(self.value)}{unit} in "
            f"[{_short(self.min_value)}, {_short(self.max_value)}]{flags}"
        )

    __repr__ = __str__


def _short(array: np.ndarray) -> str:
    if array.size == 1:
        return f"{array.item():.6g}"
    return np.array2string(array, precision=4, threshold=8)
