"""From an experiment file to problems: models, unknowns, recordings, what is held out."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from trueup.errors import ExperimentError, RecordingError, did_you_mean, listing
from trueup.parameters import ParameterDict
from trueup.signals import TimeSeries, split_by_time
from trueup.simulation.lead_in import LeadIn
from trueup.simulation.model_sequences import ModelSequences
from trueup.simulation.observation import GainOrBias, MeasurementModel
from trueup.sysid.experiment.initial_unknowns import add_initial_states, window_starts
from trueup.sysid.experiment.model_loading import load_spec, model_files
from trueup.sysid.experiment.settings import Experiment, GainPart, MeasurementPart
from trueup.sysid.experiment.unknowns import build_parameters
from trueup.sysid.fit.observed_sequence import ObservationSettings
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.recordings.piece_start import (
    SMOOTHING,
    cut,
    initial_state,
    lead_in_of,
    unmeasured_positions,
)
from trueup.sysid.recordings.recorded import LoadedRecording, load_recording


class MeasurementRules:
    """Delays, gains and biases of an experiment, resolved for the signals of a sequence."""

    def __init__(self, part: MeasurementPart, parameters: ParameterDict):
        self.part = part
        self.parameters = parameters
        self.delay_parameters = tuple(part.delays.values())
        for kind, used in (
            ("delays", part.delays.values()),
            ("gains", [_gain(g).parameter for g in part.gains.values()]),
            ("biases", [_gain(g).parameter for g in part.biases.values()]),
        ):
            for name in used:
                if name not in parameters:
                    raise ExperimentError(
                        f"measurement.{kind} names the parameter {name!r}; there are "
                        f"{listing(parameters)}.{did_you_mean(name, parameters)}"
                    )

    def check(self, signals: list[str]) -> None:
        """Raise ExperimentError for a pattern that fits none of ``signals``."""
        for kind in ("signals", "delays", "gains", "biases"):
            for pattern in getattr(self.part, kind):
                if not any(fnmatchcase(s, pattern) for s in signals):
                    raise ExperimentError(
                        f"measurement.{kind}: {pattern!r} fits no recorded signal; there are "
                        f"{listing(signals)}.{did_you_mean(pattern, signals)}"
                    )

    def __call__(self, signals: tuple[str, ...]) -> MeasurementModel:
        """Measurement model for the signal of each channel."""
        delays = {}
        for pattern, parameter in self.part.delays.items():
            delays.update({i: parameter for i, s in enumerate(signals) if fnmatchcase(s, pattern)})
        changes = []
        for is_gain, rules in ((True, self.part.gains), (False, self.part.biases)):
            for pattern, rule in rules.items():
                part = _gain(rule)
                fits = np.array([i for i, s in enumerate(signals) if fnmatchcase(s, pattern)], int)
                if not fits.size:
                    continue
                size = self.parameters[part.parameter].size
                if size not in (1, fits.size):
                    raise ExperimentError(
                        f"the parameter {part.parameter!r} has {size} elements, {pattern!r} fits "
                        f"{fits.size} channels"
                    )
                elements = np.zeros(fits.size, int) if size == 1 else np.arange(fits.size)
                changes.append(
                    GainOrBias(
                        part.parameter,
                        fits,
                        elements,
                        is_gain,
                        part.target in ("predicted", "both"),
                        part.target in ("measured", "both"),
                    )
                )
        return MeasurementModel(delays, tuple(changes))


def _gain(rule: GainPart | str) -> GainPart:
    return GainPart(parameter=rule) if isinstance(rule, str) else rule


@dataclass
class Prepared:
    """Everything an identification needs, read and checked."""

    experiment: Experiment
    folder: Path
    parameters: ParameterDict
    """Unknowns at their start values, initial states that are estimated included."""
    training: list[ModelSequences]
    held_out: list[ModelSequences]
    settings: ObservationSettings
    rules: MeasurementRules
    recordings: list[LoadedRecording]
    specs: dict[str, Any]
    """Model and variants by name; the main one is ``model``."""
    inputs: list[Path]
    """Files that were read."""
    notes: list[str]
    held_out_states: ParameterDict
    """Unknown initial states of held-out parts, which only a fit to these parts alone has."""

    def problem(
        self, parameters: ParameterDict | None = None, sequences: list[ModelSequences] | None = None
    ) -> GrayBoxProblem:
        """Problem of the training data, or of other sequences of this experiment."""
        return GrayBoxProblem(
            parameters or self.parameters,
            sequences if sequences is not None else self.training,
            self.settings,
            self.rules,
        )

    def held_out_alone(self) -> GrayBoxProblem | None:
        """Problem of the held-out data for a fit of its own; None where nothing is held out.

        The error of a measured initial state would be taken for one of the parameters: these states
        are unknowns too, after those of :meth:`problem`.
        """
        return self.problem(self.held_out_parameters(), self.held_out) if self.held_out else None

    def held_out_parameters(self) -> ParameterDict:
        """The unknowns of :meth:`held_out_alone`."""
        parameters = self.parameters.copy()
        for param in self.held_out_states.values():
            parameters.add(param)
        return parameters


def prepare(experiment: Experiment, folder: Path) -> Prepared:
    """Read models and recordings, and check everything before time is spent.

    Args:
      experiment: the experiment.
      folder: folder that its file names refer to.

    Raises:
      TrueupError: the first thing that is wrong, with what exists and what to do.
    """
    specs = {"model": load_spec(experiment.model, folder)}
    inputs = model_files(specs["model"], folder / experiment.model.file)
    for name, part in experiment.variants.items():
        if name == "model":
            raise ExperimentError("variants: 'model' is the name of the main model; take another")
        specs[name] = load_spec(part, folder)
        inputs += model_files(specs[name], folder / part.file)
    models = {name: spec.copy().compile() for name, spec in specs.items()}
    parameters = build_parameters(experiment.parameters, specs["model"], models["model"])
    rules = MeasurementRules(experiment.measurement, parameters)
    recordings = []
    for part in experiment.recordings:
        variant = part.model or "model"
        if variant not in models:
            raise ExperimentError(
                f"recording {part.file!r}: model {variant!r} is not among the variants "
                f"{listing(experiment.variants)}.{did_you_mean(variant, experiment.variants)}"
            )
        recordings.append(
            load_recording(
                part,
                folder,
                models[variant],
                experiment.measurement.filters,
                experiment.control,
            )
        )
    inputs += [r.path for r in recordings]
    _check_names(recordings, experiment)
    rules.check(sorted({s for r in recordings for s in r.measured.signal_mapping or {}}))
    refused = [
        f"{r.name}: {f.sentence}" for r in recordings for f in r.quality.of_severity("refuse")
    ]
    if refused:
        raise RecordingError(
            "a recording cannot be used:\n  " + "\n  ".join(refused) + "\nCorrect the file or the "
            "column mapping, trim the recording, or accept a check that you looked at "
            "(accept: [check name])"
        )
    pieces = _pieces(experiment, recordings, models)
    _check_states(parameters, [p.name for p in pieces])
    for piece in pieces:
        if not piece.held_out:
            first = piece.recording.part.initial == "estimated"
            _add_initial_unknowns(experiment, parameters, models[piece.variant], piece, first)
    held_out_states = ParameterDict()
    for piece in pieces:
        if piece.held_out:
            _add_initial_unknowns(
                experiment, held_out_states, models[piece.variant], piece, piece.state_measured
            )
    notes = [note for r in recordings for note in r.notes]
    for recording in recordings:
        model = models[recording.part.model or "model"]
        notes += unmeasured_positions(recording, model, parameters)
    training = _groups(pieces, specs, held_out=False)
    if not training:
        raise ExperimentError("held_out.recordings names all recordings: nothing is left to fit")
    settings = _settings(experiment, recordings)
    return Prepared(
        experiment,
        folder,
        parameters,
        training,
        _groups(pieces, specs, held_out=True),
        settings,
        rules,
        recordings,
        specs,
        list(dict.fromkeys(inputs)),
        notes,
        held_out_states,
    )


@dataclass(frozen=True)
class _Piece:
    """A stretch of one recording."""

    name: str
    variant: str
    held_out: bool
    recording: LoadedRecording
    control: TimeSeries
    measured: TimeSeries
    state: np.ndarray
    state_measured: bool
    """Whether the state comes from measured signals, and so with their noise."""
    lead_in: LeadIn | None
    """What was recorded before it."""


def _check_names(recordings: list[LoadedRecording], experiment: Experiment) -> None:
    names = [r.name for r in recordings]
    double = sorted({n for n in names if names.count(n) > 1})
    if double:
        raise ExperimentError(
            f"recordings share the name {listing(double)}: give each its own name"
        )
    for name in experiment.held_out.recordings:
        if name not in names:
            raise ExperimentError(
                f"held_out.recordings names {name!r}; recordings are {listing(names)}."
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
                    f"parameters.{param.name}: {target!r} is the state of {sequence!r}; recordings "
                    f"are {listing(sequences)}.{did_you_mean(sequence, sequences)}"
                )


def _pieces(
    experiment: Experiment,
    recordings: list[LoadedRecording],
    models: Mapping[str, mujoco.MjModel],
) -> list[_Piece]:
    pieces = []
    for recording in recordings:
        variant = recording.part.model or "model"
        model = models[variant]
        out = recording.name in experiment.held_out.recordings
        fraction = 0.0 if experiment.held_out.recordings else experiment.held_out.fraction
        if out or fraction == 0:
            spans = [((recording.measured.times[0], recording.measured.times[-1]), out, "")]
        else:
            split = split_by_time(recording.measured.times, held_out=fraction)
            spans = [
                (split.training[0], False, ""),
                (split.held_out[0], True, " (held out)"),
            ]
        beginning = None
        for position, (span, held, suffix) in enumerate(spans):
            control, measured = cut(recording, span, experiment.control)
            start = float(measured.times[0])
            # what is given for the beginning does not hold where the beginning is left out
            first = position == 0 and not recording.begins_late
            state = initial_state(recording, model, start, first)
            pieces.append(
                _Piece(
                    recording.name + suffix,
                    variant,
                    held,
                    recording,
                    control,
                    measured,
                    state,
                    not first or recording.part.initial in ("measured", "estimated"),
                    lead_in_of(recording, state, start, beginning, experiment.control),
                )
            )
            beginning = state if beginning is None else beginning
    return pieces


def _add_initial_unknowns(
    experiment: Experiment,
    parameters: ParameterDict,
    model: mujoco.MjModel,
    piece: _Piece,
    first: bool,
) -> None:
    """Unknown initial states of a piece, where ``first``, of its later windows, or of both."""
    window = experiment.window if experiment.window_states == "estimated" else 0.0
    starts = window_starts(piece.measured, float(model.opt.timestep), window, piece.name)
    # a recording that begins as it is said to has only later windows to estimate
    chosen = starts if first else starts[1:]
    add_initial_states(parameters, model, piece.measured, piece.state, chosen, SMOOTHING)


def _groups(pieces: list[_Piece], specs: Mapping[str, Any], held_out: bool) -> list[ModelSequences]:
    groups = []
    for variant, spec in specs.items():
        chosen = [p for p in pieces if p.variant == variant and p.held_out == held_out]
        if chosen:
            groups.append(
                ModelSequences(
                    variant,
                    spec,
                    [p.name for p in chosen],
                    [p.state for p in chosen],
                    [p.control for p in chosen],
                    [p.measured for p in chosen],
                    allow_missing_sensors=True,
                    lead_in=[p.lead_in for p in chosen],
                )
            )
    return groups


def _settings(experiment: Experiment, recordings: list[LoadedRecording]) -> ObservationSettings:
    signals = list(dict.fromkeys(s for r in recordings for s in r.measured.signal_mapping or {}))
    weights: dict[str, float] = {}
    noise: dict[str, float] = {}
    for pattern, part in experiment.measurement.signals.items():
        for signal in signals:
            if fnmatchcase(signal, pattern):
                weights[signal] = part.weight
                if part.noise is not None:
                    noise[signal] = part.noise
    return ObservationSettings(
        weights=weights,
        noise=noise,
        normalise="spread",
        control=experiment.control,
        exact_sensor_times=True,
        window=experiment.window,
        state_smoothing=SMOOTHING,
    )
