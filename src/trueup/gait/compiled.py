"""Options of numba for the compiled functions of a walk."""

from collections.abc import Callable
from typing import Any

import numba

from trueup.compilation import njit_on_disk

OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
"""Without reference counting of arrays, which would take longer than the computation. Compiled
functions therefore cannot create arrays, and a Python caller must keep references to its
arguments."""


def compiled(function: Any) -> Any:
    """Compile a function for calls from compiled functions only.

    It has no Python wrapper, which would dominate the compilation time.
    """
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **OPTIONS}
    return numba.njit(**options)(function)


def compiled_once(function: Any) -> Callable[..., Any]:
    """Compile a function on its first call, cached on disk for all processes."""
    return njit_on_disk(function, nogil=True, **OPTIONS)


def entry_point(function: Any, *arguments: Any) -> Callable[..., Any]:
    """Entry point of a function of :func:`compiled_once` for one signature.

    A normal call begins with type dispatch, which for tuples of arrays takes ten times as long as
    passing them. The entry point has no type check: the caller must pass arrays of exactly these
    types and layouts, as others would be misread.
    """
    types = tuple(numba.typeof(argument) for argument in arguments)
    function.compile(types)
    return function.overloads[types].entry_point
