"""Names of joints in the metadata of a file, such as ``joint_names`` of HDF5."""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from trueup.signals import Recording

_OF_JOINTS = ("joint", "dof", "motor")


@dataclass(frozen=True)
class StatedNames:
    """A list of names in the metadata of a recording."""

    key: str
    """Its key, such as ``joint_pos/joint_names``."""
    names: tuple[str, ...]

    @property
    def of_joints(self) -> bool:
        """Whether the key is for names of joints."""
        return any(word in self.key.lower() for word in _OF_JOINTS)


def stated_names(recording: Recording, known: Collection[str]) -> list[StatedNames]:
    """Lists of names in the metadata of a recording, those of joints first.

    Args:
      recording: the recording.
      known: names of the model's joints, to identify a list of joints under any key.
    """
    found = [
        StatedNames(key, names)
        for key, value in recording.metadata.items()
        for key, names in _lists(key, value)
        if "name" in key.lower()
        or any(word in key.lower() for word in _OF_JOINTS)
        or not set(names).isdisjoint(known)
    ]
    return sorted(
        found, key=lambda stated: (set(stated.names).isdisjoint(known), not stated.of_joints)
    )


def _lists(key: str, value: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Lists of strings in a value: a list, a separated string, or JSON."""
    if isinstance(value, list) and len(value) > 0 and all(isinstance(v, str) for v in value):
        yield key, tuple(value)
    elif isinstance(value, dict):
        for inner, part in value.items():
            yield from _lists(f"{key}/{inner}", part)
    elif isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            content = json.loads(value)
        except ValueError:
            return
        yield from _lists(key, content)
    elif isinstance(value, str) and len(parts := re.split(r"[,;\s]+", value.strip())) > 1:
        yield key, tuple(parts)
