"""Compared channels: one column of a recording and one of the simulation each."""

import mujoco

from trueup.errors import SignalError, did_you_mean, listing
from trueup.signals import SignalType, TimeSeries
from trueup.signals.model_signals import sensor_mapping, state_mappings
from trueup.simulation.measured.observation import Channel
from trueup.sysid.fit.observation_settings import ObservationSettings


def channels_of(
    model: mujoco.MjModel, sensordata: TimeSeries, settings: ObservationSettings
) -> tuple[list[Channel], list[int], list[str]]:
    """Compared channels, their columns in the recording and the signal of each.

    Raises:
      SignalError: a signal that was not recorded, or that the model does not have.
    """
    mapping = sensordata.signal_mapping
    if mapping is None:
        if sensordata.data.shape[1] != model.nsensordata:
            raise SignalError(
                f"the recording has {sensordata.data.shape[1]} unnamed columns, the model's "
                f"sensors give {model.nsensordata}: name the columns with TimeSeries.from_names"
            )
        mapping = sensor_mapping(model)
    wanted = list(settings.channels) or list(mapping)
    unknown = [name for name in wanted if name not in mapping]
    if unknown:
        raise SignalError(
            f"signals {listing(unknown)} were not recorded; recorded signals are "
            f"{listing(mapping)}."
            f"{did_you_mean(unknown[0], mapping)}"
        )
    wanted = [name for name in wanted if settings.weights.get(name, 1.0) != 0]
    if not wanted:
        raise SignalError("every recorded signal has the weight 0: at least one must be positive")
    channels: list[Channel] = []
    columns: list[int] = []
    owners: list[str] = []
    for name in wanted:
        kind, indices = mapping[name]
        places = _places(model, name, kind, settings)
        if len(places) != len(indices):
            raise SignalError(
                f"signal {name!r} has {len(indices)} recorded columns, the model gives "
                f"{len(places)}"
            )
        for k, ((field_name, column, lag), index) in enumerate(zip(places, indices, strict=True)):
            label = name if len(indices) == 1 else f"{name}[{k}]"
            channels.append(Channel(label, field_name, column, lag))
            columns.append(int(index))
            owners.append(name)
    return channels, columns, owners


def _places(
    model: mujoco.MjModel, name: str, kind: SignalType, settings: ObservationSettings
) -> list[tuple[str, int, int]]:
    if kind is SignalType.MjSensor:
        sensors = sensor_mapping(model)
        if name not in sensors:
            raise SignalError(
                f"the model has no sensor {name!r}; available: {listing(sensors)}."
                f"{did_you_mean(name, sensors)}"
            )
        lag = 0 if settings.exact_sensor_times else 1
        return [("sensordata", int(c), lag) for c in sensors[name][1]]
    states = dict(
        zip(
            (SignalType.MjStateQPos, SignalType.MjStateQVel, SignalType.MjStateAct),
            state_mappings(model),
            strict=False,
        )
    )
    if kind not in states:
        raise SignalError(
            f"signal {name!r} is of type {kind.name}, which the simulation does not provide: pass "
            f"modify_residual to compare it"
        )
    if name not in states[kind]:
        raise SignalError(
            f"the model has no state {name!r}; available: {listing(states[kind])}."
            f"{did_you_mean(name, states[kind])}"
        )
    offset = {
        SignalType.MjStateQPos: 0,
        SignalType.MjStateQVel: model.nq,
        SignalType.MjStateAct: model.nq + model.nv,
    }[kind]
    record = {
        SignalType.MjStateQPos: "qpos",
        SignalType.MjStateQVel: "qvel",
        SignalType.MjStateAct: "act",
    }[kind]
    return [(record, int(c) - offset, 1) for c in states[kind][name][1]]
