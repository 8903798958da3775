"""Problem of the parameters of an experiment on recorded torques, without a simulation."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

import mujoco
import numpy as np

from trueup.errors import FitError, listing
from trueup.fitting.problem import LARGE_RESIDUAL, Failures, Problem, ResidualGroup
from trueup.parameters import ParameterDict
from trueup.parameters.prior_rows import PriorRows
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.simulation.targets.variants import ModelVariants
from trueup.sysid.fit.observation_settings import ObservationSettings
from trueup.sysid.torque.bandwidth import ChosenBandwidth
from trueup.sysid.torque.data import TorqueData, joint_names
from trueup.sysid.torque.known_errors import OwnErrors
from trueup.sysid.torque.link_regressor import link_parameters

_LINKS = {"body_mass": 1, "body_ipos": 3, "body_iquat": 4, "body_inertia": 3}
_CAD_SHARE = 0.25  # standard deviation of a link parameter's weak prior, relative to its bounds
FIELDS = (
    *_LINKS,
    "dof_armature",
    "dof_damping",
    "dof_frictionloss",
    "jnt_stiffness",
    "qpos_spring",
    "qpos0",
    "actuator_gear",
    "actuator_gainprm",
    "actuator_biasprm",
)
"""Fields of a model used by inverse dynamics."""


@dataclass(frozen=True)
class TorqueSequence:
    """One recording, with the interface of the assessment of a fit."""

    name: str
    times: np.ndarray
    measured: np.ndarray
    """Torque at the start values ``(T, C)``."""
    weights: np.ndarray
    """Factor on the residual of each channel ``(C,)``."""
    channel_names: tuple[str, ...]
    data: TorqueData = field(repr=False)

    @property
    def slides(self) -> np.ndarray | None:
        """Samples that count ``(T, C)`` bool; None: all."""
        return self.data.slides

    @property
    def signal_names(self) -> tuple[str, ...]:
        """Signal of each channel."""
        return self.channel_names


class TorqueProblem(Problem):
    """Residuals ``(applied - needed) / noise`` of joint torques for batches of parameters.

    The noise of a joint scales with the gain of its drive, because it is that of the recorded
    current or command; otherwise a small gain would reduce the cost.

    Args:
      parameters: all parameters; the free ones are estimated.
      groups: models with their recordings.
      bandwidth: the filter.
      noise: standard deviation of the torque of each joint [N m], by name.
      driven: actuators with a recorded control, by recording.
      own_errors: errors of inverse dynamics itself, subtracted from the torques; None: not known.

    Raises:
      SignalError: no torque was recorded.
      FitError: a model is modified by a Python function, so its fields are unknown.
    """

    def __init__(
        self,
        parameters: ParameterDict,
        groups: Sequence[ModelSequences],
        bandwidth: ChosenBandwidth,
        noise: Mapping[str, float],
        driven: dict[str, set[int]] | None = None,
        own_errors: OwnErrors | None = None,
    ):
        self.parameters = parameters.copy()
        self.parameters.apply_ties()
        self.space = self.parameters.space()
        self.bandwidth = bandwidth
        self.driven = driven
        self.own_errors = own_errors
        self.noise_scale = 1.0
        self._priors = PriorRows(self.parameters)
        self._cad, self._cad_scale = _cad_rows(self.parameters)
        self.variants = [ModelVariants(g.spec, self.parameters, None, g.name) for g in groups]
        self.model_names = [g.name for g in groups]
        self.settings = ObservationSettings(noise=dict(noise))
        self._observe(groups)

    def _observe(self, groups: Sequence[ModelSequences]) -> None:
        """Set the recordings of the models."""
        noise = self.settings.noise
        self.recordings = groups
        self.sequences: list[TorqueSequence] = []
        self._variant_of: list[int] = []
        row, rows = 0, []
        data = self.bandwidth.torque_data(groups, self.driven, self.own_errors)
        owner = {t.name: k for k, g in enumerate(groups) for t in g.measured_rollout}
        for part in data:
            names = tuple(f"{n} torque" for n in joint_names(part.model, part.sources.dofs))
            unknown = [n for n in names if n not in noise]
            if unknown:
                raise FitError(f"the noise of {listing(unknown)} is missing")
            sigma = np.array([noise[n] for n in names])
            base = _fields(self.variants[owner[part.name]].model)
            applied = part.applied(base)[0]
            times = part.motion.times
            sequence = TorqueSequence(part.name, times, applied, 1.0 / sigma, names, part)
            self.sequences.append(sequence)
            self._variant_of.append(owner[part.name])
            rows.append(ResidualGroup(part.name, names, times, row))
            row += applied.size
        self.groups = tuple(rows)
        self.data_rows = row
        self.sequence_names = [s.name for s in self.sequences]

    def with_recordings(
        self, groups: Sequence[ModelSequences], own_errors: OwnErrors | None
    ) -> "TorqueProblem":
        """The same problem with other recordings of its models, and their own errors.

        Raises:
          SignalError: no torque was recorded.
        """
        out = copy(self)
        out.own_errors = own_errors
        out.variants = self.variants_of(groups)
        out.model_names = [group.name for group in groups]
        out._observe(groups)
        return out

    def with_own_errors(self, own_errors: OwnErrors) -> "TorqueProblem":
        """The same problem with errors of inverse dynamics itself subtracted from the torques."""
        out = copy(self)
        out.own_errors = own_errors
        out.sequences = []
        for sequence, variant in zip(self.sequences, self._variant_of, strict=True):
            own = own_errors.at(sequence.name, sequence.times)
            data = replace(sequence.data, own_error=own)
            measured = data.applied(_fields(self.variants[variant].model))[0]
            out.sequences.append(replace(sequence, data=data, measured=measured))
        return out

    def driven_in(self, trajectory: SystemTrajectory) -> set[int]:
        """Actuators with a recorded control in a recording."""
        if self.driven is None:
            return set(range(trajectory.model.nu))
        return self.driven.get(trajectory.name, set())

    def variants_of(self, groups: Sequence[ModelSequences]) -> list[ModelVariants]:
        """The models of groups of recordings."""
        named = dict(zip(self.model_names, self.variants, strict=True))
        return [
            named.get(g.name) or ModelVariants(g.spec, self.parameters, None, g.name)
            for g in groups
        ]

    def left_over(self, x: np.ndarray, data: TorqueData, variant: ModelVariants) -> np.ndarray:
        """Applied torque minus that of inverse dynamics at given values ``(T, dofs)``.

        Args:
          x: values ``(p,)``.
          data: torques and motion of a recording of the model.
          variant: the model.
        """
        fields, links = self._table(x[None], variant, {})
        return (data.applied(fields) - data.needed(links, fields))[0]

    def gains_at(self, x: np.ndarray, data: TorqueData, variant: ModelVariants) -> np.ndarray:
        """Gains of the drives at given values ``(dofs,)``; 1 for a gain of zero."""
        gains = data.drive_gains(self._table(x[None], variant, {})[0])[0]
        return np.where(gains > 0, gains, 1.0)

    def model_gains(self, sequence: TorqueSequence) -> np.ndarray:
        """Gains of the drives of the model ``(dofs,)``; 1 for a gain of zero."""
        gains = sequence.data.drive_gains(_fields(sequence.data.model))[0]
        return np.where(gains > 0, gains, 1.0)

    @property
    def residual_size(self) -> int:
        """Number of rows of the data, of the priors and of the weak priors of links."""
        return self.data_rows + len(self._priors) + len(self._cad)

    def limit_threads(self, threads: int) -> None:
        """No effect: the problem is one matrix product per recording."""

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of residuals, one per recording, then the priors."""
        X = np.atleast_2d(np.asarray(X, float))
        for sequence, group, applied, needed, gains in self._torques(X, failures):
            weights = (sequence.weights / gains)[:, None, :]
            flat = ((applied - needed) * weights * sequence.data.counts).reshape(len(X), -1)
            yield group.rows, finite_rows(flat, failures)
        yield from self.prior_blocks(X)

    def prior_blocks(self, X: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of residuals of the priors, and of the weak priors of links, ``X (n, p)``."""
        if len(self._priors):
            values = self._priors.values(self.parameters.value_table(X)) * self.noise_scale
            yield slice(self.data_rows, self.data_rows + len(self._priors)), values
        if len(self._cad):
            off = X[:, self._cad] - self.space.start[self._cad]
            yield (
                slice(self.residual_size - len(self._cad), self.residual_size),
                (off / self._cad_scale),
            )

    def predictions(
        self, X: np.ndarray, failures: Failures | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Applied torque and torque of inverse dynamics, each ``(n, T, C)``, per recording."""
        X = np.atleast_2d(np.asarray(X, float))
        failures = {} if failures is None else failures
        return [(applied, needed) for _, _, applied, needed, _ in self._torques(X, failures)]

    def raw_residuals(self, X: np.ndarray) -> list[np.ndarray]:
        """Error of each joint's recorded torque, at the model's gains, ``(n, T, C)`` per recording.

        Candidates with different drive gains have different torques; errors in the unit of the
        recording are comparable.
        """
        X = np.atleast_2d(np.asarray(X, float))
        out = []
        for sequence, fields, links in self.tables(X, {}):
            off = sequence.data.applied(fields, raw=True) - sequence.data.needed(links, fields)
            out.append(off / relative_gains(sequence.data, fields)[:, None, :])
        return out

    @property
    def changes_zeros(self) -> bool:
        """Whether candidates may have other zeros of joints than the model."""
        start = self.space.start[None]
        return any(
            v.compiles or any(write.field == "qpos0" for write, _ in v.field_writes(start))
            for v in self.variants
        )

    def tables(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[TorqueSequence, dict[str, np.ndarray], np.ndarray]]:
        """Sequences with fields and link parameters of all candidates ``X (n, p)``."""
        tables = [self._table(X, variant, failures) for variant in self.variants]
        for sequence, variant in zip(self.sequences, self._variant_of, strict=True):
            yield sequence, *tables[variant]

    def _table(
        self, X: np.ndarray, variant: ModelVariants, failures: Failures
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        models = variant.models(X, failures)
        if models is not None:
            parts = [_fields(model) for model in models]
            fields = {name: np.concatenate([p[name] for p in parts]) for name in FIELDS}
        else:
            base = _fields(variant.model)
            fields = {n: np.repeat(v, len(X), axis=0) for n, v in base.items()}
            for write, values in variant.field_writes(X):
                if write.field in fields:
                    flat = fields[write.field].reshape(len(X), -1)
                    flat[:, write.entries] = values
        return fields, link_parameters(*(fields[name] for name in _LINKS))

    def _torques(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[TorqueSequence, ResidualGroup, np.ndarray, np.ndarray, np.ndarray]]:
        """Sequences with applied and inverse-dynamics torques, and gains over the model's."""
        tables = self.tables(X, failures)
        for group, (sequence, fields, links) in zip(self.groups, tables, strict=True):
            yield (
                sequence,
                group,
                sequence.data.applied(fields),
                sequence.data.needed(links, fields),
                relative_gains(sequence.data, fields),
            )


def finite_rows(rows: np.ndarray, failures: Failures) -> np.ndarray:
    """Residuals ``(n, rows)``, large where a candidate failed or its torques are not finite.

    Candidates whose torques are not finite are entered in ``failures``.
    """
    bad = np.logical_not(np.isfinite(rows).all(axis=1))
    bad[[c for c in failures if c < len(rows)]] = True
    for candidate in np.flatnonzero(bad):
        failures.setdefault(int(candidate), "the torque is not finite")
    return np.where(bad[:, None], LARGE_RESIDUAL, rows) if bad.any() else rows


def _cad_rows(parameters: ParameterDict) -> tuple[np.ndarray, np.ndarray]:
    """Elements of links with a weak prior at the model's values, and its standard deviations.

    Many combinations of link parameters have no effect on torques. One row for each element, as
    weak as one sample of torque, keeps these at the values of the model.
    """
    elements, scales, position = [], [], 0
    for param in parameters.free:
        lower, upper = param.get_bounds()
        for k in range(param.size):
            spread = float(np.ravel(upper)[k] - np.ravel(lower)[k])
            if param.inertia_type is not None and param.prior is None and np.isfinite(spread):
                elements.append(position)
                scales.append(_CAD_SHARE * spread)
            position += 1
    return np.array(elements, int), np.array(scales)


def relative_gains(data: TorqueData, fields: dict[str, np.ndarray]) -> np.ndarray:
    """Gains of drives ``(n, dofs)`` over those of the model; 1 if the model has none."""
    base = data.drive_gains(_fields(data.model))
    found = data.drive_gains(fields)
    return np.where(base > 0, found, 1.0) / np.where(base > 0, base, 1.0)


def _fields(model: mujoco.MjModel) -> dict[str, np.ndarray]:
    """Fields of one model, each with a leading axis of one candidate."""
    return {name: np.array(getattr(model, name), float)[None] for name in FIELDS}
