"""Imports of the project, read from its files: circles, and private names in tests."""

import ast
from collections.abc import Iterator
from pathlib import Path

Graph = dict[str, set[str]]
"""Imported modules of each module, by dotted name."""


def module_name(path: Path, folder: Path) -> str:
    """Dotted name of a file below ``folder``; a package's name for its ``__init__.py``."""
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Module and name of each import in a file, those within functions and for types too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def import_graph(folder: Path) -> Graph:
    """Imports between the Python files below ``folder``."""
    files = {module_name(path, folder): path for path in sorted(folder.rglob("*.py"))}
    graph: Graph = {}
    for name, path in files.items():
        found = {
            full if (full := f"{module}.{imported}") in files else module
            for module, imported in imports(path)
        }
        graph[name] = found & set(files) - {name}
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """Groups of modules that reach each other by imports (Tarjan 1972), each sorted."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found = []

    def visit(name: str) -> None:
        number[name] = lowest[name] = len(number)
        path.append(name)
        for other in sorted(graph[name]):
            if other not in number:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in path:
                lowest[name] = min(lowest[name], number[other])
        if lowest[name] == number[name]:
            start = path.index(name)
            if len(path) > start + 1:
                found.append(sorted(path[start:]))
            del path[start:]

    for name in graph:
        if name not in number:
            visit(name)
    return found


def private_imports(path: Path) -> set[str]:
    """Private modules and names of trueup that a file imports."""
    return {
        f"{module}.{name}"
        for module, name in imports(path)
        if module.split(".")[0] == "trueup"
        and any(p.startswith("_") and not p.endswith("__") for p in (*module.split("."), name))
    }
