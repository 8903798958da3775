"""Limits of a moving servo, and signals that stop it."""

import signal
import threading
from types import FrameType
from typing import Any

from trueup import _stop_signals
from trueup.actuators.record.driver import Reading, ServoLimits
from trueup.actuators.record.settings import RecordSettings
from trueup.actuators.record.trajectory import MotionLimits
from trueup.errors import HardwareError

_FEWEST_PACKETS = 40  # below this number, the fraction of lost packets is not significant
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class Safety:
    """Checks of the readings during one recording.

    Args:
        servo: limits in the servo.
        settings: limits of the recording.
    """

    def __init__(self, servo: ServoLimits, settings: RecordSettings):
        self._settings = settings
        self._lowest_volts = _chosen(settings.lowest_volts, servo.lowest_volts)
        self._highest_volts = _chosen(settings.highest_volts, servo.highest_volts)
        self._temperature = min(settings.highest_temperature, servo.highest_temperature)
        limits = settings.limits
        self.limits = MotionLimits(
            lowest=max(limits.lowest, servo.lowest),
            highest=min(limits.highest, servo.highest),
            speed=limits.speed,
            jump=limits.jump,
        )
        """Limits of trajectories: the stricter of servo and settings."""
        self._volts_out_of_range = 0

    def check_start(self, reading: Reading) -> None:
        """Check the servo before its torque is switched on.

        Raises:
            HardwareError: voltage, temperature or angle is out of range.
        """
        if reason := self._volts(reading):
            raise HardwareError(f"not started: {reason}")
        if reading.temperature >= self._temperature:
            raise HardwareError(f"not started: {self._hot(reading)}. Let it cool down")
        if not self.limits.lowest <= reading.position <= self.limits.highest:
            raise HardwareError(
                f"not started: the servo is at {reading.position:.3f} rad, outside the range "
                f"{self.limits.lowest:.3f} to {self.limits.highest:.3f} rad. Move it by hand, or "
                "set its zero to the angle at which the pendulum hangs down"
            )

    def check(self, reading: Reading) -> None:
        """Check the servo while it moves.

        Raises:
            HardwareError: temperature or angle is out of range, or the voltage stays out of range.
        """
        if reading.temperature >= self._temperature:
            raise HardwareError(f"stopped: {self._hot(reading)}")
        margin = self._settings.margin
        if not self.limits.lowest - margin <= reading.position <= self.limits.highest + margin:
            raise HardwareError(
                f"stopped: the servo is at {reading.position:.3f} rad, outside its range "
                f"{self.limits.lowest:.3f} to {self.limits.highest:.3f} rad"
            )
        reason = self._volts(reading)
        self._volts_out_of_range = self._volts_out_of_range + 1 if reason else 0
        if self._volts_out_of_range > self._settings.patience:
            raise HardwareError(f"stopped: {reason}")

    def check_retries(self, retries: int, packets: int) -> None:
        """Check the fraction of lost packets.

        Raises:
            HardwareError: the fraction exceeds the limit of the settings.
        """
        if packets >= _FEWEST_PACKETS and retries > self._settings.most_retries * packets:
            raise HardwareError(
                f"stopped: {retries} of {packets} packets were lost or corrupt, more than "
                f"{100 * self._settings.most_retries:g} %. Check cable and ground, or use a lower "
                "baud rate"
            )

    def _volts(self, reading: Reading) -> str:
        if self._lowest_volts <= reading.input_volts <= self._highest_volts:
            return ""
        return (
            f"the supply voltage is {reading.input_volts:.1f} V, outside "
            f"{self._lowest_volts:.1f} to {self._highest_volts:.1f} V"
        )

    def _hot(self, reading: Reading) -> str:
        return (
            f"the servo is at {reading.temperature:.0f} degrees C, the limit is "
            f"{self._temperature:.0f}"
        )


def _chosen(wanted: float | None, otherwise: float) -> float:
    return otherwise if wanted is None else wanted


class StopSignals:
    """Context manager that records Ctrl-C, SIGTERM and SIGHUP for checks between packets.

    Packets are never interrupted, and a second Ctrl-C does not interrupt the safe stop. Python
    handles signals in its main thread only; in another thread this object does nothing.
    """

    def __init__(self) -> None:
        self._former: dict[int, Any] = {}
        self.requested: str | None = None
        """Name of the received signal, or None."""

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is threading.main_thread():
            for name in _SIGNALS:
                number = getattr(signal, name, None)
                # Ignored signals stay ignored, as in a background job of a shell or under nohup.
                if number is None or signal.getsignal(number) is signal.SIG_IGN:
                    continue
                self._former[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._former.items():
            # None: the former handler was not installed from Python and cannot be restored.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal has been received."""
        if self.requested is not None:
            raise KeyboardInterrupt(f"stopped by {self.requested}")

    def _handle(self, number: int, frame: FrameType | None) -> None:
        _stop_signals.note(number)
        self.requested = signal.Signals(number).name
