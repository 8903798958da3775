# pyright: reportMissingImports=false
"""Functions of Warp from the text of functions compiled by numba, and structs from record types.

One text is compiled by both: numba runs it in double precision for one simulation after another,
Warp in single precision for all worlds at once. The text is translated where both languages differ:

- names of constants become numbers, members of enumerations included;
- functions of ``math`` and ``numpy`` become those of Warp;
- variables that begin with a number are declared, so that a loop may change them;
- an assignment to a slice becomes a loop, a test for a member of a tuple a comparison with each.

Warp does not convert between integers and floating-point numbers: the text does, by ``float(...)``
and ``int(...)``.
"""

import ast
import enum
import inspect
import linecache
import math
import textwrap
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from trueup.simulation.warp.devices import warp_modules

_MATH = {
    **{
        getattr(math, name): name for name in ("sin", "cos", "asin", "acos", "atan2", "sqrt", "exp")
    },
    math.isnan: "isnan",
    math.isfinite: "isfinite",
    math.floor: "floor",
    np.floor: "floor",
    np.minimum: "min",
    np.maximum: "max",
    np.sign: "sign",
    np.float64: "float32",
    np.int64: "int32",
    np.uint64: "uint64",
}
"""Function of the text -> name of Warp's."""

_FUNCTIONS: dict[Dispatcher, Any] = {}


def warp_function(compiled: Dispatcher) -> Any:
    """The Warp function of a function compiled by numba, with the functions that it calls.

    Raises:
      TypeError: the text uses a name that has no counterpart in Warp.
    """
    if compiled not in _FUNCTIONS:
        _FUNCTIONS[compiled] = _translated(compiled.py_func)
    return _FUNCTIONS[compiled]


def struct_of(name: str, dtype: np.dtype) -> Any:
    """A struct of Warp with the fields of a record type, in single precision."""
    wp, _ = warp_modules()
    assert dtype.fields is not None
    kinds = {field: _kind(entry[0]) for field, entry in dtype.fields.items()}
    return wp.struct(type(name, (), {"__annotations__": kinds, "__module__": __name__}))


def array_of(records: np.ndarray, struct: Any, device: str) -> Any:
    """Records ``(n,)`` as an array of a struct of :func:`struct_of`."""
    wp, _ = warp_modules()
    assert records.dtype.names is not None
    own: Any = np.zeros(records.shape, struct.numpy_dtype())
    for field in records.dtype.names:
        own[field] = records[field]
    return wp.array(own, dtype=struct, device=device)


def _kind(dtype: np.dtype) -> Any:
    """Type of a field: a scalar, a vector or a matrix."""
    wp, _ = warp_modules()
    base, shape = (dtype, ()) if dtype.subdtype is None else dtype.subdtype
    scalar = {"f": wp.float32, "i": wp.int32, "b": wp.bool, "u": wp.uint64}[base.kind]
    if not shape:
        return scalar
    return wp.types.vector(*shape, scalar) if len(shape) == 1 else wp.types.matrix(shape, scalar)


def _translated(function: Any) -> Any:
    wp, _ = warp_modules()
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    if ast.get_docstring(definition) is not None:
        del definition.body[0]
    scope: dict[str, Any] = {"wp": wp, "Any": Any, "__name__": function.__module__ + ".warp"}
    translation = _Translation(function, scope)
    definition = translation.visit(definition)
    for argument in definition.args.args:
        argument.annotation = _load("Any")
    text = ast.unparse(ast.fix_missing_locations(tree))
    # Warp reads the text of a function from its file, as tracebacks do
    file = f"<Warp: {function.__module__}.{function.__name__}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), scope)
    return wp.func(scope[function.__name__])


class _Translation(ast.NodeTransformer):
    """Translation of the text of a function.

    Args:
      function: the function.
      scope: names that its translation sees; functions that it calls are added.
    """

    def __init__(self, function: Any, scope: dict[str, Any]):
        self._globals = function.__globals__
        self._scope = scope
        self._own = set(function.__code__.co_varnames)
        self._count = 0

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._known(node) if isinstance(node.ctx, ast.Load) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        found = self._known(node)
        return self.generic_visit(node) if found is node else found  # type: ignore[return-value]

    def _known(self, node: ast.expr) -> ast.expr:
        """The constant or function of a global name; the node itself for others."""
        value = self._value(node)
        if value is None:
            return node
        if isinstance(value, Dispatcher):
            self._scope[value.py_func.__name__] = warp_function(value)
            return ast.Name(value.py_func.__name__, ast.Load())
        if isinstance(value, np.uint64):  # pyright: ignore[reportArgumentType]
            return _expression(f"wp.uint64({int(value)})")
        if isinstance(value, (bool, np.bool_)):
            return ast.Constant(bool(value))
        if isinstance(value, (enum.IntEnum, int, np.integer)):
            return _expression(str(int(value)))
        if isinstance(value, (float, np.floating)):
            special = {"inf": "wp.inf", "-inf": "-wp.inf", "nan": "wp.nan"}
            return _expression(special.get(str(float(value)), repr(float(value))))
        if isinstance(value, tuple):
            return node
        try:
            return _expression(f"wp.{_MATH[value]}")
        except (KeyError, TypeError):
            raise TypeError(f"{ast.unparse(node)} has no counterpart in Warp") from None

    def _value(self, node: ast.expr) -> Any:
        """Value of a dotted global name; None for what is none."""
        if isinstance(node, ast.Name):
            return None if node.id in self._own else self._globals.get(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Name, ast.Attribute)):
            owner = self._value(node.value)
            return None if owner is None else getattr(owner, node.attr)
        return None

    def visit_Assign(self, node: ast.Assign) -> Any:
        (target,) = node.targets
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
            return self._filled(target, node.value)
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            # all values are computed before the first is assigned
            names = [self._new() for _ in target.elts]
            pairs = [*zip(map(_store, names), node.value.elts, strict=True)]
            pairs += [*zip(target.elts, map(_load, names), strict=True)]
            return [self.visit(ast.Assign([t], v)) for t, v in pairs]
        node = self.generic_visit(node)  # type: ignore[assignment]
        if isinstance(target, ast.Name):
            node.value = _declared(node.value)
        return node

    def _filled(self, target: ast.Subscript, value: ast.expr) -> list[ast.stmt]:
        """A loop that assigns a value to the entries of a slice."""
        assert isinstance(target.slice, ast.Slice)
        array, place, filler = target.value, self._new(), self._new()
        lower = target.slice.lower or ast.Constant(0)
        upper = target.slice.upper or ast.Call(ast.Name("len", ast.Load()), [array], [])
        entry = ast.Subscript(array, _load(place), ast.Store())
        loop = ast.For(
            _store(place),
            ast.Call(ast.Name("range", ast.Load()), [lower, upper], []),
            [ast.Assign([entry], _load(filler))],
            [],
        )
        return [self.visit(ast.Assign([_store(filler)], value)), self.visit(loop)]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        if isinstance(node.target, ast.Subscript):
            # each world has its entries: no atomic operation is needed
            before = ast.Subscript(node.target.value, node.target.slice, ast.Load())
            sum_ = ast.BinOp(before, node.op, node.value)
            return self.visit(ast.Assign([node.target], sum_))
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if isinstance(node.ops[0], (ast.In, ast.NotIn)):
            is_in = isinstance(node.ops[0], ast.In)
            each, together = (ast.Eq, ast.Or) if is_in else (ast.NotEq, ast.And)
            members = self._members(node.comparators[0])
            tests = [ast.Compare(node.left, [each()], [ast.Constant(v)]) for v in members]
            return self.visit(ast.BoolOp(together(), tests))  # type: ignore[arg-type]
        if len(node.ops) > 1:
            sides = [node.left, *node.comparators]
            pairs = zip(sides, node.ops, sides[1:], strict=False)
            tests = [ast.Compare(left, [op], [right]) for left, op, right in pairs]
            return self.visit(ast.BoolOp(ast.And(), tests))  # type: ignore[arg-type]
        return self.generic_visit(node)  # type: ignore[return-value]

    def _members(self, node: ast.expr) -> tuple[Any, ...]:
        """Members of a tuple of numbers, written or named."""
        return ast.literal_eval(node) if isinstance(node, ast.Tuple) else self._value(node)

    def _new(self) -> str:
        self._count += 1
        self._own.add(name := f"_{self._count}")
        return name


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _declared(value: ast.expr) -> ast.expr:
    """A number as a variable of its type, which a loop may change."""
    text = ast.unparse(value)
    if text in ("wp.inf", "-wp.inf", "wp.nan"):
        return _expression(f"float({text})")
    number = value.operand if isinstance(value, ast.UnaryOp) else value
    if isinstance(number, ast.Constant) and type(number.value) in (int, float):
        return _expression(f"{type(number.value).__name__}({text})")
    return value
