"""Limits on the sizes in an MJCF file, checked before MuJoCo allocates memory."""

from pathlib import Path
from xml.etree import ElementTree

from trueup._input_files import check_regular
from trueup.errors import ModelError
from trueup.simulation.models.finite_model import check_finite_numbers

_MOST_COPIES = 1e5
_LARGEST_MODEL = 256 * 2**20  # [bytes]
_LARGEST_ASSET = 2**30  # [bytes]
_DEEPEST = 300
_FOLDERS = ("meshdir", "texturedir", "assetdir")
_MODELS = ("include", "model")
"""Elements whose file is a model."""
_LARGEST_SIZES = {
    "nuserdata": 1e7,
    "nkey": 1e5,
    "nuser_body": 1e4,
    "nuser_jnt": 1e4,
    "nuser_geom": 1e4,
    "nuser_site": 1e4,
    "nuser_cam": 1e4,
    "nuser_tendon": 1e4,
    "nuser_actuator": 1e4,
    "nuser_sensor": 1e4,
    "njmax": 1e7,
    "nconmax": 1e7,
    "nstack": 1e10,
}
"""Largest values of the attributes of ``size``."""


def check_model_file(path: Path) -> None:
    """Check that a model file is readable, with plausible sizes and copies, and finite numbers.

    Included files, and those of meshes, textures and height fields, are checked too. A file that is
    not XML is not an error here: MuJoCo's message gives the location.

    Raises:
      InputFileError: a pipe or a device, or a file far too large for its type.
      ModelError: no permission, an implausible size, elements nested too deeply, too many copies by
        ``replicate``, or a number that is not finite.
    """
    folders = {path.parent}
    waiting, seen = [path], set()
    while waiting:
        file = waiting.pop()
        seen.add(file)
        check_regular(file, _LARGEST_MODEL)
        root = _parsed(file)
        if root is None:
            continue
        _check_depth(root, file)
        _check_sizes(root, file)
        check_finite_numbers(root, file)
        for compiler in root.iter("compiler"):
            names = (compiler.get(name) for name in _FOLDERS)
            folders |= {path.parent / name for name in names if name}
        for element in root.iter():
            name = element.get("file")
            for named in {folder / name for folder in folders} if name else ():
                if element.tag in _MODELS:
                    waiting += [named] if named not in seen and named.is_file() else []
                check_regular(named, _LARGEST_ASSET)
                _check_readable(named)


def _parsed(file: Path) -> ElementTree.Element | None:
    """Root of an XML file; None if it is not XML."""
    _check_readable(file)
    try:
        return ElementTree.parse(file).getroot()
    except (ElementTree.ParseError, OSError, ValueError):
        return None


def _check_readable(file: Path) -> None:
    """Raise ModelError for an existing file that cannot be opened: MuJoCo reports it as empty."""
    if not file.is_file():
        return
    try:
        file.open("rb").close()
    except OSError as error:
        raise ModelError(f"the model file {file} cannot be read: {error.strerror}") from error


def _check_depth(root: ElementTree.Element, file: Path) -> None:
    """Raise ModelError for elements nested more deeply than MuJoCo can read."""
    level, depth = [root], 0
    while level:
        level, depth = [child for element in level for child in element], depth + 1
        if depth > _DEEPEST:
            raise ModelError(
                f"{file}: elements are nested more than {_DEEPEST} levels deep, which is "
                "implausible"
            )


def _check_sizes(root: ElementTree.Element, file: Path) -> None:
    """Raise ModelError for implausible sizes and numbers of copies."""
    for size in root.iter("size"):
        for name, largest in _LARGEST_SIZES.items():
            if (value := _number(size.get(name))) > largest:
                raise ModelError(
                    f"{file}: size {name} is {value:.3g}, implausible above {largest:.0e}"
                )
    copies = _copies(root)
    if copies > _MOST_COPIES:
        raise ModelError(
            f"{file}: replicate makes {copies:.3g} copies, implausible above {_MOST_COPIES:.0e}"
        )


def _copies(element: ElementTree.Element) -> float:
    """Number of copies by the replicates below an element; nested ones multiply."""
    inner = [_copies(child) for child in element]
    count = _number(element.get("count")) if element.tag == "replicate" else 1.0
    return max(count, 1.0) * max(1.0, sum(c for c in inner if c > 1.0))


def _number(text: str | None) -> float:
    try:
        return float(text or 0.0)
    except ValueError:
        return 0.0
