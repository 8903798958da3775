"""Compilation by numba with a disk cache that is safe for concurrent processes.

Numba's own cache is not sufficient. It numbers the files of a function's variants, so that two
processes that save at the same time may assign one number to two variants, and later load the wrong
one. It detects changes only in the file of the function, not in the compiled functions and
constants of other files that are part of the machine code. And cached machine code contains the
symbol names of the process that compiled it.
"""

import contextlib
import enum
import hashlib
import itertools
import os
import secrets
import types as python_types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numba
import numba.extending
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.types import Type


def _number_apart() -> None:
    """Start the numbering of functions at a process-specific offset.

    Numba starts at 1 in each process, and only the number distinguishes the symbol names of
    functions from one line of source, such as those of a factory. With duplicate names in machine
    code, the wrong function is called: the process crashes, or computes wrong values.
    """
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(60))


_number_apart()
if hasattr(os, "register_at_fork"):  # not on Windows, where processes do not fork
    os.register_at_fork(after_in_child=_number_apart)

intrinsic: Callable[..., Any] = numba.extending.intrinsic
"""Numba's decorator of code generators; the typing context is not an argument of a call."""

_COVERED = ("math", "numpy", "numba", "llvmlite", "builtins")
"""Packages identified by their version in the cache key, instead of their content."""


@intrinsic
def select(typingctx, condition, chosen, otherwise):
    """Return ``chosen`` if ``condition`` is true, else ``otherwise``; both are evaluated.

    Unlike an ``if`` it adds no branch, which would increase the compilation time.
    """

    def codegen(context, builder, signature, args):
        return builder.select(*args)

    return types.float64(types.boolean, types.float64, types.float64), codegen


def njit_on_disk(function: Callable[..., Any], signature: Any = None, **options: Any) -> Any:
    """Compile a function on its first call, once for all processes.

    If no cache folder is writable, or if not all inputs of the machine code can be read
    (:func:`source_digest`), each process compiles separately.

    Args:
      function: Python function.
      signature: the only signature, compiled immediately.
      options: options of ``numba.njit``.
    """
    dispatcher: Any = numba.njit(**options)(function)
    # RuntimeError, OSError: no writable folder, or the function has no file
    with contextlib.suppress(RuntimeError, OSError):
        dispatcher._cache = _Cache(dispatcher)
    if signature is not None:
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher


def source_digest(dispatcher: Any) -> str | None:
    """Digest of all inputs of the machine code of a function.

    Args:
      dispatcher: a numba function.

    Returns:
      Digest of its code and, recursively, of the constants and compiled functions that it uses;
      None if the content of one cannot be read.
    """
    try:
        content = "\n".join(_content(dispatcher, set()))
    except _UnreadableError:
        return None
    return hashlib.sha256(content.encode()).hexdigest()


class _UnreadableError(Exception):
    pass


class _CacheFile(IndexDataCacheFile):
    def save(self, key: Any, data: Any) -> None:
        overloads = self._load_index()
        # named by its key, so that no other variant can have the same name
        number = int(hashlib.sha256(repr(key).encode()).hexdigest()[:12], 16)
        overloads[key] = self._data_name(number)
        self._save_data(overloads[key], data)
        self._save_index(overloads)


def _content_stamp(function: python_types.FunctionType) -> str:
    """Digest of the file of a function; another one empties its index.

    Numba takes the time of the file, with which a cache would be void in each new checkout.
    """
    return hashlib.sha256(Path(function.__code__.co_filename).read_bytes()).hexdigest()


class _Cache(FunctionCache):
    def __init__(self, dispatcher: Any):
        super().__init__(dispatcher.py_func)
        self._dispatcher, self._digest = dispatcher, None
        self._cache_file = _CacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=_content_stamp(dispatcher.py_func),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # deferred until functions later in the file are defined
        if self._digest is None:
            self._digest = source_digest(self._dispatcher)
            if self._digest is None:
                self.disable()
        return super().load_overload(sig, target_context)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple(), self._digest


def _content(value: Any, seen: set[Any]) -> Iterator[str]:
    """Lines that change with the machine code generated from a value."""
    if isinstance(value, Dispatcher):
        yield from (f"{key} {_text(option)}" for key, option in sorted(value.targetoptions.items()))
        yield from _content_of_function(value.py_func, seen)
    elif isinstance(value, _Intrinsic):
        yield from _content_of_function(value._defn, seen)
    elif isinstance(value, python_types.FunctionType) and not _is_covered(value):
        # code generator of an intrinsic
        yield from _content_of_function(value, seen)
    elif _is_covered(value):
        yield f"{getattr(value, '__module__', '')} {value.__name__}"
    elif isinstance(value, enum.EnumMeta):
        yield repr([(member.name, member.value) for member in cast(type[enum.Enum], value)])
    elif isinstance(value, type):
        yield f"{value!r} {getattr(value, '_fields', '')!r}"
        yield from _content_of_class(value, seen)
    elif isinstance(value, dict):
        for key, element in value.items():
            yield repr(key)
            yield from _content(element, seen)
    elif isinstance(value, tuple | list):
        for element in value:
            yield from _content(element, seen)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    elif value is None or isinstance(value, int | float | complex | str | bytes | np.generic):
        yield repr(value)
    elif isinstance(value, Type | np.dtype | ir.Type):
        yield str(value)
    else:
        raise _UnreadableError


def _is_covered(value: Any) -> bool:
    if isinstance(value, python_types.ModuleType):
        return value.__name__.partition(".")[0] in _COVERED
    callable_ = isinstance(
        value, type | python_types.FunctionType | python_types.BuiltinFunctionType | np.ufunc
    )
    return callable_ and str(getattr(value, "__module__", "numpy")).partition(".")[0] in _COVERED


def _content_of_function(function: python_types.FunctionType, seen: set[Any]) -> Iterator[str]:
    if id(function) in seen:
        return
    seen.add(id(function))
    code = function.__code__
    yield from _content_of_code(code)
    for cell in function.__closure__ or ():
        yield from _content(cell.cell_contents, seen)
    yield from _content_of_names(function.__globals__, _names_of(code), seen)


def _content_of_class(value: type, seen: set[Any]) -> Iterator[str]:
    for name, member in vars(value).items():
        member = member.fget if isinstance(member, property) else member
        if isinstance(member, python_types.FunctionType) and id(member) not in seen:
            yield name
            yield from _content(member, seen)


def _content_of_names(place: dict[str, Any], names: set[str], seen: set[Any]) -> Iterator[str]:
    if (id(place), *sorted(names)) in seen:
        return
    seen.add((id(place), *sorted(names)))
    for name in sorted(names & place.keys()):
        value = place[name]
        yield name
        if isinstance(value, python_types.ModuleType) and not _is_covered(value):
            yield from _content_of_names(vars(value), names, seen)
        else:
            yield from _content(value, seen)


def _names_of(code: python_types.CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, python_types.CodeType))
    return set(code.co_names).union(*(_names_of(each) for each in inner))


def _content_of_code(code: python_types.CodeType) -> Iterator[str]:
    yield f"{code.co_name} {code.co_code.hex()} {code.co_names} {code.co_varnames}"
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            yield from _content_of_code(constant)
        else:
            yield _text(constant)


def _text(value: Any) -> str:
    # the order of a set differs between processes
    if isinstance(value, set | frozenset):
        return f"set {sorted(map(repr, value))}"
    return repr(value)
