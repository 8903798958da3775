"""Limits on what an MJCF file may ask for, looked at before MuJoCo allocates it."""

from pathlib import Path
from xml.etree import ElementTree

from trueup._input_files import check_regular
from trueup.errors import ModelError

_MOST_COPIES = 1e5
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
    """Refuse a model whose sizes or copies no machine can hold.

    A file that is no XML is left to MuJoCo, whose message says where it breaks.

    Raises:
      InputFileError: a pipe or a device.
      ModelError: an implausible size, or too many copies by ``replicate``.
    """
    check_regular(path)
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, OSError, ValueError):
        return
    for size in root.iter("size"):
        for name, largest in _LARGEST_SIZES.items():
            if (value := _number(size.get(name))) > largest:
                raise ModelError(
                    f"{path}: size {name} is {value:.3g}, and at most {largest:.0e} is plausible"
                )
    copies = _copies(root)
    if copies > _MOST_COPIES:
        raise ModelError(
            f"{path}: replicate makes {copies:.3g} copies, and at most {_MOST_COPIES:.0e} are "
            "plausible"
        )


def _copies(element: ElementTree.Element) -> float:
    """Copies that the replicates below an element make, those within others multiplied."""
    inner = [_copies(child) for child in element]
    count = _number(element.get("count")) if element.tag == "replicate" else 1.0
    return max(count, 1.0) * max(1.0, sum(c for c in inner if c > 1.0))


def _number(text: str | None) -> float:
    try:
        return float(text or 0.0)
    except ValueError:
        return 0.0
