"""The GRU actuator of Isaac Lab."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from isaaclab.actuators import IdealPDActuator  # pyright: ignore

from trueup.deploy.isaac_lab.combined.laws import (
    FOLDER,
    pd_law,
    pd_law_with_curve,
    torque_speed_curve,
)
from trueup.deploy.isaac_lab.combined.run_files import read_run_files
from trueup.errors import ParameterError
from trueup.networks.runtime.step_rate import steps_a_period

_RANGE_CHECKS = ("off", "count", "clamp")
_FILES = ("network.pt", "normalization_stats.json", "training_config_summary.json")


class CombinedGRUAndPDActuator(IdealPDActuator):
    """Torque of a stateful GRU, added to an analytic base if it was trained as a residual.

    Each joint of each environment has its own hidden state, which ``reset`` clears. The network
    takes one sample per step, (angle, target angle, velocity), at the rate of its training:
        with shorter physics steps its torque is held in between.

    Raises:
      ParameterError: a file is missing, damaged or inconsistent with the others, or the physics
        step does not divide the network's period.
    """

    cfg: Any

    def __init__(self, cfg: Any, *args: Any, **kwargs: Any):
        super().__init__(cfg, *args, **kwargs)
        network, statistics, summary = _paths(cfg)
        self.files = read_run_files(statistics, summary)
        if not isinstance(cfg.physics_dt, int | float):
            raise ParameterError(
                f"physics_dt is {cfg.physics_dt!r}: set it to the time step of the simulation [s], "
                "sim.dt"
            )
        self._period = steps_a_period(self.files.rate, cfg.physics_dt)
        if (cfg.stall_torque is None) != (cfg.no_load_speed is None):
            raise ParameterError(
                "a torque-speed curve requires both stall_torque and no_load_speed"
            )
        if cfg.range_check not in _RANGE_CHECKS:
            raise ParameterError(
                f"range_check is {cfg.range_check!r}; available: {', '.join(_RANGE_CHECKS)}"
            )
        lowest, highest = self.files.feature_lowest, self.files.feature_highest
        if lowest is None or highest is None:
            if cfg.range_check != "off":
                raise ParameterError(
                    f"range_check={cfg.range_check!r} requires feature_lowest and "
                    f"feature_highest, which {summary} lacks: use 'off'"
                )
            lowest, highest = [-float("inf")] * 3, [float("inf")] * 3
        self._law = pd_law if self.files.stall_torque is None else pd_law_with_curve
        try:
            with warnings.catch_warnings():
                # torch deprecates TorchScript, which Isaac Lab loads
                warnings.filterwarnings("ignore", ".*torch.jit.*", DeprecationWarning)
                self.network = torch.jit.load(str(network), map_location=self._device).eval()
        except (RuntimeError, ValueError, OSError) as error:
            raise ParameterError(f"{network} cannot be read as TorchScript: {error}") from error
        found = next((w for n, w in self.network.state_dict().items() if "weight_hh_l0" in n), None)
        if found is not None and found.shape[1] != self.files.hidden:
            raise ParameterError(
                f"{network} has a hidden width of {found.shape[1]}, but {summary} states "
                f"{self.files.hidden}: the files are of different trainings"
            )
        count, joints = self._num_envs, self.num_joints
        device = self._device
        self._mean = torch.tensor(self.files.input_mean, device=device)
        self._deviation = torch.tensor(self.files.input_deviation, device=device)
        self._lowest = torch.tensor(lowest, device=device)
        self._highest = torch.tensor(highest, device=device)
        self.outside = torch.zeros(count, joints, dtype=torch.long, device=device)
        self._input = torch.zeros(count * joints, 1, 3, device=device)
        self.sea_hidden_state = torch.zeros(
            self.files.layers, count * joints, self.files.hidden, device=device
        )
        self._state_per_env = self.sea_hidden_state.view(
            self.files.layers, count, joints, self.files.hidden
        )
        self._held = torch.zeros(count, joints, device=device)
        self._countdown = torch.zeros(count, 1, dtype=torch.long, device=device)

    def reset(self, env_ids: Sequence[int]) -> None:
        """Reset environments to a cold start; the network steps in the next physics step."""
        with torch.no_grad():
            self._state_per_env[:, env_ids] = 0.0
            self._held[env_ids] = 0.0
            self._countdown[env_ids] = 0
            self.outside[env_ids] = 0

    def compute(self, control_action: Any, joint_pos: Any, joint_vel: Any) -> Any:
        """Torques for this physics step, in the interface of Isaac Lab."""
        due = self._countdown <= 0
        if bool(due.any()):
            fresh = self._step(control_action, joint_pos, joint_vel, due)
            self._held = torch.where(due, fresh, self._held)
        self._countdown = torch.where(due, self._period, self._countdown) - 1
        self.computed_effort = self._held.clone()
        self.applied_effort = self._clip_effort(self.computed_effort)
        control_action.joint_efforts = self.applied_effort
        control_action.joint_positions = None
        control_action.joint_velocities = None
        return control_action

    def _step(self, control_action: Any, joint_pos: Any, joint_vel: Any, due: Any) -> Any:
        files, target = self.files, control_action.joint_positions
        for column, values in enumerate((joint_pos, target, joint_vel)):
            self._input[:, 0, column] = values.flatten()
        if self.cfg.range_check != "off":
            self._check_range(due)
        with torch.inference_mode():
            normal = (self._input - self._mean) / self._deviation
            output, state = self.network(normal, self.sea_hidden_state)
            shape = self._state_per_env.shape
            rows = due[None, :, :, None]
            kept = torch.where(rows, state.view(shape), self._state_per_env)
        self._state_per_env.copy_(kept)
        output = output.clone().reshape(joint_pos.shape)
        if files.has_base:
            wanted = torch.zeros_like(joint_vel)
            if files.target_velocity:
                wanted = control_action.joint_velocities
            base = self._law(joint_pos, target - joint_pos, joint_vel, wanted, files)
            # the base is normalised like the target and added before both are scaled back
            torque = (
                output + (base - files.output_mean) / files.output_deviation
            ) * files.output_deviation + files.output_mean
        else:
            torque = output * files.output_deviation + files.output_mean
        if files.torque_limit is not None:
            torque = torque.clamp(-files.torque_limit, files.torque_limit)
        if self.cfg.stall_torque is None:
            return torque
        return torque_speed_curve(torque, joint_vel, self.cfg)

    def _check_range(self, due: Any) -> None:
        """Count the joints with an input out of range that step, and clamp the inputs on request.

        The base, which is no fit, has its inputs as given.
        """
        outside = ((self._input < self._lowest) | (self._input > self._highest)).any(2)
        self.outside += outside.view(self.outside.shape) & due
        if self.cfg.range_check == "clamp":
            self._input.copy_(
                torch.minimum(torch.maximum(self._input, self._lowest), self._highest)
            )


def _paths(cfg: Any) -> list[Path]:
    """Network, statistics and summary: the given ones, otherwise those of the folder."""
    given = (cfg.network_file, cfg.normalization_stats_file, cfg.training_config_summary_file)
    folder = FOLDER if cfg.run_folder is None else Path(cfg.run_folder)
    return [
        folder / name if own is None else Path(own) for own, name in zip(given, _FILES, strict=True)
    ]
