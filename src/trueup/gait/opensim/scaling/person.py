"""Scaling of a model to the mass and the height of a person, or by a file of OpenSim."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np

from trueup.errors import GaitError
from trueup.gait.opensim.kinematics import all_values, body_poses
from trueup.gait.opensim.model import OsimModel, Remark
from trueup.gait.opensim.scaling.scale_file import read_scale_file
from trueup.gait.opensim.scaling.scaled_model import scaled_model

_HEAVIEST = 1e4
"""Largest plausible mass of a person, or an animal [kg]."""

SEGMENTS = {"femur_r": ("tibia_r", 0.245), "tibia_r": ("talus_r", 0.246)}
"""Segment -> next body, and its length relative to the height of a person (R. Drillis, R. Contini,
"Body segment parameters", New York University, 1966)."""


def scaled_to(
    model: OsimModel,
    mass: float | None = None,
    height: float | None = None,
    model_height: float | None = None,
    scale: str | Path | None = None,
) -> OsimModel:
    """The model scaled to a person; unchanged without a request.

    Args:
      model: model.
      mass: mass of the person [kg].
      height: height of the person [m]; all bodies are scaled by one factor.
      model_height: height of the person of the model [m]; by default estimated from its leg.
      scale: file with scale factors of bodies, see
        :func:`~trueup.gait.opensim.scaling.scale_file.read_scale_file`.

    Raises:
      GaitError: two requests for the size, an unknown height of the model, a wrong file, or numbers
        that are not positive.
    """
    check_person(mass, height, model_height, scale)
    if scale is not None:
        given = read_scale_file(scale, model)
        return scaled_model(
            model,
            given.factors,
            given.mass if mass is None else mass,
            keeps_distribution=given.keeps_distribution,
        )
    if height is None:
        return model if mass is None else scaled_model(model, {}, mass)
    own = estimated_height(model) if model_height is None else model_height
    found = scaled_model(model, dict.fromkeys(model.bodies, np.full(3, height / own)), mass)
    source = "estimated from thigh and shank" if model_height is None else "as given"
    words = f"{own:.4g} m of the model, {source}, to {height:.4g} m"
    return replace(found, remarks=(*found.remarks, Remark("scaled", "height", words)))


def check_person(
    mass: float | None,
    height: float | None,
    model_height: float | None,
    scale: str | Path | None,
) -> None:
    """Raise GaitError for two requests for the size, or implausible numbers."""
    if scale is not None and height is not None:
        raise GaitError("height and scale both set the size of bodies: give one of them")
    if mass is not None and not 0.01 <= mass <= _HEAVIEST:
        raise GaitError(
            f"the mass of the person is {mass:g} kg; plausible are 0.01 to {_HEAVIEST:g} kg"
        )
    for words, value in (("the person", height), ("the model", model_height)):
        if value is not None and not 0.1 <= value <= 10.0:
            raise GaitError(f"the height of {words} is {value:g} m; plausible are 0.1 to 10 m")


def estimated_height(model: OsimModel) -> float:
    """Height [m] of the person of a model, from the lengths of thigh and shank.

    Raises:
      GaitError: the model has no right leg of these names.
    """
    names = [*SEGMENTS, SEGMENTS["tibia_r"][0]]
    if not set(names) <= model.bodies.keys():
        raise GaitError(
            f"the height of {model.name} is unknown, as it has no bodies femur_r, tibia_r and "
            "talus_r: give both heights, as in --height 1.75/1.80"
        )
    poses = body_poses(model, all_values(model, {}))
    places = [poses[name][0, :3, 3] for name in names]
    leg = sum(float(np.linalg.norm(b - a)) for a, b in itertools.pairwise(places))
    return leg / sum(share for _, share in SEGMENTS.values())
