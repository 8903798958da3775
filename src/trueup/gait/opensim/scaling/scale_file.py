"""Scale factors of bodies from files of OpenSim's scale tool."""

from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.opensim.model import GROUND, OsimModel
from trueup.gait.opensim.xml import flag, number, numbers, objects, read_xml, text_of


@dataclass(frozen=True)
class ScaleFile:
    """Content of a scale file.

    Attributes:
      factors: body -> scale factors ``(3,)`` along the axes of its frame.
      mass: total mass [kg]; None where the file has none.
      keeps_distribution: whether masses keep their ratios; otherwise they grow with the volume.
    """

    factors: dict[str, np.ndarray]
    mass: float | None
    keeps_distribution: bool


def read_scale_file(path: str | Path, model: OsimModel) -> ScaleFile:
    """Read a ScaleSet, or the manual scales of a setup of the scale tool.

    Args:
      path: XML file of OpenSim.
      model: model that is scaled.

    Raises:
      GaitError: the file is neither, has no scale, scales by markers, names an unknown body, or has
        a factor or a mass that is not positive.
    """
    path = Path(path)
    root = read_xml(path)
    tool = root if root.tag == "ScaleTool" else root.find("ScaleTool")
    scaler = None if tool is None else tool.find("ModelScaler")
    holder = root if root.tag == "ScaleSet" else (root if scaler is None else scaler)
    scales = _scales(holder)
    order = "" if scaler is None else (text_of(scaler, "scaling_order") or "")
    if "measurements" in order.split():
        raise GaitError(
            f"{path} scales by measurements of markers, which needs OpenSim: give the ScaleSet "
            "that its scale tool writes (output_scale_file)"
        )
    if not scales:
        raise GaitError(
            f"{path} has no <Scale> of a body: give a ScaleSet, or a setup of the scale tool with "
            "manual scales"
        )
    factors: dict[str, np.ndarray] = {}
    for one in scales:
        body = text_of(one, "segment") or ""
        if not flag(one, "apply", True) or body == GROUND:
            continue
        if body not in model.bodies:
            raise GaitError(
                f"{path} scales the unknown body {body!r}; the model has {listing(model.bodies)}."
                f"{did_you_mean(body, model.bodies)}"
            )
        factors[body] = numbers(one, "scales", 3)
        if not (factors[body] > 0.0).all():
            raise GaitError(
                f"{path}: a scale of {body!r} is {factors[body].min():g}; it must be positive"
            )
    mass = None if tool is None or text_of(tool, "mass") is None else number(tool, "mass")
    return ScaleFile(
        factors,
        None if mass is None or mass < 0.0 else mass,  # -1 is the default of OpenSim: none
        scaler is None or flag(scaler, "preserve_mass_distribution", True),
    )


def _scales(holder: Element) -> list[Element]:
    """Scales of bodies in a set, or in the sets of an element."""
    if holder.tag == "ScaleSet":
        inner = holder.find("objects")
        members = holder if inner is None else inner
    else:
        members = list(objects(holder, "ScaleSet"))
    return [one for one in members if one.tag == "Scale"]
