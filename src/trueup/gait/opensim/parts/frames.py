"""Frames of an OpenSim file by their paths."""

from collections.abc import Collection
from xml.etree.ElementTree import Element

import numpy as np

from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.opensim.model import GROUND, Frame
from trueup.gait.opensim.rotations import euler_xyz, pose
from trueup.gait.opensim.xml import named, numbers, objects, path_of

Path = tuple[str, ...]
"""Names from the model to a component."""

_SETS = ("BodySet", "JointSet", "ComponentSet", "components")
"""Sets whose members have frames."""

_FRAME = "PhysicalOffsetFrame"


def offset_pose(element: Element, place: str = "translation", turn: str = "orientation"):
    """Pose ``(4, 4)`` of a frame in its parent frame."""
    zero = (0.0, 0.0, 0.0)
    return pose(euler_xyz(numbers(element, turn, 3, zero)), numbers(element, place, 3, zero))


class Frames:
    """Frames of a model: those of its bodies, and those fixed in them.

    Args:
      model: element of the model.
      bodies: names of its bodies.
    """

    def __init__(self, model: Element, bodies: Collection[str]):
        self._bodies = bodies
        self._offsets: dict[Path, Element] = {}
        for ground in model.findall("Ground"):
            self._add(ground, (GROUND,))
        for group in _SETS:
            for owner in objects(model, group):
                first = () if group == "components" else (group.lower(),)
                self._add(owner, first if owner.tag == _FRAME else (*first, named(owner)))
                if owner.tag == _FRAME:
                    self._take(owner, first)

    def _add(self, element: Element, path: Path) -> None:
        for child in element:
            if child.tag == _FRAME:
                self._take(child, path)
            else:
                self._add(child, path)

    def _take(self, element: Element, path: Path) -> None:
        self._offsets[*path, named(element)] = element
        self._add(element, (*path, named(element)))

    def fixed(self, element: Element) -> Frame:
        """Frame of an element of the file that defines one."""
        path = next(path for path, one in self._offsets.items() if one is element)
        return self._resolved(path)

    def find(self, path: str, inside: Path = ()) -> Frame:
        """A frame by its path or name.

        Args:
          path: path from the model, or from the component that refers to it, or name.
          inside: names from the model to that component.

        Raises:
          GaitError: unknown frame, one of several of the same name, or one fixed to itself.
        """
        found = self._lookup(path, inside)
        return Frame(found, np.eye(4)) if isinstance(found, str) else self._resolved(found)

    def _resolved(self, path: Path) -> Frame:
        """Frame of an offset, in its body."""
        found, seen = np.eye(4), set()
        at: Path | str = path
        while not isinstance(at, str):
            if at in seen:
                raise GaitError(f"the frame {'/'.join(at)!r} is fixed to itself")
            seen.add(at)
            element = self._offsets[at]
            found = offset_pose(element) @ found
            at = self._lookup(path_of(element, "parent") or GROUND, at)
        return Frame(at, found)

    def _lookup(self, path: str, inside: Path) -> Path | str:
        """Path of an offset, or name of a body or the ground."""
        steps = [step for step in path.split("/") if step not in ("", ".")]
        resolved = [] if path.startswith("/") else list(inside)
        for step in steps:
            if step == "..":
                del resolved[-1:]
            else:
                resolved.append(step)
        if tuple(resolved) in self._offsets:
            return tuple(resolved)
        # paths of the first versions 4 count their steps up from elsewhere, so only the names count
        names = tuple(step for step in steps if step != "..") or tuple(resolved[-1:])
        ending = [one for one in self._offsets if one[-len(names) :] == names]
        if len(names) > 1 and len(ending) == 1:
            return ending[0]
        last = names[-1] if names else path
        if last in self._bodies or last == GROUND:
            return last
        if len(ending) > 1:
            paths = listing("/".join(("", *one)) for one in ending)
            raise GaitError(
                f"{len(ending)} frames have the name {path!r}: give its path, of {paths}"
            )
        if ending:
            return ending[0]
        known = [*self._bodies, GROUND]
        raise GaitError(
            f"unknown frame or body {last!r}; available: {listing(known)}."
            f"{did_you_mean(last, known)}"
        )
