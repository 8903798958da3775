"""Problem of a fit to a motion before its recording."""

from collections.abc import Mapping, Sequence

import numpy as np

from trueup.design.recording_noise import ChannelNoiseModel, typical
from trueup.design.robot.designed_robot import DesignedRobot, given_noise, signal_unit_list
from trueup.signals import TimeSeries
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.simulation.warp.devices import DeviceChoice
from trueup.sysid.fit.observation_settings import ObservationSettings
from trueup.sysid.fit.problem import GrayBoxProblem


def motion_problem(
    robot: DesignedRobot,
    noise: Mapping[str, ChannelNoiseModel],
    samples: int,
    rate: float,
    names: Sequence[str],
    device: DeviceChoice | None = None,
) -> GrayBoxProblem:
    """Problem of motions that start in the pose; the measurements are placeholders (zeros).

    Args:
      robot: the robot.
      noise: noise by channel, which weights the residuals.
      samples: number of commands of a motion.
      rate: sampling rate [Hz].
      names: names of the motions, all at rest until :meth:`GrayBoxProblem.set_controls`.
      device: device of large batches; None: the CPU.
    """
    times = np.arange(samples + 1) / rate
    held = np.zeros(robot.model.nu)
    held[list(robot.actuators)] = robot.pose * robot.gears
    data = np.zeros((len(times), len(noise)))
    trajectory = SystemTrajectory(
        robot.model,
        TimeSeries.from_control_names(times, np.tile(held, (len(times), 1)), robot.model),
        TimeSeries.from_names(times, data, robot.model, robot.signals),
        robot.state,
    )
    group = ModelSequences.from_trajectories(
        "model", robot.spec, names, [trajectory.replace(name=n) for n in names], True
    )
    deviations: dict[str, float] = {}
    for channel, model in noise.items():
        deviations.setdefault(_signal_of(channel, robot.signals), model.deviation)
    settings = ObservationSettings(
        noise=deviations,
        normalise="none",
        control=robot.experiment.control,
        exact_sensor_times=True,
    )
    return GrayBoxProblem(robot.parameters, [group], settings, robot.rules, device=device)


def channel_noise(
    robot: DesignedRobot, recorded: Mapping[str, ChannelNoiseModel]
) -> dict[str, ChannelNoiseModel]:
    """Noise by channel, in order of the signals: recorded, specified, or of a typical sensor."""
    units = signal_unit_list(robot)
    layout = TimeSeries.from_names(
        np.arange(2.0), np.zeros((2, _width(robot))), robot.model, robot.signals
    )
    out: dict[str, ChannelNoiseModel] = {}
    for signal, (_, columns) in zip(
        robot.signals, (layout.signal_mapping or {}).values(), strict=True
    ):
        for k in range(len(columns)):
            channel = signal if len(columns) == 1 else f"{signal}[{k}]"
            stated = typical(units[signal], given_noise(robot.experiment, signal))
            out[channel] = recorded.get(channel, stated)
    return out


def _width(robot: DesignedRobot) -> int:
    from trueup.signals.model_signals import OBSERVATION_TYPES, resolve_signals

    mapping = resolve_signals(robot.model, robot.signals, OBSERVATION_TYPES)
    return sum(len(columns) for _, columns in mapping.values())


def _signal_of(channel: str, signals: Sequence[str]) -> str:
    """Signal that a channel is a component of."""
    return max((s for s in signals if channel.startswith(s)), key=len, default=channel)
