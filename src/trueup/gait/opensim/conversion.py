"""Conversion of OpenSim models to MuJoCo, and comparison with their geometry."""

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

from trueup import reports
from trueup._writing import write_bytes
from trueup.errors import GaitError, ModelError, listing
from trueup.gait.models.anatomy import ANATOMY, Anatomy
from trueup.gait.models.coordinates import DEFAULT_POSE, state_coordinates
from trueup.gait.opensim.comparison import MuscleComparison, WrittenModel, compare, rms
from trueup.gait.opensim.file import read_osim
from trueup.gait.opensim.import_page import import_page
from trueup.gait.opensim.mjcf_joints import Skeleton, build_skeleton
from trueup.gait.opensim.mjcf_muscles import add_muscle
from trueup.gait.opensim.model import Muscle, OsimModel, Remark
from trueup.gait.opensim.muscle_fit import MuscleFit, fit_muscle
from trueup.gait.opensim.parts.mesh_files import find_meshes
from trueup.gait.opensim.parts.writing import add_meshes, add_parts
from trueup.gait.opensim.path_faults import Fault, find_faults, fits_arms
from trueup.gait.opensim.paths import route
from trueup.gait.opensim.pose_samples import PoseSamples, muscle_coordinates, pose_samples
from trueup.gait.opensim.read_back import read_back, refusal_of
from trueup.gait.opensim.routes.mirrored import plan_routes
from trueup.gait.opensim.routes.plan import Route, plan_route
from trueup.gait.opensim.scaling.person import check_person, scaled_to
from trueup.gait.opensim.tolerances import WITHIN
from trueup.gait.opensim.walker_parts import add_walker_parts, missing_parts, turned_coordinates
from trueup.runs.store import atomic
from trueup.simulation.models.precise_xml import precise_xml


@dataclass(frozen=True)
class OpenSimImport:
    """An OpenSim model and its conversion.

    Attributes:
      model: model of OpenSim.
      spec: model of MuJoCo, compiled.
      anatomy: names of the parts of a walker; None for a model that is not a walker.
      remarks: omitted, approximated and added parts, and deviations.
      muscles: converted muscles, compared with those of OpenSim.
      left_out: omitted muscles, with a moment arm of wrong sign or a discontinuous length.
      samples: poses of the comparison.
      sha256: SHA-256 of the file.
    """

    model: OsimModel
    spec: mujoco.MjSpec
    anatomy: Anatomy | None
    remarks: tuple[Remark, ...]
    muscles: tuple[MuscleComparison, ...]
    left_out: tuple[MuscleComparison, ...]
    samples: PoseSamples
    sha256: str

    @property
    def walks(self) -> bool:
        """Whether the model is a complete walker with correct muscles."""
        wrong = any(one.kind in ("refused", "deviates") for one in self.remarks)
        return self.anatomy is not None and not wrong

    def worst(self) -> dict[str, Any]:
        """Largest errors over all muscles and poses, with the muscle of each."""
        if not self.muscles:
            return {}
        errors = {
            "length_mm": lambda one: 1e3 * one.length_error,
            "moment_arm_mm": lambda one: 1e3 * one.arm_error[0],
            "isometric_force": lambda one: one.fit.error,
            "force": lambda one: one.fit.force_error,
            "tendon_stretch_mm": lambda one: 1e3 * one.fit.stretch,
        }
        found = {}
        for key, error in errors.items():
            muscle = max(self.muscles, key=error)
            found[key] = {"value": error(muscle), "muscle": muscle.name}
        return found

    def pairs(self) -> tuple[int, int]:
        """Pairs of a written muscle and a coordinate, and those with moment arms within their
        tolerance."""
        every = [(one, name) for one in self.muscles for name in one.coordinates]
        return len(every), sum(fits_arms(one, self.model, name) for one, name in every)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        pairs, within = self.pairs()
        return {
            "model": self.model.name,
            "sha256": self.sha256,
            "bodies": len(self.model.bodies),
            "coordinates": len(self.model.free),
            "walker": self.anatomy is not None,
            "walks": self.walks,
            "worst": self.worst(),
            "pairs": {"of_muscle_and_coordinate": pairs, "within_tolerance": within},
            "muscles": {
                one.name: {
                    "length_mm": 1e3 * one.length_error,
                    "length_rms_mm": 1e3 * one.typical_length_error,
                    "moment_arm_rms_mm": {
                        name: 1e3 * rms(one.arm_errors(name)) for name in one.coordinates
                    },
                    "moment_arm_mm": 1e3 * one.arm_error[0],
                    "moment_arm_about": one.arm_error[1],
                    **one.fit.to_dict(),
                }
                for one in self.muscles
            },
            "remarks": [
                {"kind": one.kind, "part": one.part, "words": one.words} for one in self.remarks
            ],
        }

    def page(self) -> reports.Page:
        """Report: errors, curves, and omitted parts."""
        return import_page(
            self.model,
            (*self.left_out, *self.muscles),
            self.samples,
            self.remarks,
            self.worst(),
            self.sha256,
        )

    def save(self, folder: str | Path, *, overwrite: bool = False) -> dict[str, Path]:
        """Write model, anatomy, report and result; returns their paths by kind.

        Args:
          folder: output folder, created if missing.
          overwrite: replace existing files.

        Raises:
          GaitError: the folder already contains such files.
          RunDirectoryError: the folder cannot be written.
        """
        folder = Path(folder)
        files = {
            "model": folder / "model.xml",
            "anatomy": folder / f"model{ANATOMY}",
            "report": folder / "report.html",
            "numbers": folder / "import.json",
        }
        check_target(folder, overwrite=overwrite)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.spec.assets.items():
            (folder / name).parent.mkdir(exist_ok=True)
            write_bytes(folder / name, content)
        atomic.write_text(files["model"], precise_xml(self.spec))
        if self.anatomy is None:
            files.pop("anatomy").unlink(missing_ok=True)
        else:
            content = self.anatomy.model_dump(mode="json")
            text = yaml.safe_dump(content, sort_keys=False, width=100, allow_unicode=True)
            atomic.write_text(files["anatomy"], text)
        self.page().save(files["report"])
        atomic.write_json(files["numbers"], self.to_dict())
        return files


def _fit(model: OsimModel, muscle: Muscle, samples: PoseSamples) -> MuscleFit:
    """MuJoCo muscle fitted to a muscle over the lengths within the joint ranges."""
    lengths = route(
        model, muscle, samples.at(samples.rows(muscle_coordinates(model, muscle)))
    ).length
    return fit_muscle(muscle, float(lengths.min()), float(lengths.max()))


def check_target(folder: Path, *, overwrite: bool) -> None:
    """Raise GaitError for a path that is not a folder, or a folder that contains an import."""
    if folder.exists() and not folder.is_dir():
        raise GaitError(f"{folder} is not a folder: choose another --output")
    if (folder / "model.xml").exists() and not overwrite:
        raise GaitError(
            f"{folder} already contains model.xml: choose another --output, or use --overwrite"
        )


def import_opensim(
    path: str | Path,
    *,
    partial: bool = False,
    mass: float | None = None,
    height: float | None = None,
    model_height: float | None = None,
    scale: str | Path | None = None,
    show: Callable[[str, float | None], None] = lambda text, share: None,
) -> OpenSimImport:
    """Convert a model of OpenSim, and scale it to a person.

    Joints become joints coupled to their coordinates, paths become tendons, and muscles are fitted
    to the forces of the originals. The result is read back, simulated briefly, and compared with
    the geometry and the curves of the file, which are evaluated without MuJoCo.

    Args:
      path: ``.osim`` file of version 3 or 4.
      partial: omit parts that cannot be represented, and muscles with a moment arm of wrong sign or
        a discontinuous length; they are in the remarks, with the muscles that deviate.
      mass: mass of the person [kg]; the masses of the bodies keep their ratios.
      height: height of the person [m]; all bodies are scaled by one factor.
      model_height: height of the person of the model [m]; by default estimated from its leg.
      scale: XML file of OpenSim with scale factors of bodies: a ScaleSet, or a setup of the scale
        tool with manual scales, whose mass applies too.
      show: called with the state, and the share of the paths done.

    Raises:
      GaitError: the file cannot be read, or contains parts or muscles that cannot be represented.
      ModelError: MuJoCo rejects the result, or it diverges.
    """
    path = Path(path)
    check_person(mass, height, model_height, scale)
    model = scaled_to(read_osim(path), mass, height, model_height, scale)
    samples = pose_samples(model)
    routes = plan_routes(model, samples, show)
    planned = [remark for route_ in routes.values() for remark in route_.remarks]
    refused = [one for one in (*model.remarks, *planned) if one.kind == "refused"]
    if refused and not partial:
        parts = listing((f"{one.part}: {one.words}" for one in refused), 6)
        raise GaitError(
            f"{path} has {len(refused)} parts that cannot be represented: {parts}. "
            "Use --partial to omit them"
        )
    show("forces of the muscles", None)
    fits = {muscle.name: _fit(model, muscle, samples) for muscle in model.muscles}
    meshes = find_meshes((one.file for one in model.parts.meshes), path.parent)
    try:
        built, anatomy, written = _build(model, routes, fits, meshes)
        show("comparison with the file", None)
        every = compare(model, written, fits, samples)
        faults = {one.name: find_faults(one, model, written, samples) for one in every}
        again = [name for name, found in faults.items() if _wraps_wrong(routes[name], found)]
        if again:
            routes |= {
                muscle.name: plan_route(model, muscle, samples, surfaces=False)
                for muscle in model.muscles
                if muscle.name in again
            }
            built, anatomy, written = _build(model, routes, fits, meshes)
            every = compare(model, written, fits, samples)
            faults = {one.name: find_faults(one, model, written, samples) for one in every}
        if not partial:
            _check(path, every, faults)
        unusable = [name for name, found in faults.items() if any(one.unusable for one in found)]
        if unusable:
            kept = tuple(one for one in model.muscles if one.name not in unusable)
            built, anatomy, _ = _build(replace(model, muscles=kept), routes, fits, meshes)
    except ModelError as error:
        raise ModelError(f"the conversion of {path} cannot be simulated: {error}") from error
    planned = [remark for route_ in routes.values() for remark in route_.remarks]
    remarks = [*model.remarks, *planned, *built.remarks]
    for name, found in faults.items():
        if found:
            kind = "refused" if name in unusable else "deviates"
            remarks.append(Remark(kind, name, "; ".join(one.words for one in found)))
    if anatomy is None:
        words = (
            f"not a walker, so no anatomy is written: missing {listing(missing_parts(model), 4)}"
        )
        remarks.append(Remark("left out", "anatomy", words))
    return OpenSimImport(
        model,
        built.spec,
        anatomy,
        tuple(dict.fromkeys(remarks)),
        tuple(one for one in every if one.name not in unusable),
        tuple(one for one in every if one.name in unusable),
        samples,
        hashlib.sha256(path.read_bytes()).hexdigest(),
    )


def _build(
    model: OsimModel,
    routes: Mapping[str, Route],
    fits: Mapping[str, MuscleFit],
    meshes: dict[str, tuple[str, bytes]],
) -> tuple[Skeleton, Anatomy | None, WrittenModel]:
    """MuJoCo model, names of the parts of a walker, and the model read back.

    Raises:
      ModelError: MuJoCo rejects the model, or it diverges.
    """
    walker = not missing_parts(model)
    try:
        built = build_skeleton(model, turned_coordinates(model) if walker else frozenset())
        for muscle in model.muscles:
            add_muscle(built, model, muscle, routes[muscle.name], fits[muscle.name])
        add_parts(built, model)
        add_meshes(built, model, meshes)
        anatomy = add_walker_parts(built, model) if walker else None
        _state_coordinates(built, model)
        with warnings.catch_warnings():
            # such as masses too small for a simulation
            warnings.simplefilter("error")
            built.spec.compile()
    except (ValueError, UserWarning) as error:
        raise ModelError(refusal_of(error)) from error
    return built, anatomy, read_back(precise_xml(built.spec), built, model)


def _state_coordinates(built: Skeleton, model: OsimModel) -> None:
    """State what the joints do not, and add the default pose as a keyframe."""
    coupled = {name: model.leader(name)[0] for name in model.couplers}
    locked = [name for name, one in model.coordinates.items() if one.locked]
    state_coordinates(built.spec, built.turned, coupled, locked)
    written = WrittenModel(built.spec.compile(), {name: built.sense(name) for name in model.free})
    default = {name: np.array([model.coordinates[name].default]) for name in model.free}
    built.spec.add_key(name=DEFAULT_POSE, qpos=written.positions(default)[0])


def _wraps_wrong(route_: Route, faults: Sequence[Fault]) -> bool:
    """Whether a surface of a route takes the muscle along a wrong side, or once around."""
    wraps = any(surface is not None for surface in route_.surfaces)
    return wraps and any(one.unusable for one in faults)


def _check(
    path: Path, every: Sequence[MuscleComparison], faults: Mapping[str, list[Fault]]
) -> None:
    """Raise GaitError where muscles are wrong, or the moment arms of too many deviate."""
    pairs = sum(len(one.coordinates) for one in every)
    far = sum(one.kind == "size" for found in faults.values() for one in found)
    wrong = {
        name: found
        for name, found in faults.items()
        if any(one.unusable or one.kind == "length" for one in found)
    }
    if far > (1.0 - WITHIN) * pairs:
        sizes = {
            name: [one for one in found if one.kind == "size"] for name, found in faults.items()
        }
        wrong |= {name: found for name, found in sizes.items() if found and name not in wrong}
    if not wrong:
        return
    words = "; ".join(f"{name}: {found[0].words}" for name, found in wrong.items())
    raise GaitError(
        f"{len(wrong)} of the {len(every)} muscles of {path} deviate in MuJoCo: {words}. Use "
        "--partial to omit those with a wrong sign or a discontinuous length, and to write the "
        "others nevertheless"
    )
