"""Gray-box problem: residuals between recordings and simulation for batches of parameters."""

import copy
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import mujoco
import numpy as np

from trueup.errors import FitError, SimulationError
from trueup.fitting.problem import LARGE_RESIDUAL, Failures, Problem, ResidualGroup
from trueup.parameters import ParameterDict
from trueup.parameters.prior_rows import PriorRows
from trueup.simulation.engine.batch import BatchEngine, Block
from trueup.simulation.engine.segment import Segment
from trueup.simulation.engine.window_reader import WindowReader
from trueup.simulation.measured.measurement import MeasurementModel, apply_changes
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.observation import ObservedSequence, first_share
from trueup.simulation.targets.resolution import FieldWrite
from trueup.simulation.targets.variants import BuildModel, ModelVariants
from trueup.simulation.warp.devices import DeviceChoice, WarpDevice
from trueup.sysid.fit.measured_starts import MeasuredStarts
from trueup.sysid.fit.observation_settings import ObservationSettings, check_signal_settings
from trueup.sysid.fit.observe import measured_starts, observe
from trueup.sysid.fit.window_states import element_groups, element_labels


@dataclass
class _Group:
    """One model with its sequences, their windows and the engine."""

    variants: ModelVariants
    sequences: list[ObservedSequence] = field(default_factory=list)
    measurements: list[MeasurementModel] = field(default_factory=list)
    """Delays, gains and biases of each sequence's channels."""
    starts: list[MeasuredStarts] = field(default_factory=list)
    """Starts of the segments of each sequence with a sensor model."""
    windows: list[Segment] = field(default_factory=list)
    """Windows of all sequences, the engine's segments."""
    owners: list[int] = field(default_factory=list)
    """Index of the sequence of each window."""
    first_residuals: list[int] = field(default_factory=list)
    """First row of the residual of each window."""
    engine: BatchEngine = field(init=False)
    device: WarpDevice | None = None
    """Device of the engine; None for the CPU."""

    def make_engine(self, n_threads: int) -> None:
        """Construct the engine of the windows, which records the compared fields.

        Raises:
          SimulationError: the device cannot simulate the model.
        """
        kind: Any = BatchEngine
        if self.device is not None:
            from trueup.simulation.warp.engine import WarpEngine

            kind = partial(WarpEngine, device=self.device)
        self.engine = kind(
            self.variants.model,
            self.windows,
            sorted({channel.field for s in self.sequences for channel in s.channels}),
            n_threads,
            [sequence.segments for sequence in self.sequences],
        )

    def on(self, device: WarpDevice, n_threads: int) -> "_Group":
        """The same windows on a device."""
        twin = replace(self, device=device)
        twin.make_engine(n_threads)
        return twin


class FurtherRows(Protocol):
    """Rows of a residual in addition to those of a simulation."""

    @property
    def factor(self) -> float:
        """Factor of rows in units of their own noise."""
        ...

    def __len__(self) -> int: ...

    def blocks(
        self, X: np.ndarray, failures: Failures, first: int, scale: float
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of rows of a batch ``(n, p)``, from a first row on."""
        ...


class GrayBoxProblem(Problem):
    """Residuals of recorded sequences for batches of parameters.

    ``residual = weight * (measured - predicted)``; sequence after sequence, time after time,
    channels within a time; then one row for each Gaussian prior, and those of recorded torques if
    they were added.

    Args:
      parameters: all parameters; the free ones are estimated.
      models_sequences: models with their recordings.
      settings: compared channels, their weights, clocks and controls.
      measurement: delays, gains and biases of the sensors; a function, such as
        ``MeasurementRules``, returns them for the signal of each
        channel, if sequences have different signals.
      build_model: compiles a candidate, instead of targets and modifiers.
      n_threads: threads; 0 for all cores.
      device: device of :meth:`quick`, see :class:`DeviceChoice`; by default the CPU.

    Raises:
      FitError: nothing to compare: no sequence, or no measured sample within the simulated time.
      SignalError: a sequence that does not match its model.
      TargetError: a parameter target that does not match a model.
    """

    def __init__(
        self,
        parameters: ParameterDict,
        models_sequences: Sequence[ModelSequences],
        settings: ObservationSettings | None = None,
        measurement: MeasurementModel | Callable[[tuple[str, ...]], MeasurementModel] | None = None,
        build_model: BuildModel | None = None,
        n_threads: int = 0,
        device: DeviceChoice | None = None,
    ):
        if not models_sequences:
            raise FitError("no recorded sequence to fit")
        self.parameters = parameters.copy()
        self.parameters.apply_ties()
        labels = element_labels(self.parameters)
        self._everywhere = np.array([label == "" for label in labels], bool)
        self._elements_of: dict[str, list[int]] = {}
        for element, label in enumerate(labels):
            self._elements_of.setdefault(label, []).append(element)
        self.space = replace(self.parameters.space(), together=element_groups(self.parameters))
        self.settings = settings or ObservationSettings()
        self.measurement = measurement or MeasurementModel()
        self.n_threads = n_threads
        self.device = device or DeviceChoice()
        self._on_device: list[_Group] | None = None
        self.noise_scale = 1.0
        self.torques: FurtherRows | None = None
        """Rows of recorded torques; they count like a prior, not as data of the simulation."""
        self._priors = PriorRows(self.parameters)
        self._groups: list[_Group] = []
        delays = self._delay_range()
        for models in models_sequences:
            variants = ModelVariants(models.spec, self.parameters, build_model, models.name)
            group = _Group(variants)
            for trajectory in models.measured_rollout:
                sequence = observe(variants.model, trajectory, self.settings, delays)
                group.sequences.append(sequence)
                sensors = self.measurement_of(sequence)
                group.measurements.append(sensors)
                if not sensors.is_plain:
                    group.starts.append(
                        measured_starts(
                            variants.model, trajectory, self.settings, sequence, sensors
                        )
                    )
            self._groups.append(group)
        self._lay_out()
        check_signal_settings(self.settings, [s for o in self.sequences for s in o.signal_names])
        self.sequence_names = [sequence.name for sequence in self.sequences]
        if self.data_rows == 0:
            raise FitError("no measured sample lies within the simulated time of any sequence")

    def _lay_out(self) -> None:
        """Set the windows of the groups with their engines, and the rows of the residual."""
        row = 0
        groups: list[ResidualGroup] = []
        for group in self._groups:
            group.windows, group.owners, group.first_residuals = [], [], []
            for index, sequence in enumerate(group.sequences):
                for window in sequence.windows:
                    group.windows.append(window)
                    group.owners.append(index)
                    group.first_residuals.append(row)
                    times = sequence.times[window.rows]
                    groups.append(ResidualGroup(sequence.name, sequence.channel_names, times, row))
                    row += len(times) * len(sequence.channels)
            group.make_engine(self.n_threads)
        self._first_rows = np.array([row for g in self._groups for row in g.first_residuals])
        self._window_labels = [window.sequence for g in self._groups for window in g.windows]
        self.groups = tuple(groups)
        self.data_rows = row

    def part(self, share: float) -> "GrayBoxProblem | None":
        """The first share of each sequence; None with windows, sensor models or recorded torques.

        Weights are those of the whole sequences.
        """
        if self.torques is not None or any(group.starts for group in self._groups):
            return None
        twin = copy.copy(self)
        twin._on_device, twin._groups = None, []
        for group in self._groups:
            shortened = [first_share(sequence, share) for sequence in group.sequences]
            if None in shortened:
                return None
            twin._groups.append(replace(group, sequences=shortened, device=None))
        twin._lay_out()
        return twin

    def measurement_of(self, sequence: ObservedSequence) -> MeasurementModel:
        """Delays, gains and biases of the channels of a sequence."""
        if callable(self.measurement):
            return self.measurement(sequence.signal_names)
        return self.measurement

    def __getstate__(self) -> dict[str, Any]:
        """State for another process, without what is on a device."""
        return {**self.__dict__, "_on_device": None}

    def quick(self, candidates: int) -> "GrayBoxProblem":
        """The same problem on the chosen device, if that pays for a batch of this size.

        Raises:
          SimulationError: the device cannot simulate the model.
        """
        windows = sum(len(group.windows) for group in self._groups)
        device = self.device.for_worlds(candidates * windows, self.n_threads)
        if device is None:
            return self
        if self._on_device is None:
            try:
                self._on_device = [group.on(device, self.n_threads) for group in self._groups]
            except SimulationError as error:
                self.device.refuse(error)
                return self
        twin = copy.copy(self)
        twin._groups = self._on_device
        return twin

    @property
    def device_notes(self) -> tuple[str, ...]:
        """Sentences on the device: which one, chunks of its memory, tables that grew."""
        engines = [group.engine for group in self._on_device or ()]
        own = [note for engine in engines for note in getattr(engine, "notes", ())]
        return (*self.device.notes, *dict.fromkeys(own))

    def set_controls(self, controls: Sequence[np.ndarray]) -> None:
        """Replace the controls of the sequences of a problem without windows.

        Args:
          controls: control of each step ``(steps, nu)``, one per sequence, of the same lengths.

        Raises:
          FitError: sequences in windows or in several groups.
        """
        (group, *others) = self._groups
        if others or len(group.windows) != len(controls):
            raise FitError(
                f"{len(controls)} controls for {len(group.windows)} simulated windows of "
                f"{len(self._groups)} models: give one per sequence of one model, without windows"
            )
        group.engine.set_controls(controls)
        for other in self._on_device or ():
            other.engine.set_controls(controls)

    @property
    def residual_size(self) -> int:
        """Number of rows of the data, of the priors and of torques."""
        return self.data_rows + len(self._priors) + len(self.torques or ())

    def acting_on(self, rows: slice) -> np.ndarray | None:
        """Elements that affect a block: initial states of other windows do not."""
        if self.space.together is None:
            return None
        acting = self._everywhere.copy()
        if rows.start < self.data_rows:
            window = int(np.searchsorted(self._first_rows, rows.start, side="right")) - 1
            acting[self._elements_of.get(self._window_labels[window], [])] = True
        return acting

    def limit_threads(self, threads: int) -> None:
        """Set the number of simulation threads; 0 uses all cores. Called by workers of a pool."""
        self.n_threads = threads
        for group in self._groups:
            group.engine.limit_threads(threads)

    @property
    def sequences(self) -> list[ObservedSequence]:
        """All sequences, in the order of the residual."""
        return [s for g in self._groups for s in g.sequences]

    @property
    def variants(self) -> list[ModelVariants]:
        """Model variants of each group."""
        return [g.variants for g in self._groups]

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of residuals; see :meth:`trueup.fitting.Problem.residual_blocks`."""
        X = np.atleast_2d(np.asarray(X, float))
        table = self.parameters.value_table(X)
        for group, index, rows, predicted in self._predictions(X, table, failures):
            residual = self._residual(group, group.owners[index], rows, predicted, table)
            flat = residual.reshape(len(X), -1)
            bad = np.logical_not(np.isfinite(flat).all(axis=1))
            bad[[c for c in failures if c < len(X)]] = True
            if bad.any():
                for candidate in np.flatnonzero(bad):
                    failures.setdefault(int(candidate), "the simulation is not finite")
                flat = np.where(bad[:, None], LARGE_RESIDUAL, flat)
            within = (rows.start - group.windows[index].first) * predicted.shape[2]
            first = group.first_residuals[index] + within
            yield slice(first, first + flat.shape[1]), flat
        if len(self._priors):
            # data rows are in units of their weights: a prior weighs as one sample of that noise
            values = self._priors.values(table) * self.noise_scale
            yield slice(self.data_rows, self.data_rows + len(self._priors)), values
        if self.torques is not None:
            first = self.data_rows + len(self._priors)
            yield from self.torques.blocks(X, failures, first, self.noise_scale)

    def predictions(
        self, X: np.ndarray, failures: Failures | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Measured and predicted signals of each sequence, in physical units.

        Args:
          X: candidates ``(n, p)``.
          failures: filled with candidate -> reason.

        Returns:
          One pair ``(n or 1, T, C)`` measured, ``(n, T, C)`` predicted per sequence, with gains,
          biases and delays applied.
        """
        X = np.atleast_2d(np.asarray(X, float))
        failures = {} if failures is None else failures
        table = self.parameters.value_table(X)
        predicted = {
            id(s): np.empty((len(X), len(s.times), len(s.channels))) for s in self.sequences
        }
        for group, index, rows, values in self._predictions(X, table, failures):
            owner = group.owners[index]
            changes = group.measurements[owner].changes
            out = predicted[id(group.sequences[owner])]
            out[:, rows] = apply_changes(values, changes, table, True)
        return [
            (
                apply_changes(sequence.measured[None], measurement.changes, table, False),
                predicted[id(sequence)],
            )
            for group in self._groups
            for sequence, measurement in zip(group.sequences, group.measurements, strict=True)
        ]

    def _predictions(
        self, X: np.ndarray, table: Mapping[str, np.ndarray], failures: Failures
    ) -> Iterator[tuple[_Group, int, slice, np.ndarray]]:
        """Rows of sequences and their predictions ``(n, rows, C)``, before gains and biases.

        Each comes with its group and the index of the window in it.
        """
        for group in self._groups:
            readers = []
            for window, owner in zip(group.windows, group.owners, strict=True):
                delays = group.measurements[owner].delays
                late = {channel: table[name][:, 0] for channel, name in delays.items()}
                readers.append(WindowReader(group.sequences[owner], window, late))
            models, writes = group.variants.batch(X, failures)
            # initial states that are parameters of their own come last
            writes = [*(w for starts in group.starts for w in starts.writes(table)), *writes]
            if group.engine.model is not group.variants.model:
                group.make_engine(self.n_threads)
            for block in self._blocks(group, len(X), writes, models, failures):
                for position, index in enumerate(block.segments):
                    window = group.windows[index]
                    records = {k: v[:, position] for k, v in block.records.items()}
                    steps = next(iter(records.values())).shape[1]
                    last = block.first_step + steps >= window.steps
                    for rows, predicted in readers[index].feed(block.first_step, records, last):
                        first = window.first
                        yield group, index, slice(first + rows.start, first + rows.stop), predicted

    def _blocks(
        self,
        group: _Group,
        n: int,
        writes: Sequence[tuple[FieldWrite, np.ndarray]],
        models: Sequence[mujoco.MjModel] | None,
        failures: Failures,
    ) -> Iterator[Block]:
        """Blocks of the engine of a group; of one on the CPU, if the device was chosen for it.

        Raises:
          SimulationError: the requested device cannot simulate what the parameters change.
        """
        blocks = group.engine.run(n, writes, models, failures)
        try:
            first = next(blocks, None)
        except SimulationError as error:
            if group.device is None:
                raise
            self.device.refuse(error)
            group.device = None
            group.make_engine(self.n_threads)
            yield from group.engine.run(n, writes, models, failures)
            return
        if first is not None:
            yield first
            yield from blocks

    def _residual(
        self,
        group: _Group,
        index: int,
        rows: slice,
        predicted: np.ndarray,
        table: Mapping[str, np.ndarray],
    ) -> np.ndarray:
        """Residual ``(n, rows, C)`` of rows of a sequence of a group."""
        sequence, changes = group.sequences[index], group.measurements[index].changes
        predicted = apply_changes(predicted, changes, table, True)
        measured = sequence.measured[None, rows]
        if not any(c.on_measured for c in changes):
            residual = measured - predicted
            residual *= sequence.weights
            return residual
        measured = apply_changes(measured, changes, table, False)
        # gains and biases are affine: their effect on 0 and 1 determines the change of all values
        probe = np.broadcast_to(np.array([0.0, 1.0])[None, :, None], (1, 2, measured.shape[2]))
        at_zero, at_one = np.moveaxis(apply_changes(probe, changes, table, False), 1, 0)
        # rescale the weights, or a gain on the measured side could reduce the cost by shrinking the
        # data
        weights = sequence.weights_after(at_one - at_zero, at_zero)
        return (measured - predicted) * weights[:, None, :]

    def _delay_range(self) -> tuple[float, float]:
        """Smallest and largest delay [s] that the bounds of the delay parameters allow."""
        if isinstance(self.measurement, MeasurementModel):
            names = set(self.measurement.delays.values())
        else:
            names = set(getattr(self.measurement, "delay_parameters", ()))
        if not names:
            return 0.0, 0.0
        lowest, highest = np.inf, -np.inf
        for name in names:
            param = self.parameters[name]
            if param.tied_to is not None:
                param = self.parameters.tie_source(param)
            lower, upper = param.get_bounds() if param.is_free else (param.value, param.value)
            if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
                raise FitError(
                    f"the delay {name!r} requires finite bounds, found {lower.min()} to "
                    f"{upper.max()} s: they determine which samples are compared"
                )
            lowest, highest = min(lowest, float(lower.min())), max(highest, float(upper.max()))
        return lowest, highest


def default_threads() -> int:
    """Number of cores of this machine."""
    return os.cpu_count() or 1
