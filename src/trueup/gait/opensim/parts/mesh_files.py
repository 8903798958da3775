"""Files of visual meshes: where they are, and their content for MuJoCo."""

import base64
import binascii
import itertools
import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree.ElementTree import Element

import mujoco
import numpy as np

from trueup._input_files import LARGEST_TEXT, check_regular
from trueup.errors import GaitError, TrueupError
from trueup.gait.opensim.xml import read_xml

FOLDERS = (".", "Geometry", "geometry", "../Geometry")
"""Folders of meshes, relative to that of the model."""

_LONGEST = 200
"""Largest number of characters of the name of a file."""

_TYPES = {"Float32": "<f4", "Float64": "<f8", "Int32": "<i4", "Int64": "<i8", "UInt8": "u1"}


def find_meshes(names: Iterable[str], folder: Path) -> dict[str, tuple[str, bytes]]:
    """Meshes that are found and that MuJoCo can read, by the name of their file.

    ``.obj`` and ``.stl`` are copied, ``.vtp`` (polygons of VTK) becomes ``.obj``.

    Args:
      names: names of files, as in the model.
      folder: folder of the model.

    Returns:
      Name of a file in the model -> name and content of the file for MuJoCo.
    """
    found: dict[str, tuple[str, bytes]] = {}
    for name in dict.fromkeys(names):
        base = name.replace("\\", "/").rsplit("/", 1)[-1]
        if len(base) > _LONGEST:
            continue  # no name of a file
        stem, suffix = Path(base).stem, Path(base).suffix.lower()
        others = [suffix, *(one for one in (".obj", ".stl", ".vtp") if one != suffix)]
        places = (folder / near / f"{stem}{one}" for one in others for near in FOLDERS)
        place = next((one for one in places if one.is_file()), None)
        if place is None or place.suffix.lower() not in (".obj", ".stl", ".vtp"):
            continue
        try:
            content = mesh_content(place)
        except (TrueupError, OSError):
            continue  # unreadable; listed with those that are absent
        kind = ".stl" if place.suffix.lower() == ".stl" else ".obj"
        file = f"meshes/{re.sub(r'[^A-Za-z0-9_.-]', '_', stem)}{kind}"
        if _compiles(file, content):
            found[name] = (file, content)
    return found


def mesh_content(path: Path) -> bytes:
    """Content of a mesh for MuJoCo.

    Raises:
      GaitError: a ``.vtp`` file that is not one, or whose arrays are compressed or appended.
      InputFileError: it is no regular file, or too large.
    """
    check_regular(path, LARGEST_TEXT)
    if path.suffix.lower() != ".vtp":
        return path.read_bytes()
    root = read_xml(path)
    points: list[np.ndarray] = []
    faces: list[np.ndarray] = []
    before = 0
    for piece in root.iter("Piece"):
        holder, polygons = piece.find("Points"), piece.find("Polys")
        if holder is None or polygons is None:
            continue
        places = _array(path, root, holder.find("DataArray"))
        if places.size % 3:
            raise GaitError(f"{path} has {places.size} numbers for its points, not three for each")
        places = places.reshape(-1, 3)
        by_name = {one.get("Name"): one for one in polygons.findall("DataArray")}
        corners = _array(path, root, by_name.get("connectivity")).astype(int)
        ends = _array(path, root, by_name.get("offsets")).astype(int)
        starts = np.concatenate([[0], ends[:-1]])
        for start, end in zip(starts, ends, strict=True):
            polygon = corners[start:end]
            # a fan of triangles
            for second, third in itertools.pairwise(polygon[1:]):
                faces.append(np.array([polygon[0], second, third]) + before)
        points.append(places)
        before += len(places)
    corners = np.array(faces, dtype=int)
    if not corners.size or corners.min() < 0 or corners.max() >= before:
        raise GaitError(f"{path} contains no polygons of its points")
    lines = [f"v {x:.7g} {y:.7g} {z:.7g}" for x, y, z in np.concatenate(points)]
    lines += [f"f {a} {b} {c}" for a, b, c in corners + 1]
    return ("\n".join(lines) + "\n").encode()


def _array(path: Path, root: Element, element: Element | None) -> np.ndarray:
    """Numbers of an array of VTK, as text or as base64 without compression."""
    text = "" if element is None else (element.text or "")
    form = "" if element is None else (element.get("format") or "ascii")
    try:
        if element is not None and form == "ascii":
            return np.array(text.split(), dtype=float)
        if element is not None and form == "binary" and root.get("compressor") is None:
            wide = root.get("header_type") == "UInt64"
            content = base64.b64decode(text.strip(), validate=True)[8 if wide else 4 :]
            return np.frombuffer(content, _TYPES[element.get("type", "")]).astype(float)
    except (ValueError, KeyError, binascii.Error) as error:
        raise GaitError(f"{path} contains an array that is not one of numbers") from error
    raise GaitError(f"{path} contains {form or 'missing'} arrays: save it as ASCII")


def _compiles(file: str, content: bytes) -> bool:
    """Whether MuJoCo accepts a mesh."""
    spec = mujoco.MjSpec()
    mesh = spec.add_mesh(name="mesh", file=file)
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mesh", contype=0, conaffinity=0
    )
    spec.assets[file] = content
    try:
        spec.compile()
    except ValueError:
        return False
    return True
