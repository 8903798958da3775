"""Compilation of the functions of a walk."""

from collections.abc import Callable
from typing import Any

import numba

from trueup.compilation import njit_on_disk

OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
"""No counted references to arrays: counting them at each call costs more than the work itself. So
compiled functions cannot make arrays, and a caller from Python has to hold those that it passes."""


def compiled(function: Any) -> Any:
    """Compile a function that only other compiled functions call.

    It has no wrapper for Python, which would take longer to compile than the rest.
    """
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **OPTIONS}
    return numba.njit(**options)(function)


def compiled_once(function: Any) -> Callable[..., Any]:
    """Compile a function when it is first called, and keep it on disk for all processes."""
    return njit_on_disk(function, nogil=True, **OPTIONS)


def entry_point(function: Any, *arguments: Any) -> Callable[..., Any]:
    """Entry point of a function of :func:`compiled_once` for arguments of these types alone.

    Each call of the function itself begins with finding out the types of its arguments, which for
    tuples of arrays takes ten times as long as passing them. Here the caller answers for them:
    arrays of other types or layouts would be read as if they were of these.
    """
    types = tuple(numba.typeof(argument) for argument in arguments)
    function.compile(types)
    return function.overloads[types].entry_point
