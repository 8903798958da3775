"""Lazy import of the public names of a package on first use (PEP 562)."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from trueup._mujoco_files import check_mujoco


def lazy_exports(
    package: str, namespace: dict[str, Any], exports: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package that load its names on first use.

    Args:
      package: name of the package.
      namespace: its ``globals()``, which caches loaded names.
      exports: public name -> its module. A module of that name is exported itself if it is the
        package's own or does not define that name.
    """

    def load(name: str) -> Any:
        if name not in exports:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = importlib.import_module(exports[name])
        except AttributeError as error:  # otherwise "from package import name" hides the cause
            check_mujoco()
            raise ImportError(f"{exports[name]} does not load: {error}") from error
        except (ImportError, OSError):
            check_mujoco()  # mixed files of two versions cause various import errors
            raise
        own = exports[name] == f"{package}.{name}"
        is_module = own or (exports[name].endswith(f".{name}") and not hasattr(module, name))
        value = module if is_module else getattr(module, name)
        namespace[name] = value
        return value

    def names() -> list[str]:
        return sorted({*exports, *namespace.get("__all__", ())})

    return load, names
