"""Options of numba for the compiled functions of networks."""

from collections.abc import Callable
from typing import Any

from trueup.compilation import njit_on_disk


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function; cached for all processes where numba's cache is writable."""

    def compile_(function: Callable[..., Any]) -> Any:
        return njit_on_disk(function, error_model="numpy", nogil=True, **options)

    return compile_
