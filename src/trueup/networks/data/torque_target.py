"""The torque that a network is to give: measured, or from inertia and acceleration."""

import numpy as np

from trueup.errors import ColumnError, ExperimentError, SignalError
from trueup.networks.data.data_settings import (
    ACCELERATION,
    REFERENCE_TORQUE,
    TORQUE,
    DataSettings,
)
from trueup.networks.data.features import ANGLE, FEATURES, INERTIA, VELOCITY
from trueup.networks.data.raw_signals import COMMANDS, RawSignals


def with_torque(raw: RawSignals, rate: float, settings: DataSettings) -> RawSignals:
    """Signals at an even rate, with the torque computed where it is not measured, and filtered.

    Raises:
        ExperimentError: the group has no inertia where the torque is computed from it.
        ColumnError: a term needs an angle or a velocity that the recording lacks.
        SignalError: the corner of the filter is not below half the rate.
    """
    raw = _filtered(raw, rate, settings)
    if TORQUE in raw.signals:
        note = "target: measured torque"
        torque = raw.signals[TORQUE]
    else:
        torque, note = _from_acceleration(raw, settings)
    terms = settings.torque_terms
    if terms.stated:
        angle, velocity = (_needed(raw, name) for name in (ANGLE, VELOCITY))
        torque = (
            torque
            + terms.gravity * np.sin(angle - terms.gravity_angle)
            + terms.spring * (angle - terms.spring_angle)
            + terms.coulomb * np.tanh(velocity / terms.coulomb_velocity)
            + terms.viscous * velocity
        )
        note += ", " + ", ".join(f"{name} {getattr(terms, name):g}" for name in terms.stated)
        note += " added: motor torque"
    elif TORQUE not in raw.signals:
        note += ": net torque on the load, friction, gravity and springs included"
    return raw.with_note(note, signals={**raw.signals, TORQUE: torque})


def _from_acceleration(raw: RawSignals, settings: DataSettings) -> tuple[np.ndarray, str]:
    if INERTIA not in raw.signals:
        raise ExperimentError(
            f"{raw.file.path}: the torque is inertia x acceleration / radius, but the group "
            f"{raw.file.group!r} has no inertia. Motion alone gives the ratio of both: with the "
            "inertia in data.inertia_groups the scale of the torque follows; with a measured "
            "torque, mapped as columns.torque, the inertia is not needed"
        )
    acceleration = raw.signals[ACCELERATION]
    note = f"target: inertia x acceleration / {settings.radius_accel:g} m"
    if settings.accel_gravity:
        acceleration = acceleration - settings.accel_gravity * np.sin(_needed(raw, ANGLE))
        note += f", gravity of {settings.accel_gravity:g} m/s2 taken from the acceleration"
    return raw.signals[INERTIA] * acceleration / settings.radius_accel, note


def _filtered(raw: RawSignals, rate: float, settings: DataSettings) -> RawSignals:
    cutoff = settings.filter_cutoff_freq_hz
    if cutoff is None or settings.filter_mode == "none":
        return raw
    if cutoff >= 0.5 * rate:
        raise SignalError(
            f"filter_cutoff_freq_hz is {cutoff:g} Hz; it must be below half the rate of {rate:g} Hz"
        )
    targets = [n for n in (TORQUE, ACCELERATION, REFERENCE_TORQUE) if n in raw.signals]
    kept = (*COMMANDS, INERTIA)
    inputs = [n for n in raw.signals if n in FEATURES and n not in kept]
    chosen = targets + (inputs if settings.filter_inputs else [])
    changed = {name: _low_pass(raw.signals[name], cutoff, rate, settings) for name in chosen}
    kind = "run both ways" if settings.filter_mode == "zero_phase" else "causal"
    what = "torque and inputs" if settings.filter_inputs else "torque alone"
    return raw.with_note(
        f"Butterworth filter, {cutoff:g} Hz, order {settings.filter_order}, {kind}, on {what}",
        signals={**raw.signals, **changed},
    )


def _low_pass(values: np.ndarray, cutoff: float, rate: float, settings: DataSettings) -> np.ndarray:
    order = settings.filter_order
    if settings.filter_mode == "zero_phase":
        from trueup.signals import butterworth

        return butterworth(np.arange(len(values)) / rate, values, cutoff=cutoff, order=order)
    from scipy.signal import butter, sosfilt, sosfilt_zi

    sections = butter(order, cutoff, fs=rate, output="sos")
    # as if the first sample had lasted for ever: no step at the start
    return sosfilt(sections, values, zi=sosfilt_zi(sections) * values[0])[0]


def _needed(raw: RawSignals, name: str) -> np.ndarray:
    if name not in raw.signals:
        raise ColumnError(f"{raw.file.path}: {name} is needed for the torque, and is not mapped")
    return raw.signals[name]
