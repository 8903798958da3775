"""A log and a model with the unknowns of every cause."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import ExperimentError, FitError, did_you_mean, listing
from trueup.explain.causes import CAUSES, GRAVITY, Unknown
from trueup.explain.situation import Situation, extended_spec, one_step_earlier
from trueup.explain.tilt import TiltedGravity
from trueup.parameters import ParameterDict
from trueup.signals import InterpolationMethod, TimeSeries
from trueup.simulation.engine.lead_in import LeadIn
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.simulation.warp.devices import DeviceChoice
from trueup.sysid.causes.freed import FreedFit
from trueup.sysid.causes.machine_candidates import Addition, with_additions
from trueup.sysid.causes.recording_changes import LONGEST_DELAY
from trueup.sysid.experiment.preparation import Prepared, prepare
from trueup.sysid.experiment.settings import Experiment
from trueup.sysid.recordings.measured_state import state_columns

_BEFORE = 1.2 * LONGEST_DELAY  # time before a recording with relevant commands [s]


@dataclass(frozen=True)
class Variant:
    """One set of unknowns of a cause."""

    name: str
    columns: np.ndarray
    """Elements that a fit frees."""
    leading: np.ndarray
    """Those with an effect at the model."""
    more: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    """Elements that are freed too where the others leave a gap."""
    link: str = ""
    """Body that carries a payload."""


@dataclass
class ExplainedLog:
    """A log and a model with the unknowns of every cause, at the values of the model."""

    prepared: Prepared
    training: Any
    """Problem of the training recordings."""
    held_out: Any
    """Problem of the held-out recordings."""
    columns: dict[str, np.ndarray]
    """Elements of each cause, by its name; those of all its variants."""
    always: np.ndarray
    """Elements that every fit frees: unknown initial states."""
    states: np.ndarray
    """Elements of the held-out problem that are initial states, after those of the training."""
    guesses: list[tuple[float, ...]]
    """Start values for each element; empty: the default."""
    offsets: np.ndarray
    """Offset of each element from the value that it represents ``(p,)``."""
    names: list[str]
    """Name of each element ``(p,)``."""
    units: list[str]
    """Unit of each element ``(p,)``."""
    absent: list[str]
    """Causes without an element in the model, by name."""
    notes: list[str]
    variants: dict[str, list["Variant"]] = field(default_factory=dict)
    """Variants of each cause of which a fit frees one, by its name; others have one variant."""
    touches: bool = True
    """Whether anything may touch in a recorded pose."""
    reaches: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Value of each element beyond which it has no effect in this log, or NaN, and the sign of that
    direction ``(p, 2)``."""

    additions: Sequence[Addition] = ()
    """Elements in the models for unknowns of causes."""

    def __post_init__(self) -> None:
        if not len(self.reaches):
            self.reaches = np.full((len(self.names), 2), np.nan)

    def link_of(self, cause: str, fit: FreedFit) -> str:
        """Link that carries the payload in a fit; empty for other causes."""
        for variant in self.variants_of(cause):
            if variant.link and np.isin(variant.columns, fit.columns).all():
                return variant.link
        return ""

    def variants_of(self, cause: str) -> list["Variant"]:
        """Variants of a cause."""
        return self.variants.get(cause) or [Variant("", self.columns[cause], self.columns[cause])]

    @property
    def all_notes(self) -> list[str]:
        """Notes on the recordings and on the device."""
        return [*self.notes, *self.training.device_notes]

    @property
    def start(self) -> np.ndarray:
        """Values of the model ``(p,)``."""
        return self.training.space.start


def prepare_log(experiment: Experiment, folder: Path) -> Prepared:
    """Read an experiment for an explanation.

    Its own parameters are not fitted here: the model is as in its file. Parameters of the
    measurement, and frozen ones, keep their start values.

    Args:
      experiment: the experiment; it requires no parameters.
      folder: base folder of its file names.

    Raises:
      ExperimentError: no data are held out.
      SimulationError: the requested device is not usable.
      TrueupError: other invalid inputs.
    """
    device = DeviceChoice(experiment.simulation.device, "The search for causes")
    prepared = prepare(
        _as_the_model(experiment), folder, change=extended_spec, needs_parameters=False
    )
    if not prepared.held_out:
        raise ExperimentError(
            "no data are held out, but causes are rated by their error on data that their fits "
            "do not use: write held_out: {fraction: 0.25}, or name recordings"
        )
    prepared.device = device
    if experiment.parameters:
        prepared.notes.append(
            "The parameters of the experiment are not fitted: the model is as in its file."
        )
    return prepared


def explained_log(prepared: Prepared, causes: Sequence[str] = ()) -> ExplainedLog:
    """Log with the unknowns of causes.

    Args:
      prepared: model and recordings, from :func:`prepare_log`.
      causes: names in :data:`CAUSES`; empty: all.

    Raises:
      FitError: an unknown cause, or one without an element in the model.
      SimulationError: the simulation of the model fails.
    """
    wanted = list(dict.fromkeys(causes)) or list(CAUSES)
    if unknown := [name for name in wanted if name not in CAUSES]:
        raise FitError(
            f"unknown cause {unknown[0]!r}; available: {listing(CAUSES, 20)}."
            f"{did_you_mean(unknown[0], CAUSES)}"
        )
    situation = Situation.of(prepared)
    kept, states = _apart(prepared.parameters)
    parameters = kept.copy()
    parameters.update(states)
    made: dict[str, dict[str, Unknown]] = {cause: {} for cause in wanted}
    for cause in wanted:
        for one in CAUSES[cause].unknowns(situation):
            param = one.parameter
            while param.name in parameters:
                param.name += "_"
            parameters.add(param)
            made[cause][param.name] = one
    absent = [cause for cause in wanted if not made[cause]]
    if causes and absent:
        raise FitError(
            f"the cause {absent[0]!r} has no effect in this recording: "
            "the model has no matching actuator, joint, contact or recorded position"
        )
    if len(absent) == len(wanted):
        raise FitError("no cause applies: the model has no joint, actuator or contact")
    method = prepared.experiment.control
    every = [one for unknowns in made.values() for one in unknowns.values()]
    additions = list({id(one.addition): one.addition for one in every if one.addition}.values())

    def groups_of(groups: Sequence[ModelSequences]) -> list[ModelSequences]:
        return with_additions([_commanded(g, method) for g in groups], additions)

    whole: Any = prepared.motion_problem(parameters, groups_of(prepared.training))
    places: dict[str, np.ndarray] = {}
    element = 0
    for param in whole.parameters.free:
        places[param.name] = np.arange(element, element + param.size)
        element += param.size
    guesses: list[tuple[float, ...]] = [()] * element
    offsets, reaches = np.zeros(element), np.full((element, 2), np.nan)
    names, units = list(whole.space.names), list(whole.space.units or [""] * element)
    for unknowns in made.values():
        for name, one in unknowns.items():
            offsets[places[name]], reaches[places[name]] = one.offset, one.reach
            for place in places[name]:
                guesses[place] = one.guesses
            for place, (title, unit) in zip(places[name], one.elements, strict=False):
                names[place], units[place] = title, unit
    parameters.update(prepared.held_out_states)
    unseen: Any = prepared.motion_problem(parameters, groups_of(prepared.alone))
    size = unseen.space.size
    variants = {cause: _variants(unknowns, places) for cause, unknowns in made.items() if unknowns}
    if made.get(GRAVITY):
        components = variants[GRAVITY][0].columns
        whole, unseen = TiltedGravity(whole, components), TiltedGravity(unseen, components)
        variants[GRAVITY] = [Variant("", components[:2], components[:2])]
        for place, axis in zip(components, whole.axes, strict=False):
            names[place], units[place] = f"gravity_tilt_{'xyz'[axis]}", "rad"
    columns = {
        cause: np.unique(np.concatenate([np.concatenate([v.columns, v.more]) for v in own]))
        for cause, own in variants.items()
    }
    freed = [places[name] for unknowns in made.values() for name in unknowns]
    return ExplainedLog(
        prepared,
        whole,
        unseen,
        columns,
        np.setdiff1d(np.arange(element), np.concatenate(freed)),
        np.arange(element, size),
        guesses,
        offsets,
        names,
        units,
        absent,
        list(prepared.notes),
        variants,
        situation.touches,
        reaches,
        additions,
    )


def _variants(unknowns: Mapping[str, Unknown], places: Mapping[str, np.ndarray]) -> list[Variant]:
    """Variants of a cause from its unknowns, by the names of their parameters."""
    out = []
    for variant in dict.fromkeys(one.variant for one in unknowns.values()):
        own = {n: one for n, one in unknowns.items() if one.variant == variant}

        def elements(wanted: Callable[[Unknown], bool], own: Mapping[str, Unknown] = own) -> Any:
            parts = [places[name] for name, one in own.items() if wanted(one)]
            return np.concatenate(parts) if parts else np.zeros(0, int)

        out.append(
            Variant(
                variant,
                elements(lambda one: not one.extends),
                elements(lambda one: not (one.extends or one.follows)),
                elements(lambda one: one.extends),
                next((one.link for one in own.values()), ""),
            )
        )
    return out


def _apart(parameters: ParameterDict) -> tuple[ParameterDict, ParameterDict]:
    """Known parameters, and unknown initial states."""
    kept, states = ParameterDict(), ParameterDict()
    for param in parameters.values():
        (states if param.is_free else kept).add(param)
    return kept, states


def _as_the_model(experiment: Experiment) -> Experiment:
    """Experiment with its measurement parameters, and initial states as the only unknowns."""
    kept = {
        name: part.model_copy(update={"frozen": True})
        for name, part in experiment.parameters.items()
        if part.frozen or (part.target is None and part.inertia is None and part.tied_to is None)
    }
    measurement = experiment.measurement
    named = {*measurement.delays.values()}
    for part in (*measurement.gains.values(), *measurement.biases.values()):
        named.add(part if isinstance(part, str) else part.parameter)
    for name in named & set(experiment.parameters) - set(kept):  # tied ones
        source = experiment.parameters[str(experiment.parameters[name].tied_to)]
        kept[name] = source.model_copy(update={"frozen": True})
    # the noise of a measured state would be attributed to a cause
    recordings = [
        part.model_copy(update={"initial": "estimated"}) if part.initial == "measured" else part
        for part in experiment.recordings
    ]
    return experiment.model_copy(
        update={"parameters": kept, "recordings": recordings, "window_states": "estimated"}
    )


def _commanded(group: ModelSequences, method: InterpolationMethod) -> ModelSequences:
    """Recordings with commands for the model of :func:`extended_spec`, also before their start.

    Before the start of a recording its first command is held: a delayed actuator would otherwise
    follow the zeros of an empty buffer. If a part starts in the middle, with all of its state but
    the delay buffers measured, only the commands just before it matter.
    """
    trajectories = [_with_commands(t, method) for t in group.measured_rollout]
    names = [t.name for t in trajectories]
    return ModelSequences.from_trajectories(group.name, group.spec, names, trajectories, True)


def _with_commands(trajectory: SystemTrajectory, method: InterpolationMethod) -> SystemTrajectory:
    model, control, before = trajectory.model, trajectory.control, trajectory.lead_in
    start, end = float(control.times[0]), float(control.times[-1])
    lead_in = LeadIn(control, trajectory.initial_state)
    if before is None:
        times, values = np.array([start - _BEFORE]), control.data[:1]
    else:
        inside = before.control.times < start
        times, values = before.control.times[inside], before.control.data[inside]
        known = state_columns(model, trajectory.sensordata).positions
        if model.na or len(known) < model.nq:
            lead_in = before
    whole = TimeSeries(
        np.concatenate([times, control.times]),
        np.concatenate([values, control.data]),
        control.signal_mapping,
    )
    first = float(times[0]) if lead_in is before else max(start - _BEFORE, float(times[0]))
    earlier = one_step_earlier(model, whole, np.array([first, start]), method)
    return dataclasses.replace(
        trajectory,
        control=one_step_earlier(model, whole, np.array([start, end]), method),
        lead_in=dataclasses.replace(lead_in, control=earlier),
    )
