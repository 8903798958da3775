"""Loading of the model of an experiment, with its simulation settings."""

from pathlib import Path
from typing import Any

import mujoco

from trueup.errors import ModelError, listing
from trueup.simulation.engine.warning_capture import captured_warnings
from trueup.simulation.models.element_names import name_elements
from trueup.simulation.models.finite_model import check_finite_model
from trueup.simulation.models.limits import check_model_file
from trueup.simulation.models.massless import TINY_MASS, empty_links, give_masses
from trueup.simulation.models.urdf import ReadableUrdf, readable_urdf
from trueup.simulation.targets.actuator_types import actuator_type
from trueup.sysid.experiment.model_changes import change_model
from trueup.sysid.experiment.settings import ModelPart

INTEGRATORS = {
    "Euler": mujoco.mjtIntegrator.mjINT_EULER,
    "RK4": mujoco.mjtIntegrator.mjINT_RK4,
    "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
}


_ONE_INPUT = {"dcmotor": "voltage"}

SHORTEST_STEP, LONGEST_STEP = 1e-7, 1.0
"""Allowed time steps of a model [s]."""


def load_spec(part: ModelPart, folder: Path) -> Any:
    """Read an MJCF (or URDF) file and apply the settings of an experiment.

    Args:
      part: the model of the experiment.
      folder: folder of relative file names.

    Returns:
      The ``MjSpec``.

    Raises:
      ModelError: the file is missing, cannot be read, or does not compile.
    """
    return load_model(part, folder)[0]


def load_model(part: ModelPart, folder: Path) -> tuple[Any, list[str]]:
    """The ``MjSpec`` of :func:`load_spec`, and sentences on what was left out or assumed.

    Args:
      part: the model of the experiment.
      folder: folder of relative file names.

    Raises:
      ModelError: the file is missing, cannot be read, or does not compile.
    """
    path = folder / part.file
    if not path.is_file() and (path.is_dir() or not path.exists()):
        existing = (
            sorted(p.name for p in path.parent.glob("*.xml"))[:8] if path.parent.is_dir() else []
        )
        also = f"; MJCF files there: {', '.join(existing)}" if existing else ""
        place = "" if Path(part.file).is_absolute() else f" in {folder}"
        raise ModelError(f"no such model file: {part.file}{place}{also}")
    check_model_file(path)
    urdf = readable_urdf(path)
    notes = [] if urdf is None else list(urdf.notes)
    with captured_warnings():
        try:
            spec = _read(path, urdf)
        except ValueError as error:
            raise ModelError(f"{part.file} cannot be read as a MuJoCo model: {error}") from error
        if part.timestep is not None:
            spec.option.timestep = part.timestep
        if part.integrator is not None:
            spec.option.integrator = INTEGRATORS[part.integrator]
        _check_timestep(spec, part)
        try:
            empty = empty_links(lambda: _read(path, urdf), part.file)
        except ValueError as error:
            raise ModelError(f"{part.file} does not compile: {error}") from error
        give_masses(spec, empty)
        name_elements(spec)
        change_model(spec, part)
        for joint in spec.joints:
            if part.friction.solref is not None:
                joint.solref_friction = part.friction.solref
            if part.friction.solimp is not None:
                joint.solimp_friction = part.friction.solimp
        try:
            model = spec.copy().compile()
        except ValueError as error:
            raise ModelError(f"{part.file} does not compile: {error}") from error
    check_finite_model(model, part.file)
    _check_inputs(model, part)
    if empty:
        notes.append(
            f"{listing(empty)} of {part.file} moves without a mass: {1e3 * TINY_MASS:g} g is "
            "assumed, as for the empty link between two joints."
        )
    return spec, notes


def _read(path: Path, urdf: ReadableUrdf | None) -> Any:
    if urdf is None:
        return mujoco.MjSpec.from_file(str(path))
    return mujoco.MjSpec.from_string(urdf.text)


def _check_inputs(model: mujoco.MjModel, part: ModelPart) -> None:
    """Raise ModelError for an actuator with several inputs."""
    for actuator in range(model.nactuator):
        count = int(model.actuator_ctrlnum[actuator])
        if count != 1:
            raise ModelError(
                f"{part.file}: actuator {model.actuator(actuator).name!r} is of the type "
                f"{actuator_type(model, actuator)!r} and has {count} inputs, but recordings "
                "support "
                "one command per actuator: set one input in the MJCF, such as "
                f'input="{_ONE_INPUT.get(actuator_type(model, actuator), "pos")}", or remove it'
            )


def _check_timestep(spec: Any, part: ModelPart) -> None:
    """Raise ModelError for an implausible time step."""
    step = float(spec.option.timestep)
    if not SHORTEST_STEP <= step <= LONGEST_STEP:
        where = f"{part.file} has" if part.timestep is None else "model.timestep is"
        raise ModelError(
            f"{where} the time step {step:g} s: it must be between {SHORTEST_STEP:g} and "
            f"{LONGEST_STEP:g} s. Typical values are 0.0005 to 0.005 s; set "
            f"model.timestep, or correct the model"
        )
