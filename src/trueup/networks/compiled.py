"""How the functions of networks are compiled by numba."""

from collections.abc import Callable
from typing import Any

from trueup.compilation import njit_on_disk


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function, once for all processes where numba's cache can be written."""

    def compile_(function: Callable[..., Any]) -> Any:
        return njit_on_disk(function, error_model="numpy", nogil=True, **options)

    return compile_
