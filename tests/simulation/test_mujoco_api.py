"""Names of MuJoCo that trueup uses, and that the installed version has them all.

For a new version of MuJoCo, ``python tests/simulation/test_mujoco_api.py`` prints each name with
the files that use it. The layout of its structs stands in one file,
``simulation/control/_offsets.py``, which checks itself against memory.
"""

import ast
import importlib
import importlib.util
from collections import defaultdict
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "trueup"


def dotted(node: ast.AST) -> str:
    """``mujoco.mjtObj.mjOBJ_BODY`` of an attribute; empty where it starts at something else."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def used_names() -> dict[str, set[str]]:
    """Name -> files that use it: attributes of the module, and what is imported from it."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "mujoco" not in text:
            continue
        tree = ast.parse(text)
        file = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and dotted(node).startswith("mujoco."):
                found[dotted(node)].add(file)
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "mujoco":
                for alias in node.names:
                    found[f"{node.module}.{alias.name}"].add(file)
    return found


USED = used_names()


def exists(name: str) -> bool:
    """Whether an attribute, or a submodule of that name, is there."""
    module, *rest = name.split(".")
    value = importlib.import_module(module)
    for piece in rest:
        module = f"{module}.{piece}"
        if not hasattr(value, piece):
            try:
                if importlib.util.find_spec(module) is None:
                    return False
                value = importlib.import_module(module)
            except ModuleNotFoundError:  # the parent is no package
                return False
            except (ImportError, AttributeError):  # a backend whose library is not installed
                return True
        else:
            value = getattr(value, piece)
    return True


@pytest.mark.parametrize("name", sorted(USED))
def test_name_exists_in_the_installed_mujoco(name):
    assert exists(name), f"used by {sorted(USED[name])}"


def test_a_name_that_does_not_exist_is_found():
    assert len(USED) > 100 and "mujoco.mj_setState" in USED
    assert not exists("mujoco.mj_no_such_function")
    assert not exists("mujoco.mjtObj.mjOBJ_NOTHING")
    assert not exists("mujoco.batch.NoSuchClass")


if __name__ == "__main__":
    for name, files in sorted(USED.items()):
        print(f"{name:<55} {', '.join(sorted(files))}")
