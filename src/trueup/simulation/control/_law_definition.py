"""Definition of a control law: its function, and what it reads, keeps and writes."""

import functools
import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trueup.errors import LawError, listing
from trueup.simulation.control import _userdata as u

Shape = int | str | tuple[int | str, ...]


class LawDefinition:
    """Function of a control law, with the declaration of its gains, state and outputs.

    Attributes:
        name: name of the function.
        function: the Python function, to call it without MuJoCo.
        gains: extents of each gain.
        state: extents of each array of controller state.
        writes: fields that the law writes.
        failures: what the law's own failure codes mean.
        checked: the compiled law checks every index.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        gains: Mapping[str, Shape] | Sequence[str],
        state: Mapping[str, Shape] | Sequence[str],
        writes: Sequence[str],
        failures: Mapping[int, str] | None,
        checked: bool,
    ):
        self.function = function
        self.name = function.__name__
        self.gains = _extents(self.name, "gain", gains)
        self.state = _extents(self.name, "state", state)
        self.writes = (writes,) if isinstance(writes, str) else tuple(writes)
        self.failures = dict(failures or {})
        self.checked = checked
        functools.update_wrapper(self, function)
        wrong = [code for code in self.failures if not isinstance(code, int) or code <= 0]
        if wrong:
            raise LawError(
                f"Control law {self.name!r}: failure codes {listing(map(str, wrong))} are not "
                "positive whole numbers"
            )
        if not self.writes:
            raise LawError(f"Control law {self.name!r} writes nothing: name a field in writes")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the Python function itself."""
        return self.function(*args, **kwargs)

    @functools.cached_property
    def arguments(self):
        """What each argument of the law is.

        Raises:
            LawError: an argument names nothing that a law can read or write.
        """
        from trueup.simulation.control._arguments import resolve_arguments

        names = list(inspect.signature(self.function).parameters)
        return resolve_arguments(self.name, names, self.gains, self.state, self.writes)

    @functools.cached_property
    def number(self) -> tuple[int, int]:
        """Identity of the law's layout: two numbers below 1e6."""
        text = repr((u.PLAN_VERSION, self.name, self.arguments.declared))
        digest = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        return digest % 999_983, digest // 999_983 % 999_979

    @functools.cached_property
    def callback(self):
        """The compiled C callback, a ``numba.cfunc``; compiled on first use.

        Raises:
            LawError: the function does not compile.
        """
        from trueup.simulation.control._compile import compile_law

        return compile_law(self.name, self.function, self.checked, self.arguments, self.number)


def _extents(
    law: str, what: str, declared: Mapping[str, Shape] | Sequence[str]
) -> dict[str, tuple[u.Extent, ...]]:
    if not isinstance(declared, Mapping):
        names = (declared,) if isinstance(declared, str) else declared
        declared = dict.fromkeys(names, 1)
    extents = {}
    for name, shape in declared.items():
        sizes = shape if isinstance(shape, tuple) else (shape,)
        wrong = [
            size
            for size in sizes
            if size not in u.GROUPS
            and not (isinstance(size, int) and not isinstance(size, bool) and size > 0)
        ]
        if wrong or not sizes:
            raise LawError(
                f"Control law {law!r}: {what} {name!r} has shape {shape!r}; a shape is made of "
                f"positive whole numbers and of {listing(u.GROUPS)}"
            )
        if not name.isidentifier() or name.startswith("_") or "__" in name:
            raise LawError(
                f"Control law {law!r}: {name!r} cannot name a {what}; use a Python name without "
                "a leading and without a double underscore"
            )
        extents[name] = sizes
    return extents
