"""Keyword arguments of :func:`trueup.sysid.optimize`, with the names of the toolbox and scipy."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TextIO

import numpy as np

from trueup.errors import FitError, did_you_mean, listing
from trueup.fitting import LeastSquaresSettings
from trueup.fitting.losses import loss_named

BACKENDS = ("mujoco", "scipy", "scipy_parallel_fd")

_COMMON = ("max_iters", "loss", "f_scale", "x_scale", "xtol", "gtol", "ftol")
_OPTIONS = {
    "mujoco": (
        *_COMMON,
        *("eps", "mu_min", "mu_max", "mu_factor", "norm"),
        *("iter_callback", "output", "trials", "time_limit"),
    ),
    "scipy": (*_COMMON, "diff_step", "max_nfev", "tr_solver", "tr_options"),
    "scipy_parallel_fd": (*_COMMON, "diff_step", "max_nfev", "tr_solver", "tr_options"),
}


class UnknownOptionError(FitError, TypeError):
    """A keyword argument that the selected backend does not support."""


@dataclass(frozen=True)
class Options:
    """Options of a backend."""

    settings: LeastSquaresSettings
    passed: dict[str, Any] = field(default_factory=dict)
    """Options passed to scipy unchanged."""
    iter_callback: Callable[[list[Any]], None] | None = None
    output: TextIO | None = None
    time_limit: float = np.inf


def read_options(optimizer: str, given: dict[str, Any], size: int) -> Options:
    """Check the keyword arguments of a backend and translate them.

    The regulariser of the ``mujoco`` backend is adapted in whole batches, so ``mu_min`` and
    ``mu_factor`` are accepted and checked but have no effect.

    Args:
      optimizer: name of the backend.
      given: keyword arguments.
      size: number of free elements.

    Raises:
      FitError: a backend that does not exist, or a value out of range.
      UnknownOptionError: an argument that the backend does not support.
    """
    if optimizer not in BACKENDS:
        raise FitError(
            f"unknown optimizer {optimizer!r}; available: {listing(BACKENDS)}."
            f"{did_you_mean(str(optimizer), BACKENDS)}"
        )
    known = _OPTIONS[optimizer]
    for name in given:
        if name not in known:
            elsewhere = [b for b in BACKENDS if name in _OPTIONS[b]]
            hint = f" It is an argument of the optimizer {elsewhere[0]!r}." if elsewhere else ""
            raise UnknownOptionError(
                f"the optimizer {optimizer!r} has no argument {name!r}; available: "
                f"{listing(known, 20)}.{did_you_mean(name, known)}{hint}"
            )
    for name in ("eps", "diff_step", "mu_min", "mu_max", "mu_factor", "f_scale", "time_limit"):
        if given.get(name) is not None and not np.all(np.asarray(given[name], float) > 0):
            raise FitError(f"{name} must be positive, found {given[name]}")
    loss_named(given.get("loss", "linear"))
    if optimizer == "mujoco":
        return _own(given, size)
    return _scipy(given, size)


def _own(given: dict[str, Any], size: int) -> Options:
    norm = given.get("norm")
    if norm is not None and type(norm).__name__ != "Quadratic":
        raise FitError(
            f"a norm of type {type(norm).__name__} is not supported: select a robust loss by name, "
            f"such as loss='soft_l1' with f_scale"
        )
    changed = _shared(given) | _given(
        given,
        {
            "xtol": "step_tolerance",
            "gtol": "gradient_tolerance",
            "ftol": "cost_tolerance",
            "eps": "difference",
            "mu_max": "mu_max",
            "trials": "trials",
        },
    )
    if "x_scale" in given:
        changed["scale"] = _scale(given["x_scale"], size)
    changed.setdefault("trials", max(2, min(os.cpu_count() or 1, 8)))
    return Options(
        LeastSquaresSettings(**changed),
        iter_callback=given.get("iter_callback"),
        output=given.get("output"),
        time_limit=given.get("time_limit", np.inf),
    )


def _scipy(given: dict[str, Any], size: int) -> Options:
    changed = _shared(given)
    if given.get("max_nfev") is not None:
        changed["max_iters"] = int(given["max_nfev"])
    if given.get("diff_step") is not None:
        changed["difference"] = float(np.min(given["diff_step"]))
    passed = {k: given[k] for k in ("xtol", "gtol", "ftol", "tr_solver") if k in given}
    if given.get("tr_options"):
        passed["tr_options"] = dict(given["tr_options"])
    if "x_scale" in given:
        scale = _scale(given["x_scale"], size)
        passed["x_scale"] = 1.0 if scale == "none" else scale
    return Options(LeastSquaresSettings(**changed), passed)


def _shared(given: dict[str, Any]) -> dict[str, Any]:
    return _given(given, {"max_iters": "max_iters", "loss": "loss", "f_scale": "loss_scale"})


def _given(given: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {ours: given[name] for name, ours in names.items() if given.get(name) is not None}


def _scale(x_scale: Any, size: int) -> str | tuple[float, ...]:
    if x_scale is None:
        return "none"
    if isinstance(x_scale, str):
        if x_scale != "jac":
            raise FitError(f"x_scale must be 'jac', None, a number or an array, found {x_scale!r}")
        return "jac"
    sizes = np.asarray(x_scale, float)
    if sizes.ndim > 1 or (sizes.ndim == 1 and sizes.size != size) or not (sizes > 0).all():
        raise FitError(
            f"x_scale must be one positive size for each of the {size} free elements, found "
            f"{x_scale}"
        )
    return tuple(np.broadcast_to(sizes, (size,)).tolist())
