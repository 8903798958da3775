"""Commands that are imported when they are asked for."""

import importlib
from collections.abc import Iterator, Mapping


class LazyCommands(Mapping[str, type]):
    """Classes of the commands by name.

    A class is imported when it is asked for: one command starts without the settings of all others.

    Args:
      modules: module of each command.
    """

    def __init__(self, modules: Mapping[str, str]):
        self.modules = modules

    def __getitem__(self, name: str) -> type:
        found = getattr(importlib.import_module(self.modules[name]), name.capitalize())
        assert isinstance(found, type)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.modules)

    def __len__(self) -> int:
        return len(self.modules)

    def __contains__(self, name: object) -> bool:
        return name in self.modules
