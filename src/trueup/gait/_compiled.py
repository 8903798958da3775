"""Compilation of the functions of a walk."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba

from trueup import _symbols  # noqa: F401  before anything is compiled

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
    """Compile a function when it is first called, and keep it on disk for all processes.

    Numba's cache looks at the file and the closure of a function: have a digest of all sources
    (:func:`digest`) in the closure, so that a change in any of them compiles anew.
    """
    try:
        return numba.njit(cache=True, nogil=True, **OPTIONS)(function)
    except RuntimeError:
        # numba found no folder for its cache that can be written
        return numba.njit(nogil=True, **OPTIONS)(function)


def entry_point(function: Any, *arguments: Any) -> Callable[..., Any]:
    """Entry point of a function of :func:`compiled_once` for arguments of these types alone.

    Each call of the function itself begins with finding out the types of its arguments, which for
    tuples of arrays takes ten times as long as passing them. Here the caller answers for them:
    arrays of other types or layouts would be read as if they were of these.
    """
    types = tuple(numba.typeof(argument) for argument in arguments)
    function.compile(types)
    return function.overloads[types].entry_point


def digest(file: str, *modules: ModuleType) -> str:
    """Digest of the sources of a file and of the modules that it is compiled with."""
    files = [Path(__file__), Path(file), *(Path(str(module.__file__)) for module in modules)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
