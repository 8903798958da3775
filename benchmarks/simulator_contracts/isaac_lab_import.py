"""Import of Isaac Lab's actuator classes without Isaac Sim: stand-ins for what they do not use."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ABSENT = ("omni", "carb", "isaacsim", "pxr", "usdrt", "hidapi", "pyglet", "flatdict")


class _AnyClass(type):
    """A class whose every attribute is such a class."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _AnyClass(name, (_Anything,), {})


class _Anything(metaclass=_AnyClass):
    """Takes any arguments, has every attribute, and can be called."""

    def __init__(self, *args: Any, **settings: Any):
        pass

    def __call__(self, *args: Any, **settings: Any) -> "_Anything":
        return _Anything()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()


class _StandIn(ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _AnyClass(name, (_Anything,), {})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Answer for the absent packages."""
        if fullname.partition(".")[0] not in ABSENT:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        """An empty module that has every name."""
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


def prepare() -> None:
    """Make ``import isaaclab.actuators`` work."""
    spec = importlib.util.find_spec("isaaclab")
    if spec is None or spec.submodule_search_locations is None:
        raise SystemExit("isaaclab is not installed: run benchmarks/simulator_contracts/run.py")
    source = Path(next(iter(spec.submodule_search_locations))) / "source" / "isaaclab"
    sys.path.insert(0, str(source))
    sys.meta_path.insert(0, _Finder())
