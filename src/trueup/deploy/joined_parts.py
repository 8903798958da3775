"""Concatenation of the parts of a generated module."""

import ast
import inspect
import sys
from collections.abc import Iterable
from pathlib import Path

ERRORS = '''
class ParameterError(ValueError):
    """A file or setting that is invalid for this actuator."""


class SimulationError(RuntimeError):
    """The simulation lacks something that the actuator requires."""
'''
"""Errors of generated modules, which replace those of trueup."""


def joined_parts(files: Iterable[Path], more: Iterable[str] = ()) -> tuple[str, str]:
    """Imports of Python files except those of trueup, and the code after them.

    Imports of a part from trueup are part of the module itself. The docstring of a part is
    omitted.

    Args:
      files: the parts, in order of dependency.
      more: additional imports, one statement each.
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
    """Import lines of statements, without duplicates and imports of trueup.

    Args:
      statements: statements; those other than imports are skipped.
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
    # imports of modules before imports of names, standard library first
    for module, found in sorted(lines.items()):
        package = module.split(".")[0]
        if package != "trueup":
            groups[package in sys.stdlib_module_names] += found
    return "\n\n".join("\n".join(sorted(g, key=_is_of_names)) for g in groups.values() if g)


def _is_of_names(line: str) -> bool:
    return line.startswith("from")


def source_of(item: object) -> str:
    """Source of a function or class of trueup, with its names unchanged."""
    return inspect.getsource(item).strip()  # pyright: ignore[reportArgumentType]
