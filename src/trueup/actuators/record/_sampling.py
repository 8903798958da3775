"""Sampling of a trajectory: one thread keeps the deadlines, another one writes the log."""

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from trueup.actuators.record.driver import Reading, ServoDriver
from trueup.actuators.record.partial_log import PartialLog
from trueup.actuators.record.safety import Safety, StopSignals
from trueup.actuators.record.servo_clock import ServoClock
from trueup.actuators.record.settings import RecordSettings
from trueup.actuators.record.trajectory import Trajectory
from trueup.errors import HardwareError, RecordingError

_POLL = 0.05  # longest interval between checks for signals [s]
_REPORT = 0.1  # interval between progress reports [s]


def follow(
    driver: ServoDriver,
    trajectory: Trajectory,
    safety: Safety,
    settings: RecordSettings,
    log: PartialLog,
    stop: StopSignals,
    on_progress: Callable[[float], None] | None,
) -> dict[str, Any]:
    """Command and measure until the end, and write samples to the log.

    Returns:
        Header values: repeated packets, missed samples and the longest gap [s].

    Raises:
        HardwareError: a fault of the servo, or fewer than two samples.
        KeyboardInterrupt: a stop signal was received; the samples before it are in the log.
    """
    sampler = Sampler(driver, trajectory, safety, settings)
    thread = threading.Thread(target=sampler.run, name="servo sampling", daemon=True)
    thread.start()
    shown = -1.0
    try:
        while not sampler.ended:
            stop.check()
            if (entry := sampler.take(_POLL)) is not None:
                log.append(entry)
            now = sampler.elapsed
            if on_progress is not None and now < trajectory.duration and now - shown >= _REPORT:
                on_progress(now / trajectory.duration)
                shown = now
    except BaseException:
        sampler.stop()
        thread.join()
        with suppress(RecordingError):  # a full disk may be the reason
            while (entry := sampler.take(0.0)) is not None:
                log.append(entry)
        raise
    thread.join()
    if sampler.error is not None:
        raise sampler.error
    if sampler.samples < 2:
        raise HardwareError(
            f"stopped: {sampler.samples} sample within the {trajectory.duration:g} s of "
            f"{trajectory.name!r}; the bus is too slow"
        )
    return {
        "retried_packets": sampler.retries,
        "missed_samples": sampler.missed,
        "longest_gap": round(sampler.longest_gap, 6),
    }


class Sampler:
    """Sampler that commands a trajectory and measures at deadlines of a monotonic clock.

    :meth:`run` runs in its own thread; all else is called by the thread that started it.

    Args:
        driver: open servo, at the start of the trajectory.
        trajectory: trajectory to command.
        safety: checks of each reading.
        settings: rate and limits.
    """

    def __init__(
        self,
        driver: ServoDriver,
        trajectory: Trajectory,
        safety: Safety,
        settings: RecordSettings,
    ):
        self._driver, self._trajectory = driver, trajectory
        self._safety, self._period = safety, 1.0 / settings.rate
        self._clock = ServoClock()
        self._entries: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self.ended = False
        """Whether the last sample was taken from the queue."""
        self.error: BaseException | None = None
        """Reason for an early end."""
        self.elapsed = 0.0
        """Time since the start [s]."""
        self.samples = 0
        """Number of samples."""
        self.missed = 0
        """Number of missed deadlines."""
        self.retries = 0
        """Number of repeated packets."""
        self.longest_gap = 0.0
        """Longest time between two samples [s]."""

    def take(self, timeout: float) -> dict[str, Any] | None:
        """Next sample; None at the end, or if none arrives within ``timeout`` [s]."""
        try:
            entry = self._entries.get(timeout=timeout) if timeout else self._entries.get_nowait()
        except queue.Empty:
            return None
        self.ended = entry is None
        return entry

    def stop(self) -> None:
        """Stop after the current exchange."""
        self._stopped.set()

    def run(self) -> None:
        """Sample until the end of the trajectory, :meth:`stop` or an error."""
        try:
            self._run()
        except BaseException as error:
            self.error = error  # raised in the waiting thread
        finally:
            self._entries.put(None)

    def _run(self) -> None:
        driver, trajectory, period = self._driver, self._trajectory, self._period
        retries_before, packets, last = driver.retries, 0, 0.0
        driven = trajectory.at(0.0)[1]
        begin = deadline = time.monotonic()
        while not self._stopped.is_set():
            now = self.elapsed = time.monotonic() - begin
            if now >= trajectory.duration:
                break
            goal, enable = trajectory.at(now)
            if enable:
                # Goal before torque here too: the old goal may be far away.
                driver.write_goal(goal)
            if enable != driven:
                driver.write_torque(enable)
                driven = enable
                packets += 1
            before = time.monotonic()
            reading = driver.read()
            after = time.monotonic()
            packets += 1 + enable
            at = self._clock.time_of(reading.tick, before - begin, after - begin)
            self.longest_gap = max(self.longest_gap, at - last if self.samples else 0.0)
            last = at
            self._entries.put(_entry(at, reading, goal, enable))
            self.samples += 1
            self.retries = driver.retries - retries_before
            self._safety.check(reading)
            self._safety.check_retries(self.retries, packets)
            deadline += period
            late = time.monotonic() - deadline
            if late > 0:  # missed deadlines are skipped, because catching up would sample unevenly
                skipped = int(late / period)
                self.missed += skipped
                deadline += skipped * period
            else:
                self._stopped.wait(-late)


def _entry(timestamp: float, reading: Reading, goal: float, enable: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "timestamp": timestamp,
        "position": reading.position,
        "speed": reading.speed,
        "load": reading.load,
        "input_volts": reading.input_volts,
        "temp": reading.temperature,
        "goal_position": goal,
        "torque_enable": enable,
    }
    if reading.current is not None:
        entry["current"] = reading.current
    return entry
