"""Target torque of a network: measured, or from inertia and acceleration."""

import numpy as np

from trueup.errors import ColumnError, ExperimentError, SignalError
from trueup.networks.data.features import ANGLE, FEATURES, INERTIA, VELOCITY
from trueup.networks.data.recordings import COMMANDS, load_group
from trueup.networks.data.settings import (
    ACCELERATION,
    REFERENCE_TORQUE,
    TORQUE,
    DataSettings,
)
from trueup.signals import Recording, butterworth
from trueup.signals.filters import causal_butterworth


def with_torque(recording: Recording, rate: float, settings: DataSettings) -> Recording:
    """Filtered signals at a constant rate, with the torque computed where it is not measured.

    Raises:
        ExperimentError: the group has no inertia where the torque is computed from it.
        ColumnError: a term requires an angle or a velocity that is not recorded.
        SignalError: the corner of the filter is not below half the rate.
    """
    recording = _filtered(recording, rate, settings)
    columns = recording.stream.columns
    if TORQUE in columns:
        note = "target: measured torque"
        torque = columns[TORQUE]
    else:
        torque, note = _from_acceleration(recording, settings)
    terms = settings.torque_terms
    if terms.stated:
        angle, velocity = (_needed(recording, name) for name in (ANGLE, VELOCITY))
        torque = (
            torque
            + terms.gravity * np.sin(angle - terms.gravity_angle)
            + terms.spring * (angle - terms.spring_angle)
            + terms.coulomb * np.tanh(velocity / terms.coulomb_velocity)
            + terms.viscous * velocity
        )
        note += ", " + ", ".join(f"{name} {getattr(terms, name):g}" for name in terms.stated)
        note += " added: motor torque"
    elif TORQUE not in columns:
        note += ": net torque on the load, friction, gravity and springs included"
    return recording.with_columns({TORQUE: torque}).noted(note)


def _from_acceleration(recording: Recording, settings: DataSettings) -> tuple[np.ndarray, str]:
    columns = recording.stream.columns
    if INERTIA not in columns:
        raise ExperimentError(
            f"{recording.source}: the torque is inertia x acceleration / radius, but the group "
            f"{load_group(recording)!r} has no inertia. Motion alone determines only their ratio: "
            "set the inertia in data.inertia_groups, or map a measured torque as columns.torque"
        )
    acceleration = columns[ACCELERATION]
    note = f"target: inertia x acceleration / {settings.radius_accel:g} m"
    if settings.accel_gravity:
        acceleration = acceleration - settings.accel_gravity * np.sin(_needed(recording, ANGLE))
        note += f", gravity of {settings.accel_gravity:g} m/s2 subtracted from the acceleration"
    return columns[INERTIA] * acceleration / settings.radius_accel, note


def _filtered(recording: Recording, rate: float, settings: DataSettings) -> Recording:
    cutoff = settings.filter_cutoff_freq_hz
    if cutoff is None or settings.filter_mode == "none":
        return recording
    if cutoff >= 0.5 * rate:
        raise SignalError(
            f"filter_cutoff_freq_hz is {cutoff:g} Hz; it must be below half the rate of {rate:g} Hz"
        )
    columns = recording.stream.columns
    targets = [n for n in (TORQUE, ACCELERATION, REFERENCE_TORQUE) if n in columns]
    kept = (*COMMANDS, INERTIA)
    inputs = [n for n in columns if n in FEATURES and n not in kept]
    chosen = targets + (inputs if settings.filter_inputs else [])
    changed = {name: _low_pass(columns[name], cutoff, rate, settings) for name in chosen}
    kind = "zero phase" if settings.filter_mode == "zero_phase" else "causal"
    what = "torque and inputs" if settings.filter_inputs else "torque only"
    return recording.with_columns(changed).noted(
        f"Butterworth filter, {cutoff:g} Hz, order {settings.filter_order}, {kind}, on {what}"
    )


def _low_pass(values: np.ndarray, cutoff: float, rate: float, settings: DataSettings) -> np.ndarray:
    order = settings.filter_order
    if settings.filter_mode == "zero_phase":
        return butterworth(np.arange(len(values)) / rate, values, cutoff=cutoff, order=order)
    return causal_butterworth(values, rate, cutoff, order)


def _needed(recording: Recording, name: str) -> np.ndarray:
    columns = recording.stream.columns
    if name not in columns:
        raise ColumnError(
            f"{recording.source}: the torque requires {name}, which is not mapped in data.columns"
        )
    return columns[name]
