"""One model with the recordings that it has to reproduce."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import mujoco
import numpy as np

from trueup.errors import ModelError, SignalError, did_you_mean, listing
from trueup.signals.time_series import TimeSeries
from trueup.simulation.lead_in import LeadIn
from trueup.simulation.system_trajectory import SystemTrajectory


class ModelSequences:
    """A model specification and one or several measured sequences of that model.

    The specification is never modified: the model is compiled from a copy.

    Args:
        name: name of the group, also of files written for it.
        spec: the model that a fit varies.
        sequence_name: name of each sequence, or of the one.
        initial_state: full-physics state at the first control of each sequence.
        control: controls of each sequence.
        sensordata: measured signals of each sequence.
        allow_missing_sensors: accept sequences that hold only some of the model's sensors.
        lead_in: what was recorded before each sequence begins; None where that is nothing.

    Attributes:
        name: as given.
        spec: as given.
        sequence_name: names, one a sequence.
        initial_state: initial states, one a sequence.
        control: controls, one a sequence.
        sensordata: measured signals, one a sequence.
        allow_missing_sensors: as given.
        lead_in: as given, one a sequence.
        gt_model: the model compiled from ``spec`` as given.
        measured_rollout: one :class:`SystemTrajectory` a sequence, without states.

    Raises:
        SignalError: which sequence does not fit the model, and why.
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
        self.name = name
        self.spec = spec
        self.allow_missing_sensors = allow_missing_sensors
        self.sequence_name = (
            [sequence_name] if isinstance(sequence_name, str) else list(sequence_name)
        )
        self.initial_state = _states(initial_state)
        self.control = [control] if isinstance(control, TimeSeries) else list(control)
        self.sensordata = [sensordata] if isinstance(sensordata, TimeSeries) else list(sensordata)
        self.lead_in = [None] * len(self.sequence_name) if lead_in is None else list(lead_in)
        self._check_counts()
        self.gt_model = _compiled_copy(spec, name)
        self.measured_rollout = [
            SystemTrajectory(self.gt_model, control, sensordata, state)
            for control, sensordata, state in zip(
                self.control, self.sensordata, self.initial_state, strict=True
            )
        ]
        for label, trajectory in zip(self.sequence_name, self.measured_rollout, strict=True):
            try:
                _check(trajectory, allow_missing_sensors)
            except SignalError as error:
                raise SignalError(f"Sequence {label!r} of {name!r}: {error}") from error

    @classmethod
    def from_trajectories(
        cls,
        name: str,
        spec: mujoco.MjSpec,
        sequence_name: Sequence[str],
        trajectories: Sequence[SystemTrajectory],
        allow_missing_sensors: bool = False,
    ) -> ModelSequences:
        """Build a group from trajectories, such as the chunks of :meth:`SystemTrajectory.split`."""
        return cls(
            name,
            spec,
            sequence_name,
            [trajectory.initial_state for trajectory in trajectories],
            [trajectory.control for trajectory in trajectories],
            [trajectory.sensordata for trajectory in trajectories],
            allow_missing_sensors,
        )

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
        chosen = list(self._positions(key))
        part = object.__new__(type(self))
        part.name = self.name
        part.spec = self.spec
        part.allow_missing_sensors = self.allow_missing_sensors
        part.gt_model = self.gt_model
        part.sequence_name = [self.sequence_name[position] for position in chosen]
        part.initial_state = [self.initial_state[position] for position in chosen]
        part.control = [self.control[position] for position in chosen]
        part.sensordata = [self.sensordata[position] for position in chosen]
        part.lead_in = [self.lead_in[position] for position in chosen]
        part.measured_rollout = [self.measured_rollout[position] for position in chosen]
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
                raise IndexError(f"{self.name!r} has {len(self)} sequences, no position {key}.")
            return [int(key)]
        return [position for part in key for position in self._positions(part)]

    def _check_counts(self) -> None:
        counts = {
            "sequence names": len(self.sequence_name),
            "initial states": len(self.initial_state),
            "controls": len(self.control),
            "sensordata": len(self.sensordata),
            "lead-ins": len(self.lead_in),
        }
        if len(set(counts.values())) > 1 or not self.sequence_name:
            found = ", ".join(f"{count} {what}" for what, count in counts.items())
            raise SignalError(
                f"{self.name!r} needs one name, initial state, control and sensordata a sequence, "
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
        raise SignalError("the control has one sample; a simulation needs at least two.")
    for what, values in (
        ("control", control.data),
        ("initial state", trajectory.initial_state),
    ):
        if not np.isfinite(values).all():
            raise SignalError(
                f"the {what} holds values that are not finite: fill or cut the gap first."
            )
    if sensordata.times[-1] <= control.times[0] or sensordata.times[0] >= control.times[-1]:
        raise SignalError(
            f"sensor data from {sensordata.times[0]:.9g} to {sensordata.times[-1]:.9g} s and "
            f"control from {control.times[0]:.9g} to {control.times[-1]:.9g} s do not overlap: "
            "they need one clock."
        )
