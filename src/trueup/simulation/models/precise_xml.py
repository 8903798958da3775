"""MJCF text in full precision: MuJoCo's writer rounds numbers to six digits.

``MjSpec.to_xml`` writes an identified armature of 0.123456789 as 0.123457. In a second pass each
number of the text that is the rounding of a value of its element is replaced by that value. Custom
numerics, which contain the gains of compiled laws, are rewritten: MuJoCo 4.0.1 writes 0 for a
number that is 1e11 times smaller than the largest of its list. Defaults and elements without a name
keep MuJoCo's rounding: they contain no identified values.
"""

import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np

_SECTIONS = {"actuator": "actuator", "tendon": "tendon", "equality": "equality", "sensor": "sensor"}
_TAGS = {"joint": "joint", "body": "body", "geom": "geom", "site": "site", "pair": "pair"}


def precise_xml(spec: Any, folder: str | Path | None = None) -> str:
    """MJCF text of a compiled ``MjSpec`` in full precision.

    Args:
      spec: the spec, after ``compile()``.
      folder: folder of the text file, to which paths of meshes and textures are relative.
    """
    root = ElementTree.fromstring(spec.to_xml())
    if folder is not None and any(e.file for e in (*spec.meshes, *spec.hfields, *spec.textures)):
        _point_assets(root, spec, Path(folder).resolve())
    for element in root.iter("option"):
        _refine(element, _numbers(spec.option))
    for section, kind in _SECTIONS.items():
        for parent in root.findall(section):
            for element in parent:
                _refine_named(spec, kind, element)
    for tag, kind in _TAGS.items():
        for element in root.iter(tag):
            _refine_named(spec, kind, element)
    for element in root.iter("numeric"):
        found = spec.numeric(element.get("name", ""))
        if found is not None and len(found.data):
            element.set("data", " ".join(repr(float(number)) for number in found.data))
    ElementTree.indent(root, "  ")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _point_assets(root: ElementTree.Element, spec: Any, folder: Path) -> None:
    """Make the folders of assets relative to ``folder``."""
    compiler = root.find("compiler")
    if compiler is None:
        compiler = ElementTree.SubElement(root, "compiler")
    origin = Path(spec.modelfiledir or ".").resolve()
    compiler.set("meshdir", os.path.relpath(origin / spec.meshdir, folder))
    compiler.set("texturedir", os.path.relpath(origin / spec.texturedir, folder))


def _refine_named(spec: Any, kind: str, element: ElementTree.Element) -> None:
    name = element.get("name")
    found = getattr(spec, kind)(name) if name else None
    if found is None:
        return
    numbers = _numbers(found)
    _refine(element, numbers)
    for inertial in element.findall("inertial"):
        _refine(inertial, numbers)


def _numbers(element: Any) -> dict[str, float]:
    """Values of an element by their rounded text, angles in both units."""
    values: dict[str, float] = {}
    for attribute in dir(element):
        if attribute.startswith("_"):
            continue
        value = getattr(element, attribute, None)
        if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
            for number in np.ravel(value):
                for unit in (number, -number, np.deg2rad(number), np.rad2deg(number)):
                    if np.isfinite(unit):
                        values.setdefault(f"{unit:.6g}", float(unit))
    return values


def _refine(element: ElementTree.Element, numbers: dict[str, float]) -> None:
    for attribute, text in element.attrib.items():
        if attribute in ("name", "class", "file", "type"):
            continue
        tokens = text.split()
        refined = [repr(numbers[t]) if _is_rounded(t, numbers) else t for t in tokens]
        if refined != tokens:
            element.set(attribute, " ".join(refined))


def _is_rounded(token: str, numbers: dict[str, float]) -> bool:
    """Whether a token is a rounded number."""
    if token not in numbers:
        return False
    return float(token) != numbers[token]
