"""Whether a servo is in a state in which it may move, and go on moving."""

from trueup.actuators.record.driver import Reading, ServoLimits
from trueup.actuators.record.settings import RecordSettings
from trueup.actuators.record.trajectories import MotionLimits
from trueup.errors import HardwareError

_FEWEST_PACKETS = 40  # before the share of lost ones says anything


class Safety:
    """Watch the readings of one recording.

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
        """What a trajectory may ask for: the stricter of both."""
        self._volts_out_of_range = 0

    def check_start(self, reading: Reading) -> None:
        """Check the servo before its torque is switched on.

        Raises:
            HardwareError: voltage, temperature or angle are out of range.
        """
        if reason := self._volts(reading):
            raise HardwareError(f"not started: {reason}")
        if reading.temperature >= self._temperature:
            raise HardwareError(f"not started: {self._hot(reading)}. Let it cool down")
        if not self.limits.lowest <= reading.position <= self.limits.highest:
            raise HardwareError(
                f"not started: the servo stands at {reading.position:.3f} rad, outside of "
                f"{self.limits.lowest:.3f} to {self.limits.highest:.3f} rad. Move it by hand, or "
                "set its zero to where the pendulum hangs down"
            )

    def check(self, reading: Reading) -> None:
        """Check the servo while it moves.

        Raises:
            HardwareError: it is too hot, beyond its range, or its voltage stays out of range.
        """
        if reading.temperature >= self._temperature:
            raise HardwareError(f"stopped: {self._hot(reading)}")
        margin = self._settings.margin
        if not self.limits.lowest - margin <= reading.position <= self.limits.highest + margin:
            raise HardwareError(
                f"stopped: the servo is at {reading.position:.3f} rad, beyond its range of "
                f"{self.limits.lowest:.3f} to {self.limits.highest:.3f} rad"
            )
        reason = self._volts(reading)
        self._volts_out_of_range = self._volts_out_of_range + 1 if reason else 0
        if self._volts_out_of_range > self._settings.patience:
            raise HardwareError(f"stopped: {reason}")

    def check_retries(self, retries: int, packets: int) -> None:
        """Check that not too many packets were lost.

        Raises:
            HardwareError: more of them were lost than the settings allow.
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
            f"the supply voltage is {reading.input_volts:.1f} V, outside of "
            f"{self._lowest_volts:.1f} to {self._highest_volts:.1f} V"
        )

    def _hot(self, reading: Reading) -> str:
        return (
            f"the servo has {reading.temperature:.0f} degrees C, the limit is "
            f"{self._temperature:.0f}"
        )


def _chosen(wanted: float | None, otherwise: float) -> float:
    return otherwise if wanted is None else wanted
