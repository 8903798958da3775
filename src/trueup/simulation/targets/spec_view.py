"""View of an ``MjSpec`` that accepts a single number where MuJoCo requires a polynomial.

Since joints have polynomial damping and stiffness, ``spec.joint("elbow").damping = 0.5`` is a
TypeError of the bindings: the attribute is three coefficients. The same is true of a mass set
to an array of one element. Modifiers for older versions do so, so they receive this view: it
forwards everything and only converts such assignments.
"""

from typing import Any

import numpy as np

from trueup.parameters import Parameter

_POLYNOMIALS = ("damping", "stiffness")


class SpecView:
    """Proxy of an ``MjSpec`` or one of its elements; ``isinstance`` gives the same for both.

    Elements accessed through a view are views too, and are unwrapped when passed to a method. A
    number assigned to ``damping`` or ``stiffness`` sets the linear coefficient and keeps the
    higher ones.

    Args:
      element: the ``MjSpec`` or element.
    """

    __slots__ = ("_element",)

    _element: Any

    def __init__(self, element: Any):
        object.__setattr__(self, "_element", element)

    @property
    def __class__(self):
        return type(self._element)

    def __getattr__(self, name: str) -> Any:
        return _viewed(getattr(self._element, name))

    def __setattr__(self, name: str, value: Any) -> None:
        element, value = self._element, plain(value)
        try:
            setattr(element, name, value)
        except TypeError:
            mended = _mended(name, getattr(element, name, None), value)
            if mended is None:
                raise
            setattr(element, name, mended)

    def __dir__(self) -> list[str]:
        return dir(self._element)

    def __eq__(self, other: object) -> bool:
        return self._element == plain(other)

    def __hash__(self) -> int:
        return hash(self._element)

    def __repr__(self) -> str:
        return repr(self._element)


def plain(value: Any) -> Any:
    """Return the object of a view, also within lists and tuples; other values unchanged."""
    if type(value) is SpecView:
        return value._element
    if type(value) in (list, tuple):
        return type(value)(plain(item) for item in value)
    return value


def apply_modifier(param: Parameter, spec: Any) -> None:
    """Run a parameter's custom modifier on a spec, with support for single numbers.

    Raises:
      ParameterError: the modifier is missing; see :meth:`Parameter.apply_modifier`.
    """
    param.apply_modifier(SpecView(plain(spec)))


def _viewed(value: Any) -> Any:
    kind = type(value)
    if kind.__module__ == "mujoco._specs" and kind.__name__.startswith(("Mjs", "MjSpec")):
        return SpecView(value)
    if kind in (list, tuple):
        return kind(_viewed(item) for item in value)
    if callable(value):
        return lambda *args, **named: _viewed(
            value(*map(plain, args), **{key: plain(item) for key, item in named.items()})
        )
    return value


def _mended(name: str, present: Any, value: Any) -> Any:
    """Return the intended assignment, or None."""
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "fiub":
        return None
    number = float(array.reshape(-1)[0])
    if isinstance(present, float):
        return number
    if name in _POLYNOMIALS and isinstance(present, np.ndarray):
        coefficients = np.array(present, float)
        coefficients.reshape(-1)[0] = number
        return coefficients
    return None
