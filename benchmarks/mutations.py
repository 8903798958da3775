"""Small changes of Python source, one at a time, found in its syntax tree.

Changes replace a piece of the text and leave everything else as it stands, comments and lines too.
Docstrings, annotations, decorators, messages of errors and assertions are not changed.
"""

import ast
import difflib
from dataclasses import dataclass

SIMILAR = 3
"""Other names that a name is exchanged with, the most similar ones."""

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_OTHER_OPERATOR = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
_COMPARISONS = {
    ast.Lt: ("<", ">"), ast.Gt: (">", "<"), ast.LtE: ("<=", ">="), ast.GtE: (">=", "<="),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="),
}  # fmt: skip
_FUNCTIONS = {
    "min": "max", "max": "min", "sin": "cos", "cos": "sin", "minimum": "maximum",
    "maximum": "minimum", "floor": "ceil", "ceil": "floor",
}  # fmt: skip
_MAGNITUDES = ("abs", "fabs", "absolute")
_WITHOUT = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Mutation:
    """A change of one piece of a source file."""

    file: str
    """Path relative to the project."""
    function: str
    """Qualified name of the function; empty at the head of a module."""
    line: int
    """Line of the piece, from 1."""
    start: int
    """First byte of the piece."""
    end: int
    """Byte after it."""
    replacement: str
    """Text that takes its place."""
    change: str
    """The change in words."""
    before: str
    """Lines with the piece, in one line."""
    after: str
    """The same lines, changed."""

    def applied(self, source: str) -> str:
        """The source with the change."""
        data = source.encode()
        return (data[: self.start] + self.replacement.encode() + data[self.end :]).decode()

    def to_dict(self) -> dict[str, str]:
        """What names the mutation wherever its line stands."""
        return {"file": self.file, "function": self.function, "before": self.before,
                "after": self.after}  # fmt: skip


def mutations_of(source: str, file: str, function: str | None = None) -> list[Mutation]:
    """All changes of a file, or of a function in it, each once.

    Args:
      source: text of the file.
      file: its path, which the mutations carry.
      function: qualified name of a function, a method or a class.
    """
    found = _Finder(source, file)
    found.visit(ast.parse(source))
    kept: dict[tuple[int, int, str], Mutation] = {}
    for mutation in found.mutations:
        if function and not (mutation.function + ".").startswith(function + "."):
            continue
        try:
            ast.parse(mutation.applied(source))
        except SyntaxError:
            continue
        kept.setdefault((mutation.start, mutation.end, mutation.replacement), mutation)
    return sorted(kept.values(), key=lambda m: (m.start, m.end, m.replacement))


class _Scope:
    """Names, attributes and keys of one function, with their use."""

    def __init__(self, node: ast.AST, parents: dict[ast.AST, ast.AST]):
        self.first: dict[str, int] = {}
        self.roles: dict[tuple[str, str], set[str]] = {}
        for each in ast.walk(node):
            if isinstance(each, ast.arg):
                self.first.setdefault(each.arg, -1)
            elif isinstance(each, ast.Name):
                if isinstance(each.ctx, ast.Store):
                    line = self.first.get(each.id, each.lineno)
                    self.first[each.id] = min(line, each.lineno)
                else:
                    self.note("name", _role(each, parents), each.id)
            elif isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load):
                base = ast.unparse(each.value)
                self.note(f"attribute of {base}", _role(each, parents), each.attr)
            elif _is_key(each, parents):
                self.note(f"key of {_base(each, parents)}", "plain", each.value)  # type: ignore

    def note(self, kind: str, role: str, name: str) -> None:
        """Record a use of a name."""
        self.roles.setdefault((kind, role), set()).add(name)

    def others(self, kind: str, role: str, name: str, line: int) -> list[str]:
        """The names most similar to one among those of its kind that exist on a line."""
        found = self.roles.get((kind, role), set()) - {name}
        if kind == "name":
            found = {
                n for n in found
                if n.isupper() == name.isupper() and self.first.get(n, -1) < line
                and (n in self.first) == (name in self.first)
            }  # fmt: skip
        alike = sorted(found, key=lambda n: (-_likeness(n, name), n))
        return alike[:SIMILAR]


class _Finder(ast.NodeVisitor):
    """Collects the changes of a file."""

    def __init__(self, source: str, file: str):
        self.file, self.lines = file, source.encode().splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.data = source.encode()
        self.mutations: list[Mutation] = []
        self.names: list[str] = []
        self.scopes: list[_Scope] = []
        self.parents: dict[ast.AST, ast.AST] = {}

    def visit_Module(self, node: ast.Module) -> None:
        for each in ast.walk(node):
            for child in ast.iter_child_nodes(each):
                self.parents[child] = each
        self.scopes.append(_Scope(node, self.parents))
        self._body(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.names.append(node.name)
        self.scopes.append(_Scope(node, self.parents))
        self._body(node)
        self.scopes.pop()
        self.names.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.names.append(node.name)
        self._body(node)
        self.names.pop()

    def _body(self, node: ast.Module | ast.FunctionDef | ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, _WITHOUT):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        super().visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        role = _role(node, self.parents)
        if not isinstance(node.ctx, ast.Load) or role == "called":
            return
        for other in self.scopes[-1].others("name", role, node.id, node.lineno):
            self._replace(node, other, f"{node.id} -> {other}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        base, role = ast.unparse(node.value), _role(node, self.parents)
        if isinstance(node.ctx, ast.Load) and role != "called":
            kind = f"attribute of {base}"
            for other in self.scopes[-1].others(kind, role, node.attr, node.lineno):
                self._replace(node, f"{base}.{other}", f"{node.attr} -> {other}")
        if not isinstance(node.value, ast.Name):
            self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if _is_key(node, self.parents):
            kind = f"key of {_base(node, self.parents)}"
            for other in self.scopes[-1].others(kind, "plain", str(value), node.lineno):
                self._replace(node, repr(other), f"{value!r} -> {other!r}")
        elif isinstance(value, bool):
            self._replace(node, repr(not value), f"{value} -> {not value}")
        elif isinstance(value, int):
            for other in (value + 1, value - 1):
                if other >= 0:
                    self._replace(node, repr(other), f"{value} -> {other}")
        elif isinstance(value, float):
            other = 2.0 * value if value else 1.0
            self._replace(node, repr(other), f"{value} -> {other}")

    def visit_BinOp(self, node: ast.BinOp) -> None:
        kind = type(node.op)
        if kind in _OPERATORS:
            new = _OTHER_OPERATOR[kind]
            self._operator(node.left, node.right, _OPERATORS[kind], new)
        if kind in (ast.Sub, ast.Div):
            left, right = self._text(node.left), self._text(node.right)
            swapped = f"({right}) {_OPERATORS[kind]} ({left})"
            self._replace(node, f"({swapped})", f"operands of {_OPERATORS[kind]} exchanged")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        kind = type(node.op)
        if kind in _OPERATORS:
            old, new = _OPERATORS[kind] + "=", _OTHER_OPERATOR[kind] + "="
            self._operator(node.target, node.value, old, new)
            self._replace(node, "pass", "statement left out")
        self.visit(node.value)
        if isinstance(node.target, ast.Subscript):
            self.visit(node.target.slice)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub | ast.Not):
            what = "-" if isinstance(node.op, ast.USub) else "not"
            self._replace(node, f"({self._text(node.operand)})", f"{what} left out")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            if type(operator) in _COMPARISONS:
                self._operator(left, right, *_COMPARISONS[type(operator)])
            left = right
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self._operator(node.values[0], node.values[1], old, new)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        test, yes, no = (self._text(n) for n in (node.test, node.body, node.orelse))
        self._replace(node, f"({no} if {test} else {yes})", "branches exchanged")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = ast.unparse(node.func).rpartition(".")[2]
        if name in _FUNCTIONS:
            base = ast.unparse(node.func)[: -len(name)]
            self._replace(node.func, base + _FUNCTIONS[name], f"{name} -> {_FUNCTIONS[name]}")
        if name in _MAGNITUDES and len(node.args) == 1:
            self._replace(node, f"({self._text(node.args[0])})", f"{name} left out")
        for first, second in zip(node.args, node.args[1:], strict=False):
            if name in (*_FUNCTIONS, "zip") or isinstance(first, ast.Starred | ast.Constant):
                continue
            if isinstance(second, ast.Starred | ast.Constant):
                continue
            one, other = self._text(first), self._text(second)
            start, end = self._span(first)[0], self._span(second)[1]
            between = self.data[self._span(first)[1] : self._span(second)[0]].decode()
            self._add(start, end, other + between + one, f"arguments {one}, {other} exchanged")
        self.generic_visit(node)

    def _operator(self, left: ast.AST, right: ast.AST, old: str, new: str) -> None:
        """Change the operator between two expressions."""
        start, end = self._span(left)[1], self._span(right)[0]
        between = self.data[start:end].decode()
        place = between.find(old)
        if place < 0 or between.count(old) > 1:
            return
        self._add(start + place, start + place + len(old), new, f"{old} -> {new}")

    def _replace(self, node: ast.AST, text: str, change: str) -> None:
        self._add(*self._span(node), text, change)

    def _add(self, start: int, end: int, text: str, change: str) -> None:
        first = max(i for i, at in enumerate(self.starts) if at <= start)
        last = max(i for i, at in enumerate(self.starts) if at < end)
        low, high = self.starts[first], self.starts[last + 1]
        before = self.data[low:high].decode()
        after = (self.data[low:start] + text.encode() + self.data[end:high]).decode()
        before, after = (" ".join(t.split()) for t in (before, after))
        if before != after:
            name = ".".join(self.names)
            self.mutations.append(
                Mutation(self.file, name, first + 1, start, end, text, change, before, after)
            )

    def _span(self, node: ast.AST) -> tuple[int, int]:
        start = self.starts[node.lineno - 1] + node.col_offset  # type: ignore
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore

    def _text(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self.data[start:end].decode()


def _role(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    """How a name is used: called, indexed, as an index, a base of attributes, or plainly."""
    parent = parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return "called"
    if isinstance(parent, ast.Subscript):
        return "indexed" if parent.value is node else "index"
    if isinstance(parent, ast.Attribute):
        return "base"
    if isinstance(parent, ast.Starred):
        return "starred"
    return "plain"


def _is_key(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a text is the key of a mapping that is read."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return False
    parent = parents.get(node)
    if isinstance(parent, ast.Subscript):
        return parent.slice is node
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
        return parent.func.attr == "get" and parent.args[:1] == [node]
    return False


def _base(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    parent = parents[node]
    if isinstance(parent, ast.Subscript):
        return ast.unparse(parent.value)
    return ast.unparse(parent.func.value)  # type: ignore


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()
