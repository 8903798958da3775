"""Recorded torques as a problem in the unknowns of causes, without a simulation.

Inverse dynamics of the measured motion gives the torque that each joint needs; it is compared with
the recorded torque, or with that of a motor at its command. Where both the torque of a joint and
the commands of its actuators are recorded, the law of the actuators is compared with the torque
too. The first depends on links and joints alone, the second on actuators alone.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.errors import TrueupError
from trueup.explain.actuator_laws import ActuatorLaws, actuator_laws
from trueup.explain.log import ExplainedLog
from trueup.explain.situation import named_spec
from trueup.fitting.problem import Failures, Problem, ResidualGroup
from trueup.simulation.engine.initial_state import create_initial_state
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.models.visuals import simulated_spec
from trueup.simulation.targets.variants import ModelVariants, compile_spec
from trueup.sysid.causes.machine_candidates import with_additions
from trueup.sysid.torque.data import TorqueData, joint_names
from trueup.sysid.torque.joint_motion import JointMotion
from trueup.sysid.torque.link_regressor import link_parameters, link_regressor
from trueup.sysid.torque.setup import TorqueSetup, possible_setup

_LINKS = ("body_mass", "body_ipos", "body_iquat", "body_inertia")
_JOINTS = (
    "dof_armature",
    "dof_damping",
    "dof_frictionloss",
    "jnt_stiffness",
    "qpos_spring",
    "qpos0",
)
_ACTUATORS = (
    "actuator_gear",
    "actuator_gainprm",
    "actuator_biasprm",
    "actuator_forcerange",
    "actuator_ctrlrange",
    "actuator_delay",
    "jnt_actfrcrange",
)
_GRAVITY, _COMPENSATION = "opt.gravity", "body_gravcomp"
_FIELDS = (*_LINKS, *_JOINTS, *_ACTUATORS, _GRAVITY, _COMPENSATION)
_LARGE = 1e9  # residual of a candidate whose torques are not finite
_FINEST = 1e-3  # smallest noise of a torque, relative to its spread
_UNMEASURED = 1e-8  # compensated share of a weight that counts as none


@dataclass(frozen=True)
class _Window:
    first: int


@dataclass(frozen=True)
class TorqueSeries:
    """Torques of one recording; the interface of a sequence of a simulated problem."""

    name: str
    times: np.ndarray
    """``(T,)`` [s]."""
    channel_names: tuple[str, ...]
    weights: np.ndarray
    """Factor on the error of each sample, zero where it does not count ``(T, C)``."""
    windows: tuple[_Window, ...] = (_Window(0),)


@dataclass(frozen=True)
class _Recording:
    """Data of one recording: inverse dynamics, laws of actuators, or both."""

    name: str
    variant: ModelVariants
    motion: TorqueData | None
    weights: np.ndarray
    """Weights of inverse dynamics ``(T, dofs)``."""
    per_gravity: np.ndarray
    """Torque of each link parameter per unit of gravity along each axis ``(3, T, dofs, 10 nbody)``;
    empty without inverse dynamics."""
    laws: ActuatorLaws | None
    law_weights: np.ndarray
    """Weights of the laws ``(T, k)``."""

    def pairs(self, fields: dict[str, np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Measured and predicted torques, each ``(n, T, C)``, of both comparisons."""
        out = []
        if self.motion is not None:
            links = link_parameters(*(fields[name] for name in _LINKS))
            needed = self.motion.needed(links, fields) + self._of_gravity(links, fields)
            applied, gains = self._applied(fields, needed.shape)
            out.append((applied / gains[:, None], needed / gains[:, None]))
        if self.laws is not None and self.laws.compared:
            forces = self.laws.torques(fields)[:, :, list(self.laws.compared)]
            measured = np.broadcast_to(self.laws.recorded, forces.shape)
            out.append((measured, forces))
        return out

    def _applied(
        self, fields: dict[str, np.ndarray], shape: tuple[int, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Applied torques ``(n, T, dofs)``, and gains over those of the model ``(n, dofs)``."""
        assert self.motion is not None
        sources = self.motion.sources
        applied, gains = np.zeros(shape), np.ones((shape[0], shape[2]))
        by_law = None
        for k, dof in enumerate(sources.dofs):
            if dof in sources.sensor_columns:
                applied[:, :, k] = self.motion.motion.recorded[:, sources.sensor_columns[dof]]
            elif self.laws is not None and dof in self.laws.dofs:
                by_law = self.laws.torques(fields) if by_law is None else by_law
                place = self.laws.dofs.index(dof)
                applied[:, :, k] = by_law[:, :, place]
                gains[:, k] = self.laws.relative_gains(fields, place)
        return applied, gains

    def _of_gravity(self, links: np.ndarray, fields: dict[str, np.ndarray]) -> np.ndarray | float:
        """Torque of another gravity, and of its compensation ``(n, T, dofs)``."""
        assert self.motion is not None
        share = 1.0 - fields[_COMPENSATION]
        share[np.abs(fields[_COMPENSATION]) < _UNMEASURED] = 1.0
        given = self.motion.model.opt.gravity
        total: np.ndarray | float = 0.0
        for axis in range(3):
            change = fields[_GRAVITY][:, axis, None] * share - given[axis]
            if not change.any():
                continue
            rows = self.per_gravity[axis].reshape(-1, links.shape[1])
            moved = (links * np.repeat(change, 10, axis=1)) @ rows.T
            total = total + moved.reshape(len(links), *self.per_gravity.shape[1:3])
        return total


class RecordedTorques(Problem):
    """Errors of recorded torques of candidates, with the elements of a simulated problem.

    Args:
      whole: the simulated problem with the unknowns of all causes.
      recordings: torques of its recordings.
    """

    def __init__(self, whole: Any, recordings: Sequence[_Recording]):
        self.whole = whole
        self._recordings = recordings
        self.noise_scale = None
        self.sequences, groups, row = [], [], 0
        pairs = self._pairs(whole.space.start[None])
        for recording, (measured, _) in zip(recordings, pairs, strict=True):
            names, times, weights = _channels(recording)
            self.sequences.append(TorqueSeries(recording.name, times, names, weights))
            groups.append(ResidualGroup(recording.name, names, times, row))
            row += measured[0].size
        self.groups, self.data_rows = tuple(groups), row
        self.sequence_names = [s.name for s in self.sequences]
        self.space = whole.space

    @property
    def motions(self) -> list[JointMotion]:
        """Smoothed motion of each recording with inverse dynamics."""
        return [r.motion.motion for r in self._recordings if r.motion is not None]

    def _pairs(self, X: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        X = np.atleast_2d(np.asarray(X, float))
        components = getattr(self.whole, "with_components", lambda values: values)
        X = components(X)
        tables: dict[int, dict[str, np.ndarray]] = {}
        out = []
        for recording in self._recordings:
            key = id(recording.variant)
            if key not in tables:
                tables[key] = _fields(recording.variant, X)
            pairs = recording.pairs(tables[key])
            out.append(
                (
                    np.concatenate([measured for measured, _ in pairs], axis=2),
                    np.concatenate([predicted for _, predicted in pairs], axis=2),
                )
            )
        return out

    def predictions(
        self, X: np.ndarray, failures: Failures | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Recorded and predicted torques ``(n, T, C)``, per recording."""
        del failures
        return self._pairs(X)

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of residuals, one per recording."""
        for sequence, group, (measured, predicted) in zip(
            self.sequences, self.groups, self._pairs(X), strict=True
        ):
            flat = ((predicted - measured) * sequence.weights).reshape(len(predicted), -1)
            bad = np.logical_not(np.isfinite(flat).all(axis=1))
            for candidate in np.flatnonzero(bad):
                failures.setdefault(int(candidate), "the torque is not finite")
            yield group.rows, np.where(bad[:, None], _LARGE, flat) if bad.any() else flat


def log_of_torques(log: ExplainedLog) -> ExplainedLog | None:
    """The log with its torques in place of its motion; None where no torque was recorded.

    Args:
      log: a log with the unknowns of its causes.
    """
    prepared = log.prepared
    sides = (prepared.training, prepared.held_out, prepared.alone)
    if any(variant.compiles for variant in log.training.variants):
        return None
    measured = [t.sensordata.data for groups in sides for g in groups for t in g.measured_rollout]
    if not all(np.isfinite(data).all() for data in measured):
        return None
    try:
        specs = {name: named_spec(simulated_spec(spec)) for name, spec in prepared.specs.items()}
        parts = [_as_given(groups, specs) for groups in sides]
    except TrueupError:
        return None
    plain = replace(prepared)
    plain.training, plain.held_out, plain.alone = parts
    # contact forces are not measured
    setup = None if log.touches else possible_setup(plain)
    problems = []
    # few samples of torque are held out: causes are rated over all, and the motion confirms them
    for groups in (plain.training, [*plain.training, *plain.alone]):
        try:
            recordings = _recordings(plain, groups, log, setup)
        except TrueupError:  # a part is too short for the filter
            return None
        if not recordings:
            return None
        problems.append(RecordedTorques(log.training, recordings))
    none = np.zeros(0, int)
    return replace(
        log, training=problems[0], held_out=problems[1], always=none, states=none, touches=False
    )


def _as_given(groups: Sequence[ModelSequences], specs: dict[str, Any]) -> list[ModelSequences]:
    """Recordings with the model as given, without room for the unknowns of causes."""
    out = []
    for group in groups:
        model = compile_spec(specs[group.name].copy())
        # torques of a recorded motion have no initial state
        state = create_initial_state(model, model.qpos0)
        own = [t.replace(initial_state=state, lead_in=None) for t in group.measured_rollout]
        names = [t.name for t in own]
        out.append(
            ModelSequences.from_trajectories(group.name, specs[group.name], names, own, True)
        )
    return out


def _recordings(
    plain: Any,
    groups: Sequence[ModelSequences],
    log: ExplainedLog,
    setup: TorqueSetup | None,
) -> list[_Recording]:
    """Torques of recordings; none where neither comparison is possible."""
    motions: dict[str, TorqueData] = {}
    if setup is not None:
        loaded = with_additions(groups, log.additions)
        motions = {d.name: d for d in setup.bandwidth.torque_data(loaded, setup.driven)}
    variants = {v.name: v for v in log.training.variants}
    controls = {r.name: set(r.part.controls) for r in plain.recordings}
    out = []
    for group in groups:
        if group.name not in variants:
            continue
        for trajectory in group.measured_rollout:
            name = trajectory.name
            driven = controls.get(name) or controls[name.removesuffix(" (held out)")]
            laws = actuator_laws(
                trajectory,
                variants[group.name].model,
                driven,
                None if setup is None else setup.bandwidth,
                motions.get(name),
                plain.experiment.control,
            )
            motion = motions.get(name)
            if motion is not None and not any(_known(motion, laws)):
                motion = None
            if motion is None and (laws is None or not laws.compared):
                continue
            out.append(_recording(name, variants[group.name], motion, laws, setup))
    return out


def _recording(
    name: str,
    variant: ModelVariants,
    motion: TorqueData | None,
    laws: ActuatorLaws | None,
    setup: TorqueSetup | None,
) -> _Recording:
    weights, per_gravity = np.zeros((0, 0)), np.zeros(0)
    if motion is not None:
        assert setup is not None
        sigma = [setup.noise[f"{n} torque"] for n in joint_names(motion.model, motion.sources.dofs)]
        weights = motion.counts / np.array(sigma) * np.array(_known(motion, laws))
        per_gravity = _per_gravity(motion)
    law_weights = np.zeros((0, 0))
    if laws is not None and laws.compared:
        least = np.maximum(_FINEST * np.std(laws.recorded, axis=0), 1e-9)
        noise = np.maximum(laws.noise, least)
        law_weights = np.broadcast_to(1.0 / noise, laws.recorded.shape)
    return _Recording(name, variant, motion, weights, per_gravity, laws, law_weights)


def _known(motion: TorqueData, laws: ActuatorLaws | None) -> list[bool]:
    """Whether the torque of each joint was recorded, or is that of a motor at its command."""
    by_law = set() if laws is None else set(laws.dofs)
    return [
        dof in motion.sources.sensor_columns or (motion.is_effort(dof) and dof in by_law)
        for dof in motion.sources.dofs
    ]


def _per_gravity(motion: TorqueData) -> np.ndarray:
    """Torque of each link parameter per unit of gravity along each axis."""
    model = copy(motion.model)
    still = np.zeros_like(motion.motion.qvel)
    out = []
    for axis in range(3):
        model.opt.gravity[:] = np.eye(3)[axis]
        out.append(motion.on_rows(link_regressor(model, motion.motion.qpos, still, still)))
    return np.stack(out)


def _channels(recording: _Recording) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Names, times and weights of the channels of a recording."""
    names: list[str] = []
    weights = []
    times = np.zeros(0)
    if recording.motion is not None:
        own = joint_names(recording.motion.model, recording.motion.sources.dofs)
        names += [f"{n} torque" for n in own]
        weights.append(recording.weights)
        times = recording.motion.motion.times
    if recording.laws is not None and recording.laws.compared:
        names += [f"{n} actuators" for n in recording.laws.names]
        weights.append(recording.law_weights)
        times = recording.laws.times
    return tuple(names), times, np.concatenate(weights, axis=1)


def _fields(variant: ModelVariants, X: np.ndarray) -> dict[str, np.ndarray]:
    """Fields of candidate models ``(n, ...)``."""
    model = variant.model
    fields = {
        name: np.repeat(
            np.array(model.opt.gravity if name == _GRAVITY else getattr(model, name), float)[None],
            len(X),
            axis=0,
        )
        for name in _FIELDS
    }
    for write, values in variant.field_writes(X):
        if write.field in fields:
            fields[write.field].reshape(len(X), -1)[:, write.entries] = values
    return fields
