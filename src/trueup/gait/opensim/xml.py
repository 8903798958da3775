"""Safe parsing of OpenSim XML, and the values of its elements."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import numpy as np

from trueup._input_files import LARGEST_TEXT, check_regular
from trueup.errors import GaitError

_LARGEST = 1e6
"""Largest plausible length, mass or force of a model, in SI units."""

_DEEPEST = 100
"""Largest plausible nesting depth of elements."""


def read_xml(path: Path) -> Element:
    """Root of an XML file; a document type, which may define entities, is refused.

    Raises:
      GaitError: the file is missing, not XML, nested too deeply, or has a document type.
    """
    try:
        check_regular(path, LARGEST_TEXT)
        text = path.read_bytes()
    except OSError as error:
        raise GaitError(f"cannot read {path}: {error.strerror or error}") from error
    builder, parser, depth = TreeBuilder(), expat.ParserCreate(), 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise GaitError(
                f"{path}: its elements are nested more than {_DEEPEST} deep, which is implausible"
            )
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: object) -> None:
        raise GaitError(
            f"{path} has a document type (<!DOCTYPE ...>), which OpenSim models do not have: "
            "remove that line"
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = builder.data, refuse
    try:
        parser.Parse(text, True)
    except (expat.ExpatError, ValueError) as error:
        raise GaitError(f"{path} is not an XML file: {error}") from error
    return builder.close()


def named(element: Element) -> str:
    """Name of an element, or its kind."""
    return element.get("name") or element.tag


def text_of(element: Element, *tags: str) -> str | None:
    """Text of the first existing child; None if there is none."""
    for tag in tags:
        if (child := element.find(tag)) is not None and (child.text or "").strip():
            return (child.text or "").strip()
    return None


def numbers(element: Element, tag: str, count: int, default: object = None) -> np.ndarray:
    """Numbers ``(count,)`` of a child.

    Raises:
      GaitError: the child is missing and has no default, or has other content.
    """
    text = text_of(element, tag)
    if text is None:
        if default is not None:
            return np.array(default, dtype=float).reshape(count)
        raise GaitError(f"{named(element)!r} has no <{tag}>")
    try:
        found = np.array(text.split(), dtype=float)
    except ValueError:
        found = np.zeros(0)
    if len(found) != count or not np.isfinite(found).all():
        raise GaitError(
            f"<{tag}> of {named(element)!r} is {text[:60]!r}; expected {count} finite numbers"
        )
    if len(found) and np.abs(found).max() > _LARGEST:
        raise GaitError(
            f"<{tag}> of {named(element)!r} contains {np.abs(found).max():.3g}; plausible are at "
            f"most {_LARGEST:.0e}"
        )
    return found


def number(element: Element, tag: str, default: float | None = None) -> float:
    """Number of a child; see :func:`numbers`."""
    return float(numbers(element, tag, 1, default)[0])


def flag(element: Element, tag: str, default: bool = False) -> bool:
    """Boolean value of a child."""
    text = text_of(element, tag)
    return default if text is None else text.lower() in ("true", "1")


def objects(element: Element, tag: str) -> Iterator[Element]:
    """Members of a set, such as ``BodySet``; empty without such a set."""
    for found in element.findall(tag):
        inner = found.find("objects")
        yield from (found if inner is None else inner)


def last_name(path: str) -> str:
    """Last name of a path of OpenSim."""
    return path.rstrip("/").rsplit("/", 1)[-1]


def path_of(element: Element, *tags: str) -> str | None:
    """Path or name in a socket, in the spellings of all OpenSim versions."""
    every = [t for tag in tags for t in (f"socket_{tag}", f"socket_{tag}_connectee_name", tag)]
    return text_of(element, *every)


def reference(element: Element, *tags: str) -> str | None:
    """Name in a socket: see :func:`path_of`."""
    text = path_of(element, *tags)
    return None if text is None else last_name(text)
