"""A model with the measured sequences that it must reproduce."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import mujoco
import numpy as np

from trueup.errors import ModelError, SignalError, did_you_mean, listing
from trueup.signals.time_series import TimeSeries
from trueup.simulation.engine.initial_state import open_places
from trueup.simulation.engine.lead_in import LeadIn
from trueup.simulation.measured.system_trajectory import SystemTrajectory


class ModelSequences:
    """A model specification and one or several measured sequences of that model.

    The specification is never modified: the model is compiled from a copy.

    Args:
        name: name of the group, also of files written for it.
        spec: the model that a fit varies.
        sequence_name: name of each sequence, or of the only one.
        initial_state: full-physics state at the first control of each sequence. Activations and
            samples of delays that are NaN, as with ``create_initial_state(..., held=True)``, are
            set for each candidate to the steady state under the first command.
        control: controls of each sequence.
        sensordata: measured signals of each sequence.
        allow_missing_sensors: accept sequences with only some of the model's sensors.
        lead_in: recording before the start of each sequence; None if there is none.

    Attributes:
        name: as given.
        spec: as given.
        allow_missing_sensors: as given.
        gt_model: the model compiled from ``spec`` as given.
        measured_rollout: one :class:`SystemTrajectory` per sequence, without states.

    Raises:
        SignalError: a sequence does not match the model; the message gives its name and the reason.
        ModelError: the specification does not compile.
    """

    def __init__(
        self,
        name: str,
        spec: mujoco.MjSpec,
        sequence_name: str | Sequence[str],
        initial_state: np.ndarray | Sequence[np.ndarray],
        control: TimeSeries | Sequence[TimeSeries],
        sensordata: TimeSeries | Sequence[TimeSeries],
        allow_missing_sensors: bool = False,
        lead_in: Sequence[LeadIn | None] | None = None,
    ):
        names = [sequence_name] if isinstance(sequence_name, str) else list(sequence_name)
        states = _states(initial_state)
        controls = [control] if isinstance(control, TimeSeries) else list(control)
        measured = [sensordata] if isinstance(sensordata, TimeSeries) else list(sensordata)
        lead_ins = [None] * len(names) if lead_in is None else list(lead_in)
        _check_counts(
            name,
            {
                "sequence names": len(names),
                "initial states": len(states),
                "controls": len(controls),
                "sensordata": len(measured),
                "lead-ins": len(lead_ins),
            },
        )
        model = _compiled_copy(spec, name)
        trajectories = [
            SystemTrajectory(model, *parts[:3], name=parts[3], lead_in=parts[4])
            for parts in zip(controls, measured, states, names, lead_ins, strict=True)
        ]
        self._set(name, spec, model, trajectories, allow_missing_sensors)
        self._check()

    def _set(
        self,
        name: str,
        spec: mujoco.MjSpec,
        model: mujoco.MjModel,
        trajectories: list[SystemTrajectory],
        allow_missing_sensors: bool,
    ) -> None:
        self.name = name
        self.spec = spec
        self.gt_model = model
        self.measured_rollout = trajectories
        self.allow_missing_sensors = allow_missing_sensors

    def _check(self) -> None:
        for trajectory in self.measured_rollout:
            try:
                _check(trajectory, self.allow_missing_sensors)
            except SignalError as error:
                raise SignalError(
                    f"Sequence {trajectory.name!r} of {self.name!r}: {error}"
                ) from error

    @property
    def sequence_name(self) -> list[str]:
        """Name of each sequence."""
        return [trajectory.name for trajectory in self.measured_rollout]

    @property
    def initial_state(self) -> list[np.ndarray]:
        """Full-physics state at the first control of each sequence."""
        return [trajectory.initial_state for trajectory in self.measured_rollout]

    @property
    def control(self) -> list[TimeSeries]:
        """Controls of each sequence."""
        return [trajectory.control for trajectory in self.measured_rollout]

    @property
    def sensordata(self) -> list[TimeSeries]:
        """Measured signals of each sequence."""
        return [trajectory.sensordata for trajectory in self.measured_rollout]

    @property
    def lead_in(self) -> list[LeadIn | None]:
        """Recording before the start of each sequence."""
        return [trajectory.lead_in for trajectory in self.measured_rollout]

    @classmethod
    def from_trajectories(
        cls,
        name: str,
        spec: mujoco.MjSpec,
        sequence_name: Sequence[str],
        trajectories: Sequence[SystemTrajectory],
        allow_missing_sensors: bool = False,
    ) -> ModelSequences:
        """Build a group from trajectories, such as the chunks of :meth:`SystemTrajectory.split`.

        The states are dropped, since a simulation of the group recomputes them.
        """
        counts = {"sequence names": len(sequence_name), "trajectories": len(trajectories)}
        _check_counts(name, counts)
        model = _compiled_copy(spec, name)
        named = [
            trajectory.replace(model=model, name=own, state=None)
            for trajectory, own in zip(trajectories, sequence_name, strict=True)
        ]
        group = object.__new__(cls)
        group._set(name, spec, model, named, allow_missing_sensors)
        group._check()
        return group

    def __len__(self) -> int:
        return len(self.sequence_name)

    def __iter__(self) -> Iterator[ModelSequences]:
        return (self[position] for position in range(len(self)))

    def __getitem__(self, key: int | slice | str | Sequence[int | str]) -> ModelSequences:
        """Return the group with only some sequences: by position, slice, name, or a list of them.

        Raises:
            SignalError: no sequence of that name.
            IndexError: no sequence at that position.
        """
        chosen = [self.measured_rollout[position] for position in self._positions(key)]
        part = object.__new__(type(self))
        part._set(self.name, self.spec, self.gt_model, chosen, self.allow_missing_sensors)
        return part

    def __repr__(self) -> str:
        return f"ModelSequences({self.name!r}, sequences={listing(self.sequence_name)})"

    def _positions(self, key: int | slice | str | Iterable[int | str]) -> Iterable[int]:
        if isinstance(key, slice):
            return range(len(self))[key]
        if isinstance(key, str):
            if key not in self.sequence_name:
                raise SignalError(
                    f"{self.name!r} has no sequence {key!r}."
                    f"{did_you_mean(key, self.sequence_name)} "
                    f"Available sequences: {listing(self.sequence_name)}."
                )
            return [self.sequence_name.index(key)]
        if isinstance(key, int | np.integer):
            if not -len(self) <= key < len(self):
                raise IndexError(
                    f"{self.name!r} has {len(self)} sequences; position {key} is out of range."
                )
            return [int(key)]
        return [position for part in key for position in self._positions(part)]


def _check_counts(name: str, counts: dict[str, int]) -> None:
    if len(set(counts.values())) > 1 or not counts["sequence names"]:
        found = ", ".join(f"{count} {what}" for what, count in counts.items())
        raise SignalError(
            f"{name!r} requires one name, initial state, control and sensordata per sequence, "
            f"and at least one sequence; found {found}."
        )


def _states(initial_state: np.ndarray | Sequence[np.ndarray]) -> list[np.ndarray]:
    if isinstance(initial_state, np.ndarray):
        return list(initial_state) if initial_state.ndim == 2 else [initial_state]
    return [np.asarray(state, dtype=float) for state in initial_state]


def _compiled_copy(spec: mujoco.MjSpec, name: str) -> mujoco.MjModel:
    try:
        return spec.copy().compile()
    except ValueError as error:
        raise ModelError(f"The model of {name!r} does not compile: {error}") from error


def _check(trajectory: SystemTrajectory, allow_missing_sensors: bool) -> None:
    trajectory.check_compatible(allow_missing_sensors)
    control, sensordata = trajectory.control, trajectory.sensordata
    if len(control) < 2:
        raise SignalError("the control has one sample; a simulation requires at least two.")
    state = trajectory.initial_state
    may_be_open = open_places(trajectory.model) & np.isnan(state)
    for what, values in (
        ("control", control.data),
        ("initial state", state[~may_be_open]),
    ):
        if not np.isfinite(values).all():
            raise SignalError(
                f"the {what} contains values that are not finite: fill the gap or split there "
                "first."
            )
    if sensordata.times[-1] <= control.times[0] or sensordata.times[0] >= control.times[-1]:
        raise SignalError(
            f"sensor data from {sensordata.times[0]:.9g} to {sensordata.times[-1]:.9g} s and "
            f"control from {control.times[0]:.9g} to {control.times[-1]:.9g} s do not overlap: "
            "they require a common clock."
        )
