"""Source files of a model: included and attached models, meshes, textures, height fields."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

_FOLDERS = ("meshdir", "texturedir", "assetdir")
_MODELS = (".xml", ".mjcf", ".urdf")
_SCHEMES = ("package://", "model://", "file://")


def model_sources(path: str | Path) -> list[Path]:
    """Return a model file and all existing files that it refers to, recursively.

    Names are those of MJCF (``file``, ``fileright`` and so on) and of URDF (``filename``). They
    are relative to the folder of the model, of the file that names them, or to those of a
    ``compiler``; ``package://`` is a folder above.

    Args:
      path: MJCF or URDF file.
    """
    path = Path(path)
    waiting, found = [path], [path]
    folders = [path.parent]
    while waiting:
        file = waiting.pop(0)
        root = _root(file)
        if root is None:
            continue
        for compiler in root.iter("compiler"):
            names = [name for key in _FOLDERS if (name := compiler.get(key))]
            folders += [base / name for name in names for base in (path.parent, file.parent)]
        for name in _names(root):
            named = first_file(name, dict.fromkeys([*folders, file.parent]))
            if named is None or named in found:
                continue
            found.append(named)
            if named.suffix.lower() in _MODELS:
                waiting.append(named)
    return found


def _root(file: Path) -> ElementTree.Element | None:
    try:
        return ElementTree.parse(file).getroot()
    except (ElementTree.ParseError, OSError, ValueError):
        return None


def _names(root: ElementTree.Element) -> Iterator[str]:
    """Values of all attributes that name a file."""
    for element in root.iter():
        for key, value in element.attrib.items():
            if key.startswith("file") and value:
                yield value


def first_file(name: str, folders: Iterable[Path]) -> Path | None:
    """The existing file that a model refers to by a name; None for none.

    Args:
      name: the name in the model, with or without a scheme such as ``package://``.
      folders: folders to which it may be relative, that of the model first.
    """
    plain = name
    for scheme in _SCHEMES:
        plain = plain.removeprefix(scheme)
    bases = list(folders)
    # a URDF path is reduced to its last part; the folder of a package is above the model
    tried = [base / plain for base in bases] + [base / Path(plain).name for base in bases]
    if plain != name:
        inner = Path(*Path(plain).parts[1:]) if len(Path(plain).parts) > 1 else Path(plain)
        tried += [above / part for above in bases[0].resolve().parents for part in (plain, inner)]
    for candidate in tried:
        try:
            if candidate.is_file():
                return candidate
        except (OSError, ValueError):
            continue  # not a valid file name
    return None
