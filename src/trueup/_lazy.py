"""Public names of a package, imported on first use (PEP 562), so that importing it stays light."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from trueup._mujoco_files import check_mujoco


def lazy_exports(
    package: str, namespace: dict[str, Any], exports: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package whose names are loaded when used.

    Args:
      package: name of the package.
      namespace: its ``globals()``, where a name is kept once it is loaded.
      exports: public name -> module that holds it. A module of that name is exported itself
        where it is the package's own or holds no such name.
    """

    def load(name: str) -> Any:
        if name not in exports:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = importlib.import_module(exports[name])
        except AttributeError as error:  # else "from package import name" says nothing of it
            check_mujoco()
            raise ImportError(f"{exports[name]} does not load: {error}") from error
        except (ImportError, OSError):
            check_mujoco()  # mixed files of two versions fail in many ways
            raise
        own = exports[name] == f"{package}.{name}"
        is_module = own or (exports[name].endswith(f".{name}") and not hasattr(module, name))
        value = module if is_module else getattr(module, name)
        namespace[name] = value
        return value

    def names() -> list[str]:
        return sorted({*exports, *namespace.get("__all__", ())})

    return load, names
