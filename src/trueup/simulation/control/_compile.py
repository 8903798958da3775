"""Compiling a law, with a cache on disk where that is safe."""

import ast
import inspect
import math
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from trueup import _symbols  # noqa: F401  before anything is compiled
from trueup.errors import LawError
from trueup.simulation.control._arguments import Arguments
from trueup.simulation.control._callback import Callback, compile_callback


def compile_law(
    name: str, function: Any, checked: bool, arguments: Arguments, number: tuple[int, int]
) -> Callback:
    """Compile the callback of a law; see :attr:`ControlLaw.callback`.

    Args:
        name: name of the law, for messages.
        function: its Python function.
        checked: whether every index is checked.
        arguments: what each argument of the function is.
        number: identity of the law.

    Raises:
        LawError: the function does not compile.
    """
    try:
        return compile_callback(
            _compiled(function, checked),
            arguments.sources,
            arguments.inputs,
            arguments.outputs,
            number,
            arguments.declared,
        )
    except NumbaError as error:
        raise LawError(f"Control law {name!r} does not compile: {_reason(error)}") from error


def _compiled(function: Any, checked: bool) -> Any:
    """The function under numba; cached beside its file, or in the user's folder if read-only."""
    options = {"error_model": "numpy", "boundscheck": checked}
    if is_cacheable(function):
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:
            # neither the folder of the file nor the user's own can be written
            return numba.njit(**options)(function)
    return numba.njit(**options)(function)


def is_cacheable(function: Any) -> bool:
    """Whether numba's cache on disk would notice each change of a function.

    The cache looks at the file of the function alone. A function that uses compiled functions or
    constants of another file would go on in its old form after a change there, so it is compiled in
    each process instead.
    """
    module = inspect.getmodule(function)
    if function.__closure__ or module is None:
        return False
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError):
        return False
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    imported = {alias.asname or alias.name for node in imports for alias in node.names}
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            if value not in (math, np):
                return False
        elif (name in imported and name in function.__globals__) or (
            isinstance(value, Dispatcher)
            and value.py_func is not function
            and not is_cacheable(value.py_func)
        ):
            return False
    return True


def _reason(error: NumbaError) -> str:
    """The lines of numba's message that say what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    skipped = ("Failed in nopython", "During:", "- ", "No implementation", "raised from", "Invalid")
    said = [line for line in lines if not line.startswith(skipped)]
    return " ".join(said[:8]) if said else str(error)
