"""Parts of a written module joined to one text."""

import ast
import inspect
import sys
from collections.abc import Iterable
from pathlib import Path

ERRORS = '''
class ParameterError(ValueError):
    """A file or a setting that has no meaning for this actuator."""


class SimulationError(RuntimeError):
    """The simulation lacks what the actuator needs."""
'''
"""Errors of written modules, in place of those of trueup."""


def joined_parts(files: Iterable[Path], more: Iterable[str] = ()) -> tuple[str, str]:
    """Imports of Python files that are not of trueup, and what follows them.

    What a part imports from trueup stands beside it in the module. A docstring of a part is left
    out.

    Args:
      files: the parts, in the order in which they need each other.
      more: further imports, a statement each.
    """
    statements = [ast.parse(line).body[0] for line in more]
    bodies = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        taken: set[int] = set()
        for number, node in enumerate(ast.parse(text).body):
            is_docstring = number == 0 and isinstance(node, ast.Expr)
            if is_docstring or isinstance(node, ast.Import | ast.ImportFrom):
                taken |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
                statements.append(node)
        kept = (line for i, line in enumerate(text.splitlines(), 1) if i not in taken)
        bodies.append("\n".join(kept).strip())
    return import_lines(statements), "\n\n\n".join(bodies)


def import_lines(statements: Iterable[ast.stmt]) -> str:
    """Imports of statements, each name once, without those of trueup.

    Args:
      statements: those that are no imports are left out.
    """
    modules: set[str] = set()
    names: dict[str, set[str]] = {}
    for node in statements:
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.setdefault(node.module, set()).update(ast.unparse(a) for a in node.names)
    lines = {name: [f"import {name}"] for name in modules}
    for module, taken in names.items():
        found = f"from {module} import {', '.join(sorted(taken))}"
        lines.setdefault(module, []).append(found)
    groups: dict[bool, list[str]] = {True: [], False: []}
    # imports of modules before those of names, the standard library first
    for module, found in sorted(lines.items()):
        package = module.split(".")[0]
        if package != "trueup":
            groups[package in sys.stdlib_module_names] += found
    return "\n\n".join("\n".join(sorted(g, key=_is_of_names)) for g in groups.values() if g)


def _is_of_names(line: str) -> bool:
    return line.startswith("from")


def source_of(item: object) -> str:
    """Text of a function or class of trueup, with its names as they stand there."""
    return inspect.getsource(item).strip()  # pyright: ignore[reportArgumentType]
