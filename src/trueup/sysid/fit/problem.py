"""The gray-box problem: parameters in, differences between recordings and simulation out."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trueup.errors import FitError
from trueup.fitting.problem import LARGE_RESIDUAL, Failures, Problem, ResidualGroup
from trueup.parameters import ParameterDict
from trueup.simulation.engine import BatchEngine
from trueup.simulation.model_sequences import ModelSequences
from trueup.simulation.observation import (
    GainOrBias,
    MeasurementModel,
    Window,
    WindowReader,
    apply_changes,
)
from trueup.simulation.variants import BuildModel, ModelVariants
from trueup.sysid.fit.observed_sequence import (
    ObservationSettings,
    ObservedSequence,
    channels_of,
    check_signal_settings,
    observe,
)
from trueup.sysid.fit.window_states import element_groups, element_labels


@dataclass
class _Group:
    """One model with its sequences, windows and engine."""

    variants: ModelVariants
    engine: BatchEngine
    sequences: list[ObservedSequence]
    windows: list[Window]
    owners: list[int]
    """Sequence of each window."""
    first_rows: list[int]
    """First residual row of each window."""
    measurements: list[MeasurementModel] = field(default_factory=list)
    """Delays, gains and biases of each sequence's channels."""


class GrayBoxProblem(Problem):
    """Residuals of recorded sequences for batches of parameters.

    ``residual = weight * (measured - predicted)``; sequence after sequence, time after time,
    channels within a time; then one row for each Gaussian prior.

    Args:
      parameters: all parameters; the free ones are the unknowns.
      models_sequences: models with their recordings.
      settings: which channels, how they are weighted, how clocks and controls are read.
      measurement: delays, gains and biases of the sensors; a function gives them for the signal
        of each channel, where sequences hold different signals.
      build_model: compiles a candidate, instead of targets and modifiers.
      n_threads: threads; 0 for all cores.

    Raises:
      FitError: nothing to compare: no sequence, or no measured sample within the simulated time.
      SignalError: a sequence that does not fit its model.
      TargetError: a parameter target that does not fit a model.
    """

    def __init__(
        self,
        parameters: ParameterDict,
        models_sequences: Sequence[ModelSequences],
        settings: ObservationSettings | None = None,
        measurement: MeasurementModel | Callable[[tuple[str, ...]], MeasurementModel] | None = None,
        build_model: BuildModel | None = None,
        n_threads: int = 0,
    ):
        if not models_sequences:
            raise FitError("there is no recorded sequence to fit")
        self.parameters = parameters.copy()
        self.parameters.apply_ties()
        self._labels = element_labels(self.parameters)
        self.space = replace(self.parameters.space(), together=element_groups(self.parameters))
        self.settings = settings or ObservationSettings()
        self.measurement = measurement or MeasurementModel()
        self.n_threads = n_threads
        self.noise_scale = 1.0
        self._groups: list[_Group] = []
        self.sequence_names: list[str] = []
        groups: list[ResidualGroup] = []
        row = 0
        delays = self._delay_range()
        for models in models_sequences:
            variants = ModelVariants(models.spec, self.parameters, build_model, models.name)
            group = _Group(variants, None, [], [], [], [])  # type: ignore[arg-type]
            for name, trajectory, before in zip(
                models.sequence_name, models.measured_rollout, models.lead_in, strict=True
            ):
                observed = observe(variants.model, name, trajectory, self.settings, delays, before)
                group.sequences.append(observed)
                group.measurements.append(
                    self.measurement(observed.signal_names)
                    if callable(self.measurement)
                    else self.measurement
                )
                self.sequence_names.append(name)
                for window in observed.windows:
                    group.windows.append(window)
                    group.owners.append(len(group.sequences) - 1)
                    group.first_rows.append(row)
                    groups.append(ResidualGroup(name, observed.channel_names, window.times, row))
                    row += window.measured.size
            record = sorted({c.field for w in group.windows for c in w.channels})
            segments = [w.segment for w in group.windows]
            chains = [o.segments for o in group.sequences]
            group.engine = BatchEngine(variants.model, segments, record, n_threads, chains)
            self._groups.append(group)
        check_signal_settings(self.settings, [s for o in self.sequences for s in o.signal_names])
        self.groups = tuple(groups)
        self.data_rows = row
        if row == 0:
            raise FitError("no measured sample lies within the simulated time of any sequence")
        self._priors = self._prior_rows()

    @property
    def residual_size(self) -> int:
        """Rows of the data and of the priors."""
        return self.data_rows + len(self._priors)

    def acting_on(self, rows: slice) -> np.ndarray | None:
        """Elements that act on a block: initial states of other windows do not."""
        if self.space.together is None:
            return None
        if rows.start >= self.data_rows:
            return self._labels == ""
        windows = [w for g in self._groups for w in g.windows]
        first_rows = [row for g in self._groups for row in g.first_rows]
        window = windows[int(np.searchsorted(first_rows, rows.start, side="right")) - 1]
        return (self._labels == "") | (self._labels == window.segment.sequence)

    def limit_threads(self, threads: int) -> None:
        """Simulate in so many threads from now on, 0 for all cores; a worker among others does."""
        self.n_threads = threads
        for group in self._groups:
            group.engine.limit_threads(threads)

    @property
    def sequences(self) -> list[ObservedSequence]:
        """All sequences, in the order of the residual."""
        return [s for g in self._groups for s in g.sequences]

    @property
    def variants(self) -> list[ModelVariants]:
        """One model with its unknowns for each group."""
        return [g.variants for g in self._groups]

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of residuals; see :meth:`trueup.fitting.Problem.residual_blocks`."""
        X = np.atleast_2d(np.asarray(X, float))
        table = self.parameters.value_table(X)
        for group, w, rows, predicted in self._predictions(X, failures):
            window = group.windows[w]
            sequence = group.sequences[group.owners[w]]
            changes = group.measurements[group.owners[w]].changes
            residual = self._residual(window, sequence, changes, rows, predicted, table)
            flat = residual.reshape(len(X), -1)
            bad = np.logical_not(np.isfinite(flat).all(axis=1))
            bad[[c for c in failures if c < len(X)]] = True
            if bad.any():
                for candidate in np.flatnonzero(bad):
                    failures.setdefault(int(candidate), "the simulation is not finite")
                flat = np.where(bad[:, None], LARGE_RESIDUAL, flat)
            width = predicted.shape[2]
            first = group.first_rows[w] + rows.start * width
            yield slice(first, first + flat.shape[1]), flat
        if self._priors:
            yield self._prior_block(table)

    def predictions(
        self, X: np.ndarray, failures: Failures | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Measured and predicted signals of each sequence, in physical units.

        Args:
          X: candidates ``(n, p)``.
          failures: filled with candidate -> reason.

        Returns:
          One pair ``(n or 1, T, C)`` measured, ``(n, T, C)`` predicted a sequence, gains, biases
          and delays applied.
        """
        X = np.atleast_2d(np.asarray(X, float))
        failures = {} if failures is None else failures
        table = self.parameters.value_table(X)
        parts: dict[int, list[tuple[int, np.ndarray, np.ndarray]]] = {}
        offset = {
            id(g): sum(len(h.sequences) for h in self._groups[:i])
            for i, g in enumerate(self._groups)
        }
        for group, w, rows, predicted in self._predictions(X, failures):
            measured = group.windows[w].measured[None, rows]
            key = offset[id(group)] + group.owners[w]
            changes = group.measurements[group.owners[w]].changes
            parts.setdefault(key, []).append(
                (
                    group.first_rows[w] + rows.start,
                    apply_changes(measured, changes, table, False),
                    apply_changes(predicted, changes, table, True),
                )
            )
        out = []
        for key in range(len(self.sequences)):
            ordered = sorted(parts[key], key=lambda part: part[0])
            out.append(
                (
                    np.concatenate([part[1] for part in ordered], axis=1),
                    np.concatenate([part[2] for part in ordered], axis=1),
                )
            )
        return out

    def _predictions(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[_Group, int, slice, np.ndarray]]:
        """Windows' rows and predictions ``(n, rows, C)``, before gains and biases."""
        table = self.parameters.value_table(X)
        for group in self._groups:
            readers = [
                WindowReader(
                    w,
                    {c: table[p][:, 0] for c, p in group.measurements[owner].delays.items()},
                )
                for w, owner in zip(group.windows, group.owners, strict=True)
            ]
            models = group.variants.models(X, failures)
            writes = group.variants.field_writes(X)
            for block in group.engine.run(len(X), writes, models, failures):
                for position, w in enumerate(block.segments):
                    records = {k: v[:, position] for k, v in block.records.items()}
                    steps = next(iter(records.values())).shape[1]
                    last = block.first_step + steps >= group.windows[w].segment.steps
                    for rows, predicted in readers[w].feed(block.first_step, records, last):
                        yield group, int(w), rows, predicted

    def _residual(
        self,
        window: Window,
        sequence: ObservedSequence,
        changes: tuple[GainOrBias, ...],
        rows: slice,
        predicted: np.ndarray,
        table: Mapping[str, np.ndarray],
    ) -> np.ndarray:
        predicted = apply_changes(predicted, changes, dict(table), True)
        measured = window.measured[None, rows]
        if not any(c.on_measured for c in changes):
            residual = measured - predicted
            residual *= sequence.weights
            return residual
        measured = apply_changes(measured, changes, dict(table), False)
        # gains and biases are affine: their effect on 0 and 1 says how they change the whole
        probe = np.broadcast_to(np.array([0.0, 1.0])[None, :, None], (1, 2, measured.shape[2]))
        probe = apply_changes(probe, changes, dict(table), False)
        # a gain on the measured side must not be able to win by shrinking the data
        weights = sequence.weights_after(probe[:, 1] - probe[:, 0], probe[:, 0])
        return (measured - predicted) * weights[:, None, :]

    def _delay_range(self) -> tuple[float, float]:
        if callable(self.measurement):
            names = set(getattr(self.measurement, "delay_parameters", ()))
        else:
            names = set(self.measurement.delays.values())
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
                    f"the delay {name!r} needs finite bounds, found {lower.min()} to "
                    f"{upper.max()} s: they set which samples are compared"
                )
            lowest, highest = min(lowest, float(lower.min())), max(highest, float(upper.max()))
        return lowest, highest

    def _prior_rows(self) -> list[tuple[str, int, float, float]]:
        rows = []
        for name, param in self.parameters.items():
            if param.prior is not None and param.is_free:
                rows += [(name, k, param.prior.mean, param.prior.sd) for k in range(param.size)]
        return rows

    def _prior_block(self, table: Mapping[str, np.ndarray]) -> tuple[slice, np.ndarray]:
        # data rows are in units of their weights: a prior counts as one sample of that noise
        values = np.stack(
            [(mean - table[n][:, k]) / sd * self.noise_scale for n, k, mean, sd in self._priors],
            axis=1,
        )
        return slice(self.data_rows, self.data_rows + len(self._priors)), values


def default_threads() -> int:
    """Cores of this machine."""
    return os.cpu_count() or 1


__all__ = ["GrayBoxProblem", "channels_of", "default_threads"]
