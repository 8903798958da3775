"""How the functions of networks are compiled by numba."""

from collections.abc import Callable
from typing import Any

import numba

from trueup import _symbols  # noqa: F401  before anything is compiled


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function, once for all processes where numba's cache can be written."""

    def compile_(function: Callable[..., Any]) -> Any:
        settings = {"error_model": "numpy", "nogil": True, **options}
        try:
            return numba.njit(cache=True, **settings)(function)
        except RuntimeError:
            # numba found no folder for its cache that can be written
            return numba.njit(**settings)(function)

    return compile_
