"""Creation of the problem of a configuration."""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.controller._registers import OF_PRESSURE
from trueup.gait.controller.exoskeleton import FourParameterProfile, PointsProfile, Profile
from trueup.gait.controller.parameter_vector import Entry, ParameterVector
from trueup.gait.controller.reflexes import ReflexController, load_controller
from trueup.gait.costs.adult_norm import ADULT, adult_norm, fits_condition, named_norm
from trueup.gait.costs.myoassist import (
    EMG_GROUPS,
    FLAGS,
    MyoAssistCost,
    read_myoassist_emg,
    read_myoassist_kinematics,
)
from trueup.gait.costs.reference import GaitReference
from trueup.gait.costs.stages import PRESETS, TRACKING, WalkObjective
from trueup.gait.models._shipped_models import BY_MUSCLES, SHIPPED_MODELS
from trueup.gait.models.attachments import shipped_devices
from trueup.gait.models.terrain import Stairs
from trueup.gait.models.walker import Walker
from trueup.gait.search._named_entries import moved_entries, named_values
from trueup.gait.search.configuration import GaitConfiguration
from trueup.gait.search.continuation import Continuation, Step
from trueup.gait.search.problem import GaitProblem, Scenario
from trueup.gait.search.stage_settings import BEGINS_AT, GRADUALLY
from trueup.gait.search.staged_problem import StagedProblem
from trueup.gait.walk.gait_cycle import Curve
from trueup.gait.walk.perturbations import Perturbations, PerturbationSizes
from trueup.gait.walk.settings import WalkSettings
from trueup.gait.walk.simulation import WalkSimulation

MYOASSIST_DEVICES = {"dephy": "ankle", "humotech": "ankle", "tutorial": "ankle", "hmedi": "hip"}
"""Device of MyoAssist -> shipped device on the same joint."""

NO_TRACKING = dict.fromkeys(TRACKING, 0.0)
"""Weights of a search that tracks no gait."""

OF_REPEATS = ("unperturbed_repeat", "perturbed_cost", "perturbation_seed", "fresh_perturbations")
"""Keys that require perturbed repeats."""


def make_problem(configuration: GaitConfiguration, threads: int = 0) -> GaitProblem:
    """The problem of a configuration, a :class:`StagedProblem` where it has stages.

    Args:
      configuration: configuration; its paths are relative to the current folder.
      threads: number of simulation threads; 0 uses all cores.

    Raises:
      GaitError: the model or the reference is missing or unsuitable.
      ModelError: the model does not compile.
    """
    if configuration.stages is None:
        return _problem(configuration, threads)
    staged, stages = configuration.staged, configuration.stages
    assisted = [staged[0][1].assistance, *(one.assistance for _, one in staged)]
    continuations = [
        _continuation(one, stages[name], before, threads)
        for (name, one), before in zip(staged, assisted, strict=False)
    ]
    return StagedProblem([name for name, _ in staged], continuations)


def _continuation(
    configuration: GaitConfiguration, stage: Mapping[str, Any], assisted: float, threads: int
) -> Continuation:
    """The problem of a stage, with intermediate steps from its initial condition.

    Args:
      configuration: configuration of the stage.
      stage: the stage.
      assisted: assistance of the stage before it.
      threads: number of simulation threads.
    """
    target = _problem(configuration, threads)
    begins_at = stage.get(BEGINS_AT)
    if GRADUALLY not in stage:
        return Continuation(target)
    if assisted != configuration.assistance:
        steps = _changing_assistance(configuration, assisted, stage[GRADUALLY], threads)
        return Continuation(target, steps)
    if begins_at is None:
        return Continuation(
            target, _growing_perturbations(configuration, stage[GRADUALLY], threads)
        )
    (there,), steps = configuration.conditions, stage[GRADUALLY]
    # the steps track the same default norm as the target
    target_tracks = getattr(target.scenarios[0].objective, "reference", None) is not None

    def step(number: int) -> Step:
        part = number / steps
        speed, slope = (a + part * (b - a) for a, b in zip(begins_at, there, strict=True))
        changes: dict[str, Any] = {"tgt_vel": (speed,), "tgt_slope": (slope,)}
        if configuration.reference is None and target_tracks:
            changes["reference"] = (ADULT,)
        own = configuration.model_copy(update=changes)
        words = [f"{speed:.3g} m/s"] if begins_at[0] != there[0] else []
        words += [f"{slope:.2g} deg"] if begins_at[1] != there[1] else []
        return Step(f"at {' and '.join(words)}", lambda: _problem(own, threads))

    return Continuation(target, [step(number) for number in range(1, steps)])


def _changing_assistance(
    configuration: GaitConfiguration, assisted: float, steps: int, threads: int
) -> list[Step]:
    """Intermediate steps of a stage with another assistance than the stage before it.

    The square root of the assistance changes evenly, so that the last steps to none are small.
    """
    begin, end = np.sqrt([assisted, configuration.assistance])

    def step(number: int) -> Step:
        strength = float(begin + number / steps * (end - begin)) ** 2
        own = configuration.model_copy(update={"assistance": strength})
        return Step(f"assistance {strength:.2g}", lambda: _problem(own, threads))

    return [step(number) for number in range(1, steps)]


def _growing_perturbations(
    configuration: GaitConfiguration, steps: int, threads: int
) -> list[Step]:
    """Intermediate steps of a stage with perturbed repeats, at fractions of their sizes."""
    if not configuration.perturbed_repeats:
        return []
    whole = asdict(PerturbationSizes(**(configuration.perturbation_sizes or {})))

    def step(number: int) -> Step:
        part = number / steps
        sizes = {name: part * size for name, size in whole.items()}
        own = configuration.model_copy(update={"perturbation_sizes": sizes})
        return Step(f"{100.0 * part:.0f} % of the perturbations", lambda: _problem(own, threads))

    return [step(number) for number in range(1, steps)]


def _problem(configuration: GaitConfiguration, threads: int) -> GaitProblem:
    model, device = _model(configuration), _device(configuration)
    stairs = None if configuration.stairs is None else Stairs(*configuration.stairs)
    profile, controller = _profile(configuration), _controller(configuration)
    pressure = controller is not None and controller.senses(OF_PRESSURE)
    conditions = configuration.conditions
    references = configuration.references or [None] * len(conditions)
    scenarios = []
    for (speed, slope), reference in zip(conditions, references, strict=True):
        walker = Walker.load(
            model,
            slope=slope,
            stairs=stairs,
            device=device,
            pressure=pressure,
            assistance=configuration.assistance,
        )
        settings = _settings(configuration, threads)
        simulation = WalkSimulation(walker, settings, controller, profile)
        name = f"{speed:g} m/s, {slope:g} deg" if len(conditions) > 1 else ""
        objective = _objective(configuration, speed, slope, reference)
        if isinstance(objective, WalkObjective):
            _check_activations(objective, walker)
        scenarios.append(Scenario(simulation, objective, name))
    parameters = _parameters(configuration, scenarios[0].simulation.parameters)
    in_space = scenarios[0].simulation.controller.gains
    frontal = {gain.name for gain in in_space if gain.plane == "frontal"}
    if settings.per_leg:
        frontal = {f"{name}_{side}" for name in frontal for side in "rl"}
    frontal &= set(parameters.names)
    deviation = _deviation(configuration, parameters, frontal)
    perturbations = _perturbations(configuration)
    if configuration.early_stop and configuration.compat is not None:
        raise GaitError("early_stop is not supported with compat=myoassist; remove one of them")
    if configuration.early_stop and configuration.fresh_perturbations:
        raise GaitError(
            "early_stop uses costs of the previous generation, which with fresh_perturbations had "
            "other perturbations; remove one of them (early_stop=0)"
        )
    return GaitProblem(scenarios, parameters, deviation=deviation, perturbations=perturbations)


def without_unfit_norm(configuration: GaitConfiguration) -> tuple[GaitConfiguration, list[str]]:
    """The configuration without the tracked norm of a staged search where it does not apply.

    Returns:
      The configuration, and a note if the norm was removed.
    """
    unfit = [one for one in configuration.conditions if not fits_condition(*one)]
    staged = configuration.stages is not None and configuration.reference is None
    weighed = [one.weights or {} for _, one in configuration.staged]
    tracked = any(weights.get(term) for weights in weighed for term in TRACKING)
    if not (staged and tracked and unfit):
        return configuration, []
    assert configuration.stages is not None
    weights = {**(configuration.weights or PRESETS[f"-{configuration.cost}"]), **NO_TRACKING}
    stages = {
        name: {**stage, "weights": {**stage["weights"], **NO_TRACKING}}
        if "weights" in stage
        else stage
        for name, stage in configuration.stages.items()
    }
    speed, slope = unfit[0]
    ground = "on level ground"
    if slope:
        ground = f"{'up' if slope > 0.0 else 'down'} {abs(slope):g} deg"
    said = (
        f"No gait is tracked: the shipped norm is for level walking at "
        f"{adult_norm().reference.speed:g} m/s, and this walk is at {speed:g} m/s {ground}. "
        f"Track a gait with reference=FILE, or the norm nevertheless with reference={ADULT}."
    )
    changed = configuration.model_copy(update={"weights": weights, "stages": stages})
    return changed, [said]


def _parameters(configuration: GaitConfiguration, own: ParameterVector) -> ParameterVector:
    held = named_values("held", configuration, own)
    changes = {name: {"start": value, "free": False} for name, value in held.items()}
    if configuration.moved is not None:
        moves = moved_entries(configuration, own)
        if both := [name for name in held if name in moves]:
            raise GaitError(
                f"{listing(both)} is in both moved and held: remove it from one of them"
            )
        if not any(entry.free and entry.name in moves for entry in own.entries):
            raise GaitError(
                f"moved: {listing(configuration.moved)} contains no free entry of this walk"
            )
        others = [name for name in own.names if name not in moves and name not in held]
        changes |= {name: {"free": False} for name in others}
    return own.with_entries(changes)


def _deviation(
    configuration: GaitConfiguration, parameters: ParameterVector, frontal: set[str]
) -> np.ndarray:
    """Initial standard deviations of the free entries ``(p,)``."""
    own = configuration.sigma_gain
    exo, sideways = configuration.exo_sigma_gain, configuration.frontal_sigma_gain
    if sideways is not None and not frontal:
        raise GaitError(
            "frontal_sigma_gain requires a 3D walker (--musc-model 26), and this one is planar: "
            "remove it"
        )

    def size(entry: Entry) -> float:
        if entry.group == "exoskeleton" and exo is not None:
            return exo
        return sideways if sideways is not None and entry.name in frontal else own

    return 0.01 * np.array([size(entry) for entry in parameters.entries if entry.free])


def _perturbations(configuration: GaitConfiguration) -> Perturbations | None:
    sizes = configuration.perturbation_sizes or {}
    known = [entry.name for entry in fields(PerturbationSizes)]
    unknown = [name for name in sizes if name not in known]
    if unknown:
        raise GaitError(
            f"unknown perturbations {listing(unknown)}; available: {listing(known)}."
            f"{did_you_mean(unknown[0], known)}"
        )
    if not configuration.perturbed_repeats:
        defaults = type(configuration).model_fields
        aimless = [
            name for name in OF_REPEATS if getattr(configuration, name) != defaults[name].default
        ]
        if aimless:
            raise GaitError(
                f"{listing(aimless)} requires perturbed repeats: set "
                "perturbed_repeats too, or remove it"
            )
        return None
    return Perturbations(
        configuration.perturbed_repeats,
        configuration.perturbation_seed,
        configuration.perturbed_cost,
        PerturbationSizes(**sizes),
        first_unperturbed=configuration.unperturbed_repeat,
    )


def _model(configuration: GaitConfiguration) -> str:
    """File or name of the walker."""
    if configuration.model_file is not None:
        return configuration.model_file
    return BY_MUSCLES[configuration.musc_model]


def _device(configuration: GaitConfiguration) -> str | None:
    """Name of the device to attach; None for an unmodified model."""
    name, model_file = configuration.model, configuration.model_file
    known = ["baseline", "default", *shipped_devices(), *MYOASSIST_DEVICES]
    if name not in known:
        raise GaitError(
            f"unknown device {name!r}; available: {listing(known)}.{did_you_mean(name, known)}"
        )
    if name in shipped_devices():
        return name
    if model_file is not None and (model_file not in SHIPPED_MODELS or model_file.endswith("_exo")):
        # a model file has its own device, or none
        return None
    if name in ("baseline", "default"):
        return "ankle" if configuration.exo and name == "default" else None
    return MYOASSIST_DEVICES[name]


def device_notes(configuration: GaitConfiguration) -> list[str]:
    """Note for a product in MyoAssist that is replaced by a generic device."""
    name = configuration.model
    if name not in MYOASSIST_DEVICES or (own := _device(configuration)) is None:
        return []
    device = shipped_devices()[own]
    mass = 2.0 * sum(part.mass for part in device.parts.values())
    return [
        f"{name} is replaced by the generic device {own!r} ({mass:g} kg, up to "
        f"{device.torque:g} N m), with other mass and limits than the product."
    ]


def _settings(configuration: GaitConfiguration, threads: int) -> WalkSettings:
    return WalkSettings(
        duration=configuration.sim_time,
        pose=configuration.pose_key,
        joint_speeds=configuration.joint_speeds or {},
        delayed=configuration.delayed,
        max_torque=configuration.max_torque,
        compat=configuration.compat is not None,
        per_leg=configuration.reflex_mode == "ind",
        threads=threads,
    )


def _profile(configuration: GaitConfiguration) -> Profile | None:
    if not configuration.exo:
        return None
    strict = configuration.compat is not None
    if configuration.use_4param_spline:
        return FourParameterProfile(configuration.fixed_exo, strict)
    return PointsProfile(configuration.n_points, configuration.fixed_exo, strict)


def _controller(configuration: GaitConfiguration) -> ReflexController | None:
    """Own reflexes; None for those of the package."""
    if configuration.controller is None:
        return None
    if configuration.compat is not None:
        raise GaitError("compat=myoassist has its own reflexes; remove controller, or compat")
    return load_controller(configuration.controller)


def _objective(
    configuration: GaitConfiguration,
    speed: float,
    slope: float,
    reference: tuple[str, str] | None,
) -> WalkObjective | MyoAssistCost:
    flag = f"-{configuration.cost}"
    if configuration.compat is not None:
        if flag not in FLAGS:
            raise GaitError(
                f"compat=myoassist does not support the cost {flag}; choose another, or remove "
                "compat"
            )
        if configuration.weights is not None:
            raise GaitError(
                "weights are not supported with compat=myoassist: choose a cost such as -eff "
                "instead, or remove compat"
            )
        if configuration.tgt_vel_tol > 0.0:
            raise GaitError(
                "tgt_vel_tol is not supported with compat=myoassist; remove one of them"
            )
        path, emg = None if reference is None else reference[0], configuration.reference_emg
        return MyoAssistCost(
            FLAGS[flag],
            speed=speed,
            strides=configuration.num_strides,
            symmetry_threshold=configuration.tgt_sym_th,
            grf_threshold=configuration.tgt_grf_th,
            kinematics=None if path is None else read_myoassist_kinematics(path),
            emg=None if emg is None else read_myoassist_emg(emg),
        )
    weights = dict(PRESETS[flag] if configuration.weights is None else configuration.weights)
    tracking = [term for term in TRACKING if weights.get(term, 0.0) > 0.0]
    if tracking and reference is None and fits_condition(speed, slope):
        reference = (ADULT, "")
    if tracking and reference is None:
        raise GaitError(
            f"the term {tracking[0]!r} requires a reference gait at {speed:g} m/s and {slope:g} "
            f"deg; the shipped one is for level walking at {adult_norm().reference.speed:g} m/s: "
            f"use another with reference=FILE, the shipped one with reference={ADULT}, or "
            "a cost without tracking, such as -eff or -vel"
        )
    has_activations = reference is not None or configuration.reference_emg is not None
    if weights.get("emg", 0.0) > 0.0 and not has_activations:
        raise GaitError(
            "the term 'emg' requires reference activations: give their file with "
            "reference_emg=FILE, a reference gait that contains them with reference=FILE, or "
            "choose another cost, such as -vel"
        )
    return WalkObjective(
        weights=weights,
        speed=speed,
        speed_tolerance=configuration.tgt_vel_tol,
        strides=configuration.num_strides,
        symmetry_threshold=configuration.tgt_sym_th,
        grf_threshold=configuration.tgt_grf_th,
        # ref_diff is the default: the trunk of the reference, if it has one
        trunk=None if configuration.trunk_err_type == "ref_diff" else configuration.trunk_err_type,
        reference=_reference(reference, configuration.reference_emg),
    )


def _reference(reference: tuple[str, str] | None, emg: str | None) -> GaitReference | None:
    """The tracked gait, with activations from a separate file if given."""
    gait = None if reference is None else named_norm(*reference).reference
    if emg is None:
        return gait
    activations = dict(zip(EMG_GROUPS, map(Curve, read_myoassist_emg(emg).T), strict=True))
    if gait is None:
        return GaitReference(Path(emg).stem, None, {}, activations, source=emg)
    return replace(gait, emg=activations)


def check_chosen_trunk(changes: Mapping[str, Any], problem: GaitProblem) -> None:
    """Check that the reference has a trunk if options select it.

    The configuration alone does not show this, as ``ref_diff`` is the default.

    Args:
      changes: given values of the configuration, by key.
      problem: problem of the configuration.

    Raises:
      GaitError: no reference has a trunk.
    """
    if changes.get("trunk_err_type") == "ref_diff":
        for scenario in problem.scenarios:
            if isinstance(scenario.objective, WalkObjective):
                replace(scenario.objective, trunk="ref_diff")  # raises


def _check_activations(objective: WalkObjective, walker: Walker) -> None:
    """Raise GaitError for tracked activations with names that are not muscle groups."""
    if objective.reference is None or not objective.weights.get("emg", 0.0) > 0.0:
        return
    known = walker.anatomy.muscles
    unknown = [name for name in objective.reference.emg if name not in known]
    if unknown:
        raise GaitError(
            f"the reference {objective.reference.name!r} has activations of {listing(unknown)}, "
            f"but {walker.source} has the muscle groups {listing(known)}."
            f"{did_you_mean(unknown[0], known)}"
        )
