"""URDF files as exporters write them: templates of xacro, and meshes that are not there."""

import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from trueup.errors import ModelError, listing
from trueup.simulation.models.sources import first_file

_MESHES = (".stl", ".obj", ".msh")
"""Formats of meshes that MuJoCo reads."""


@dataclass(frozen=True)
class ReadableUrdf:
    """A URDF that MuJoCo reads without its packages."""

    text: str
    notes: tuple[str, ...]
    """Sentences on what was left out."""


def readable_urdf(path: Path) -> ReadableUrdf | None:
    """A URDF with the places of its meshes, and without those that are absent.

    Args:
      path: the file.

    Returns:
      None for a file that is no URDF, or that MuJoCo reads as it is.

    Raises:
      ModelError: the file is a template of xacro.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None  # the reader of the model says why
    if re.search(r"<robot\b", text) is None:
        return None
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        root = None
    _check_xacro(path, text, root)
    if root is None or root.tag != "robot":
        return None
    absent: list[str] = []
    unread: list[str] = []
    moved = False
    for link in root.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            mesh = shape.find("geometry/mesh")
            name = "" if mesh is None else mesh.get("filename", "")
            if mesh is None or not name:
                continue
            file = first_file(name, [path.parent])
            if file is None or file.suffix.lower() not in _MESHES:
                (absent if file is None else unread).append(name)
                link.remove(shape)
            elif not (path.parent / name).is_file():
                mesh.set("filename", str(file.resolve()))
                moved = True
    if not (absent or unread or moved):
        return None
    notes = [
        f"{path.name} is read without the meshes {listing(dict.fromkeys(names))}, which {why}: "
        "links move as their inertias say, and do not touch there."
        for names, why in (
            (absent, "are absent"),
            (unread, f"MuJoCo does not read (formats: {', '.join(_MESHES)})"),
        )
        if names
    ]
    return ReadableUrdf(ElementTree.tostring(root, encoding="unicode"), tuple(notes))


def _check_xacro(path: Path, text: str, root: ElementTree.Element | None) -> None:
    """Raise ModelError for a template that xacro has not yet expanded."""
    elements = [] if root is None else list(root.iter())
    template = (
        re.search(r"<xacro:", text) is not None
        if root is None
        else any("ros.org/wiki/xacro" in e.tag or "/xacro}" in e.tag for e in elements)
        or any(re.search(r"\$[{(]", value) for e in elements for value in e.attrib.values())
    )
    if template:
        name = path.name.removesuffix(".xacro")
        target = name if name != path.name else f"{path.stem}.expanded.urdf"
        target = target if Path(target).suffix else f"{target}.urdf"
        raise ModelError(
            f"{path.name} is a xacro, the template of a URDF: expand it with  "
            f"xacro {path.name} > {target}  (ROS 2: ros2 run xacro xacro {path.name} -o {target}) "
            f"and give {target}"
        )
