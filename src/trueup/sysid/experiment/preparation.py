"""Preparation of an experiment: models, parameters, recordings, held-out parts, problems."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco

from trueup.errors import ExperimentError, RecordingError, SignalError, did_you_mean, listing
from trueup.parameters import ParameterDict
from trueup.signals import Recording, split_by_time
from trueup.simulation.engine.spare_memory import release_spare_memory
from trueup.simulation.measured.measurement import MeasurementRules
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.simulation.models.element_names import generated_names
from trueup.simulation.models.sources import model_sources
from trueup.simulation.models.visuals import simulated_spec
from trueup.simulation.warp.devices import DeviceChoice
from trueup.sysid.experiment.design_names import check_design
from trueup.sysid.experiment.initial_unknowns import add_initial_states, window_starts
from trueup.sysid.experiment.integral_unknowns import add_integrals
from trueup.sysid.experiment.measurement import (
    check_patterns,
    measurement_rules,
    observation_settings,
)
from trueup.sysid.experiment.model_loading import load_model
from trueup.sysid.experiment.settings import Experiment, RecordingPart
from trueup.sysid.experiment.unknowns import build_parameters
from trueup.sysid.fit.observation_settings import ObservationSettings
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.recordings.closed_loops import check_loops
from trueup.sysid.recordings.loading import CheckedRecording, load_recording, read_recording
from trueup.sysid.recordings.measured_state import state_columns
from trueup.sysid.recordings.overlap import check_overlap
from trueup.sysid.recordings.sequence_start import (
    first_part,
    later_part,
    unmeasured_positions,
)
from trueup.sysid.recordings.state_smoothing import WIDEST, chosen_half_width
from trueup.sysid.torque.left_out_instants import left_out_notes
from trueup.sysid.torque.setup import torque_problem

_Part = tuple[CheckedRecording, SystemTrajectory]

MOST_ALONE = 64
"""Maximum number of held-out parts that are refitted. Each adds initial states as parameters, and
the cost of a fit is quadratic in their number."""


@dataclass
class Prepared:
    """Checked inputs of an identification."""

    experiment: Experiment
    folder: Path
    parameters: ParameterDict
    """Parameters at their start values, including estimated initial states."""
    training: list[ModelSequences]
    held_out: list[ModelSequences]
    alone: list[ModelSequences]
    """Held-out parts that are refitted: all, or :data:`MOST_ALONE` spread over them."""
    settings: ObservationSettings
    rules: MeasurementRules
    recordings: list[CheckedRecording]
    specs: dict[str, Any]
    """Specs of the model and its variants by name, as read; the main one is ``model``."""
    inputs: list[Path]
    """Files that were read."""
    notes: list[str]
    torques: Any = field(default=None, init=False)
    """Setup of inverse dynamics, constructed on first use; see
    :class:`trueup.sysid.torque.setup.TorqueSetup`."""
    device: DeviceChoice = field(default_factory=DeviceChoice)
    """Device of large batches of simulations; the CPU unless a fit requests another."""
    held_out_states: ParameterDict = field(default_factory=ParameterDict)
    """Initial states of the refitted held-out parts, which are parameters of that fit only."""

    def problem(
        self, parameters: ParameterDict | None = None, sequences: list[ModelSequences] | None = None
    ) -> Any:
        """Problem of the training data, or of other sequences of this experiment.

        It compares the signals of a simulation, or torques if the method of the search is inverse
        dynamics.
        """
        if self.experiment.search.by_torques:
            return torque_problem(self, parameters, sequences)
        return self.motion_problem(parameters, sequences)

    def motion_problem(
        self, parameters: ParameterDict | None = None, sequences: list[ModelSequences] | None = None
    ) -> GrayBoxProblem:
        """Problem that compares the signals of a simulation, for any method of the search."""
        return GrayBoxProblem(
            parameters or self.parameters,
            sequences if sequences is not None else self.training,
            self.settings,
            self.rules,
            device=self.device,
        )

    def held_out_alone(self) -> Any:
        """Problem of a separate fit to held-out data; None if nothing is held out.

        An error of a measured initial state would bias the parameters, so these states are
        parameters too, after those of :meth:`problem`.
        """
        if not self.alone:
            return None
        if self.experiment.search.by_torques:
            return torque_problem(self, sequences=self.alone)  # without initial states
        return self.problem(self.held_out_parameters(), self.alone)

    def held_out_parameters(self) -> ParameterDict:
        """The parameters of :meth:`held_out_alone`."""
        parameters = self.parameters.copy()
        if self.experiment.search.by_torques:
            return parameters  # without initial states
        for param in self.held_out_states.values():
            parameters.add(param)
        return parameters


def prepare(
    experiment: Experiment,
    folder: Path,
    opened: Mapping[Path, Recording] | None = None,
    on_read: Callable[[str, float], None] = lambda name, share: None,
    change: Callable[[Any], Any] | None = None,
    needs_parameters: bool = True,
) -> Prepared:
    """Read and check models and recordings before the fit.

    Args:
      experiment: the experiment.
      folder: folder to which its file names are relative.
      opened: recordings that were already read, by their resolved paths.
      on_read: called with the file of each recording before it is read, and the finished share.
      change: returns the ``MjSpec`` to simulate for the one of a file; None: the same.
      needs_parameters: whether an experiment without ``parameters`` is an error.

    Raises:
      TrueupError: the first error in the inputs.
    """
    if needs_parameters and not experiment.parameters:
        raise ExperimentError(
            "'parameters' is missing: give the parameters to identify, such as\n"
            "    parameters:\n"
            "      elbow_damping: {target: joint/elbow/damping, bounds: [0, 1]}\n"
            "or run trueup explain, which requires none, to find candidates from the recording"
        )
    if "model" in experiment.variants:
        raise ExperimentError("variants: 'model' is the name of the main model; use another name")
    specs: dict[str, Any] = {}
    inputs: list[Path] = []
    model_notes: list[str] = []
    for name, part in {"model": experiment.model, **experiment.variants}.items():
        specs[name], said = load_model(part, folder)
        model_notes += said
        inputs += model_sources(folder / part.file)
    targets = [part.target for part in experiment.parameters.values()]
    named = [t for given in targets for t in (given if isinstance(given, list) else [given]) if t]
    simulated = {name: simulated_spec(spec, named) for name, spec in specs.items()}
    if change is not None:
        simulated = {name: change(spec) for name, spec in simulated.items()}
    models = {name: spec.copy().compile() for name, spec in simulated.items()}
    check_design(experiment.design, models["model"])
    parameters = build_parameters(experiment.parameters, simulated["model"], models["model"])
    rules = measurement_rules(experiment.measurement, parameters)
    opened = opened or {}
    loaded = []
    for number, part in enumerate(experiment.recordings):
        on_read(part.file, number / len(experiment.recordings))
        loaded.append(_load(part, folder, models, experiment, opened))
    recordings = [facts for facts, _ in loaded]
    inputs += [r.path for r in recordings]
    _check_names(recordings, experiment)
    check_overlap([whole for _, whole in loaded])
    signals = list(dict.fromkeys(s for _, w in loaded for s in w.sensordata.signal_mapping or {}))
    check_patterns(experiment.measurement, sorted(signals))
    _check_quality(recordings)
    training: list[_Part] = []
    held_out: list[_Part] = []
    for facts, whole in loaded:
        first, later = _split(facts, whole, experiment)
        training += [(facts, first)] if first is not None else []
        held_out += [(facts, later)] if later is not None else []
    _check_states(parameters, [t.name for _, t in (*training, *held_out)])
    smoothing = chosen_half_width(
        (t.sensordata, state_columns(t.model, t.sensordata)) for _, t in training
    )
    for facts, sequence in training:
        estimated = facts.part.initial == "estimated"
        _add_initial_unknowns(experiment, parameters, sequence, estimated, smoothing)
        add_integrals(parameters, sequence, parameters)
    held_out_states, guessed = ParameterDict(), []
    alone = _spread_over(held_out, MOST_ALONE)
    for facts, sequence in alone:
        # a measured state inherits the noise of its samples
        measured = sequence.name != facts.name or not facts.start_is_known
        _add_initial_unknowns(experiment, held_out_states, sequence, measured, smoothing)
        integrals = add_integrals(held_out_states, sequence, parameters)
        if integrals:
            guessed.append(
                f"{sequence.name}: the initial integral of {listing(integrals)} is unknown: "
                "the held-out error assumes the one that carries the weight in its first pose."
            )
    if not training:
        raise ExperimentError(
            "held_out.recordings names all recordings: at least one must remain for the fit"
        )
    notes = [*model_notes]
    notes += [note for model in models.values() for note in generated_names(model)]
    notes += [note for facts in recordings for note in facts.notes]
    unused = [
        name for name in experiment.variants if name not in {_variant(r.part) for r in recordings}
    ]
    if unused:
        notes.append(f"No recording has the variant {listing(unused)} of the model.")
    notes += guessed
    if experiment.window > 0 and smoothing < WIDEST:
        notes.append(
            f"States of windows are from local quadratic fits over {1e3 * smoothing:.2g} ms on "
            f"either side, because the recorded motion is not quadratic within {1e3 * WIDEST:g} ms."
        )
    estimated_joints = _estimated_joints(parameters)
    if len(alone) < len(held_out):
        notes.append(
            f"{len(alone)} of the {len(held_out)} held-out parts, spread evenly, are refitted "
            "to compare their parameters; all are included in the held-out error."
        )
    for facts, whole in loaded:
        notes += check_loops(whole)
        if experiment.search.by_torques:
            notes += left_out_notes(whole, _numbers(whole.model, facts.part.controls))
        notes += unmeasured_positions(facts.part, whole, estimated_joints)
    notes = list(dict.fromkeys(notes))
    fitted, unseen, apart = (_groups(parts, simulated) for parts in (training, held_out, alone))
    release_spare_memory()
    return Prepared(
        experiment,
        folder,
        parameters,
        fitted,
        unseen,
        apart,
        observation_settings(experiment, signals, smoothing),
        rules,
        recordings,
        specs,
        list(dict.fromkeys(inputs)),
        notes,
        held_out_states=held_out_states,
    )


def _numbers(model: mujoco.MjModel, names: Collection[str]) -> set[int]:
    """Indices of actuators."""
    return {i for i in range(model.nu) if model.actuator(i).name in names}


def _spread_over(parts: list[_Part], most: int) -> list[_Part]:
    """The parts, or at most ``most`` of them spread evenly over the list."""
    if len(parts) <= most:
        return parts
    return [parts[k * len(parts) // most] for k in range(most)]


def _load(
    part: RecordingPart,
    folder: Path,
    models: dict[str, mujoco.MjModel],
    experiment: Experiment,
    opened: Mapping[Path, Recording],
) -> tuple[CheckedRecording, SystemTrajectory]:
    variant = _variant(part)
    if variant not in models:
        raise ExperimentError(
            f"recording {part.file!r} refers to an unknown variant {variant!r}; available: "
            f"{listing(experiment.variants)}.{did_you_mean(variant, experiment.variants)}"
        )
    path = folder / part.file
    recording = opened.get(path.resolve()) or read_recording(path, part)
    filters = experiment.measurement.filters
    return load_recording(recording, part, path, models[variant], filters, experiment.control)


def _variant(part: RecordingPart) -> str:
    return part.model or "model"


def _check_quality(recordings: list[CheckedRecording]) -> None:
    refused = [
        f"{r.name}: {f.sentence}" for r in recordings for f in r.quality.of_severity("refuse")
    ]
    if refused:
        raise RecordingError(
            "a recording cannot be used:\n  " + "\n  ".join(refused) + "\nCorrect the file or the "
            "column mapping, trim the recording, or accept a check after inspection "
            "(accept: [check name])" + "".join(_split_advice(r) for r in recordings)
        )


def _split_advice(recording: CheckedRecording) -> str:
    """The entries of the experiment file that split a recording at a jump of its clock."""
    for finding in recording.quality.of_check("gaps"):
        if finding.severity == "refuse":
            end = finding.figures["start_of_longest"]
            start = end + finding.figures["longest"]
            file, name = recording.part.file, recording.name
            return (
                f"\nTo split {name}, give its entry twice, with the same signals and controls:\n"
                f"  - {{file: {file}, name: {name}_1, trim: {{end: {end:.9g}}}, ...}}\n"
                f"  - {{file: {file}, name: {name}_2, trim: {{start: {start:.9g}}}, ...}}"
            )
    return ""


def _check_names(recordings: list[CheckedRecording], experiment: Experiment) -> None:
    names = [r.name for r in recordings]
    double = sorted(name for name, count in Counter(names).items() if count > 1)
    if double:
        raise ExperimentError(
            f"several recordings have the name {listing(double)}: names must be unique"
        )
    for name in experiment.held_out.recordings:
        if name not in names:
            raise ExperimentError(
                f"held_out.recordings names an unknown recording {name!r}; available: "
                f"{listing(names)}."
                f"{did_you_mean(name, names)}"
            )


def _check_states(parameters: ParameterDict, sequences: list[str]) -> None:
    """Raise ExperimentError for an initial state of a sequence that does not exist."""
    for param in parameters.values():
        for target in param.targets:
            kind, _, sequence = target.partition("@")
            if not kind.startswith("state/") or not sequence:
                continue
            if not any(sequence == name or sequence.startswith(f"{name}#") for name in sequences):
                raise ExperimentError(
                    f"parameters.{param.name}: {target!r} refers to an unknown recording "
                    f"{sequence!r}; "
                    f"available: {listing(sequences)}.{did_you_mean(sequence, sequences)}"
                )


def _split(
    facts: CheckedRecording, whole: SystemTrajectory, experiment: Experiment
) -> tuple[SystemTrajectory | None, SystemTrajectory | None]:
    """The part of a recording for the fit and the held-out part, None for an empty one.

    Recordings named in the experiment are held out completely, the end of the others.
    """
    chosen = experiment.held_out
    if facts.name in chosen.recordings:
        return None, whole
    if chosen.fraction == 0:
        return whole, None
    times = whole.sensordata.times
    try:
        split = split_by_time(times, held_out=chosen.fraction)
    except SignalError as error:
        raise ExperimentError(
            f"held_out.fraction is {chosen.fraction:g}: of the recording {facts.name!r}, with "
            f"{len(times)} samples from {times[0]:.6g} to {times[-1]:.6g} s, one part would have "
            "fewer than 2 samples; choose another fraction, or 0 to hold out nothing"
        ) from error
    return (
        first_part(whole, split.training[0], experiment.control),
        later_part(whole, split.held_out[0], experiment.control, f"{whole.name} (held out)"),
    )


def _add_initial_unknowns(
    experiment: Experiment,
    parameters: ParameterDict,
    sequence: SystemTrajectory,
    first: bool,
    smoothing: float,
) -> None:
    """Add initial states of a sequence (if ``first``), of its later windows, or of both."""
    model, measured = sequence.model, sequence.sensordata
    window = experiment.window if experiment.window_states == "estimated" else 0.0
    starts = window_starts(measured, float(model.opt.timestep), window, sequence.name)
    # with a given initial state only later windows are estimated
    chosen = starts if first else starts[1:]
    add_initial_states(parameters, model, measured, sequence.initial_state, chosen, smoothing)


def _estimated_joints(parameters: ParameterDict) -> set[str]:
    """Joints with an estimated initial position."""
    targets = [t.partition("@")[0] for p in parameters.values() for t in p.targets]
    return {t.split("/")[1] for t in targets if t.startswith("state/") and t.endswith("/qpos")}


def _groups(sequences: list[_Part], specs: dict[str, Any]) -> list[ModelSequences]:
    """The sequences by variant of the model."""
    groups = []
    for variant, spec in specs.items():
        chosen = [t for facts, t in sequences if _variant(facts.part) == variant]
        if chosen:
            names = [t.name for t in chosen]
            groups.append(ModelSequences.from_trajectories(variant, spec, names, chosen, True))
    return groups
