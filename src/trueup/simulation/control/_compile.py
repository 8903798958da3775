"""Compilation of a law, with a disk cache where that is safe."""

from typing import Any

from numba.core.errors import NumbaError

from trueup.compilation import njit_on_disk
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
        arguments: the resolved arguments of the function.
        number: identity of the law.

    Raises:
        LawError: the function does not compile.
    """
    try:
        return compile_callback(
            njit_on_disk(function, error_model="numpy", boundscheck=checked),
            arguments.sources,
            arguments.inputs,
            arguments.outputs,
            number,
            arguments.declared,
        )
    except NumbaError as error:
        raise LawError(f"Control law {name!r} does not compile: {_reason(error)}") from error


def _reason(error: NumbaError) -> str:
    """Lines of numba's message that contain the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    skipped = ("Failed in nopython", "During:", "- ", "No implementation", "raised from", "Invalid")
    said = [line for line in lines if not line.startswith(skipped)]
    return " ".join(said[:8]) if said else str(error)
