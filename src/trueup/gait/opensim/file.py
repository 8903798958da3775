"""Models of OpenSim from ``.osim`` files, of versions 3 and 4."""

from pathlib import Path
from xml.etree.ElementTree import Element

from trueup.errors import GaitError, listing
from trueup.gait.opensim.joints import (
    UnknownFunctionError,
    find_function,
    read_bodies,
    read_joints,
)
from trueup.gait.opensim.model import Coordinate, Coupler, OsimModel, Remark
from trueup.gait.opensim.muscles import MUSCLES, read_muscles, read_surfaces
from trueup.gait.opensim.parts.frames import Frames
from trueup.gait.opensim.parts.reading import read_parts
from trueup.gait.opensim.xml import (
    flag,
    last_name,
    named,
    number,
    numbers,
    objects,
    read_xml,
    text_of,
)

_WITHOUT_EFFECT = {
    "ControllerSet": "controllers",
    "ProbeSet": "probes",
    "ContactGeometrySet": "contact geometry: spherical soles are added to feet",
}
"""Sets without effect on bodies and muscles."""


def read_osim(path: str | Path) -> OsimModel:
    """Read a model of OpenSim.

    Parts that cannot be represented are in its ``remarks``, as ``refused``.

    Args:
      path: ``.osim`` file of version 3 or 4.

    Raises:
      GaitError: the file is missing or not an OpenSim model, or contains invalid numbers or names.
    """
    path = Path(path)
    root = read_xml(path)
    model = root if root.tag == "Model" else root.find("Model")
    if model is None:
        raise GaitError(
            f"{path} is not an OpenSim model: its root is <{root.tag}>, without a <Model>"
        )
    try:
        return _model(model, path)
    except GaitError as error:
        raise GaitError(f"{path}: {error}") from error


def _complete_forces(model: Element) -> None:
    """Give forces the properties of the default of their kind that they do not have."""
    defaults = {one.tag: one for holder in model.findall("defaults") for one in holder}
    for element in objects(model, "ForceSet"):
        for given in defaults.get(element.tag, ()):
            if not len(given) and element.find(given.tag) is None:
                element.append(given)


def _model(model: Element, path: Path) -> OsimModel:
    _complete_forces(model)
    remarks: list[Remark] = []

    def refuse(part: str, words: str) -> None:
        remarks.append(Remark("refused", part, words))

    bodies = read_bodies(model, refuse)
    frames = Frames(model, bodies)
    joints, coordinates = read_joints(model, bodies, frames, refuse)
    surfaces = read_surfaces(model, bodies, refuse)
    couplers = {}
    for element in objects(model, "ConstraintSet"):
        if not flag(element, "isEnforced", True) or flag(element, "isDisabled"):
            continue
        if (coupler := _coupler(element, coordinates, refuse)) is not None:
            couplers[coupler.dependent] = coupler
    _check_chains(couplers)
    muscles = read_muscles(model, frames, coordinates, surfaces, refuse)
    for tag, words in _WITHOUT_EFFECT.items():
        count = len(list(objects(model, tag)))
        if count:
            remarks.append(Remark("left out", tag, f"{count} {words}"))
    parts = read_parts(
        model,
        frames,
        coordinates,
        MUSCLES,
        refuse,
        lambda part, words: remarks.append(Remark("left out", part, words)),
    )
    gravity = numbers(model, "gravity", 3, (0.0, -9.80665, 0.0))
    name = model.get("name") or path.stem
    return OsimModel(
        name,
        gravity,
        bodies,
        joints,
        coordinates,
        couplers,
        {name: surface for name, surface in surfaces.items() if surface is not None},
        muscles,
        tuple(remarks),
        parts,
    )


def _coupler(element: Element, coordinates: dict[str, Coordinate], refuse) -> Coupler | None:
    """A constraint between two coordinates; None for other kinds."""
    if element.tag != "CoordinateCouplerConstraint":
        refuse(named(element), f"a constraint of the kind {element.tag}")
        return None
    leaders = (text_of(element, "independent_coordinate_names") or "").split()
    dependent = last_name(text_of(element, "dependent_coordinate_name") or "")
    if len(leaders) != 1:
        refuse(named(element), "a constraint with several independent coordinates")
        return None
    independent = last_name(leaders[0])
    for name in (dependent, independent):
        if name not in coordinates:
            raise GaitError(
                f"{named(element)!r} couples the unknown coordinate {name!r}; available: "
                f"{listing(coordinates)}"
            )
    try:
        function = find_function(element, "coupled_coordinates_function")
    except UnknownFunctionError as error:
        refuse(named(element), f"a constraint with {error}")
        return None
    factor = number(element, "scale_factor", 1.0)
    return Coupler(named(element), dependent, independent, function.scaled(factor))


def _check_chains(couplers: dict[str, Coupler]) -> None:
    for name in couplers:
        seen, at = {name}, couplers[name].independent
        while at in couplers:
            if at in seen:
                raise GaitError(
                    f"the couplers of the coordinate {name!r} form a cycle: remove one of them"
                )
            seen.add(at)
            at = couplers[at].independent
