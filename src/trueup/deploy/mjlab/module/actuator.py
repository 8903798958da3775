"""An identified servo as an actuator of mjlab: firmware law, motor and friction of each joint.

Friction is MuJoCo's own joint friction, with a limit that is written at each step for each
environment. Its constraint is solved together with contacts, limits and the other joints, so a
torque that stops one joint acts on all others; it is so stiff that a joint within its budget stops
within one step, as on the bench. Damping of the motor, mainly back-EMF, enters as the velocity gain
of the actuator, so that the integrator ``implicitfast`` treats it implicitly, as the bench does;
the actuator force is the motor torque.
"""

from typing import Any

import torch
from mjlab.actuator import Actuator, ActuatorCmd  # pyright: ignore

from trueup.deploy.mjlab.module.battery import Battery
from trueup.deploy.mjlab.module.external_torque import ExternalTorque
from trueup.deploy.mjlab.module.functions import servo_functions
from trueup.deploy.mjlab.module.model_fields import field_rows
from trueup.deploy.mjlab.module.settings import ServoSettings

FRICTION_SOLREF = (1e-6, 1.0)
"""``solreffriction``: MuJoCo raises the time constant to two time steps, which stops a joint within
one."""
FRICTION_SOLIMP = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""``solimpfriction``: a joint held by friction creeps at 1e-4 of its free motion."""
_LEAST_FRICTION = 1e-9
"""Friction in the compiled model, so that the solver allocates its constraint [N m]."""


class BamActuator(Actuator):
    """Joints driven by an identified servo; see ``BamActuatorCfg``.

    Args:
      cfg: configuration.
      entity: mjlab entity of the joints.
      target_ids: indices of the joints in the entity.
      target_names: names of the joints.
    """

    def __init__(
        self, cfg: ServoSettings, entity: Any, target_ids: list[int], target_names: list[str]
    ):
        super().__init__(cfg, entity, target_ids, target_names)
        self.model = cfg.load()
        """Servo, friction model and their parameters."""
        servo = self.model.servo
        self._gain, self._rate = servo.gains(cfg.kp, cfg.kd)
        self._lag, self._lag_fraction = 0, 0.0

    @property
    def has_delay(self) -> bool:
        """Whether commands are delayed by mjlab's buffer, by configuration or by the servo."""
        return self.cfg.delay_max_lag + self._lag > 0

    def edit_spec(self, spec: Any, target_names: list[str]) -> None:
        """Add an actuator to each joint, and set armature, damping and friction of the joints."""
        import mujoco

        values = self.model.values
        armature = self.cfg.armature
        for name in target_names:
            joint = spec.joint(name)
            joint.armature = values["armature"] if armature is None else armature
            joint.damping[0] = values["friction_viscous"]
            joint.frictionloss = max(values.get("friction_base", 0.0), _LEAST_FRICTION)
            joint.solref_friction[:] = FRICTION_SOLREF
            joint.solimp_friction[:] = FRICTION_SOLIMP
            actuator = spec.add_actuator(name=name, target=name)
            actuator.trntype = mujoco.mjtTrn.mjTRN_JOINT
            actuator.dyntype = mujoco.mjtDyn.mjDYN_NONE
            actuator.gaintype = mujoco.mjtGain.mjGAIN_FIXED
            actuator.gainprm[0] = 1.0
            actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
            self._mjs_actuators.append(actuator)

    def initialize(self, mj_model: Any, model: Any, data: Any, device: str) -> None:
        """Allocate the state of all environments, after the model is compiled."""
        delay = self.model.values.get("command_delay", 0.0) / mj_model.opt.timestep
        self._lag, self._lag_fraction = int(delay), delay - int(delay)
        super().initialize(mj_model, model, data, device)
        self._mj_warp_model, self._num_envs = model, data.nworld
        self._functions = servo_functions(
            self.model, self.cfg.winding_temperature, float(mj_model.opt.timestep)
        )
        self._dof_ids = self.entity.indexing.joint_v_adr[self.target_ids].long()
        shape = (data.nworld, len(self._target_names))
        self.kp_scale = torch.ones(shape, device=device)
        """Factor on the firmware gain, (environments, joints)."""
        self.kd_scale = torch.ones(shape, device=device)
        """Factor on the derivative gain, likewise."""
        self.friction_scale = torch.ones(shape, device=device)
        """Factor on the friction budget without its viscous part, likewise."""
        self.torque_enable = torch.ones(shape, dtype=torch.bool, device=device)
        """Whether the servo is driven, likewise; a reset enables it."""
        self.torque = torch.zeros(shape, device=device)
        """Motor torque of the last step [N m], likewise."""
        self.duty = torch.zeros(shape, device=device)
        """Duty cycle of the bridge in the last step, likewise."""
        self._target = torch.zeros(shape, device=device)
        self._last_command = torch.zeros(shape, device=device)
        self._fresh = torch.ones((data.nworld, 1), dtype=torch.bool, device=device)
        self._no_load = torch.zeros(shape, device=device)
        self._external = ExternalTorque(mj_model, data, self._dof_ids)
        self._battery, self._owns_battery = self._shared_battery(data.nworld, device)
        self.randomize()

    def _init_delay_buffer(self, num_envs: int, device: str) -> None:
        """mjlab's buffer of the configured delay, plus that of the servo."""
        super()._init_delay_buffer(num_envs, device)
        if self._delay_buffer is not None and self._lag:
            cfg = self.cfg
            self._delay_buffer = type(self._delay_buffer)(
                min_lag=cfg.delay_min_lag + self._lag,
                max_lag=cfg.delay_max_lag + self._lag,
                batch_size=num_envs,
                device=device,
                hold_prob=cfg.delay_hold_prob,
                update_period=cfg.delay_update_period,
                per_env_phase=cfg.delay_per_env_phase,
            )

    def _shared_battery(self, num_envs: int, device: str) -> tuple[Battery | None, bool]:
        """The battery, shared by the servos of the entity with the same ranges."""
        if self.model.servo.law == "torque_pd":
            return None, False
        cfg = self.cfg
        vin = self.model.servo.vin if cfg.vin is None else cfg.vin
        battery = Battery(
            num_envs, device, cfg.vin_range or (vin, vin), cfg.drop_resistance_range, cfg.vin_min
        )
        for other in self.entity.actuators:
            shared = getattr(other, "_battery", None)
            if isinstance(shared, Battery) and shared.key == battery.key:
                return shared, False
        return battery, True

    def randomize(self, env_ids: torch.Tensor | slice | None = None) -> None:
        """Redraw gains, friction and battery of environments; a reset does so too."""
        ids = slice(None) if env_ids is None else env_ids
        for scale, (low, high) in (
            (self.kp_scale, self.cfg.kp_scale_range),
            (self.kd_scale, self.cfg.kd_scale_range),
            (self.friction_scale, self.cfg.friction_scale_range),
        ):
            scale[ids] = torch.empty_like(scale[ids]).uniform_(low, high)
        if self._battery is not None and self._owns_battery:
            self._battery.draw(ids)

    def reset(self, env_ids: torch.Tensor | slice | None = None) -> None:
        """Reset environments: torque on, target at the joint, new random draws."""
        super().reset(env_ids)
        ids = slice(None) if env_ids is None else env_ids
        self._fresh[ids] = True
        self.torque_enable[ids] = True
        self.randomize(env_ids)

    def update(self, dt: float) -> None:
        """End a physics step."""
        del dt
        if self._battery is not None and self._owns_battery:
            self._battery.advance()

    def compute(self, cmd: ActuatorCmd) -> torch.Tensor:
        """Controls of the step [N m], (environments, joints); friction is written to the model."""
        position, speed = cmd.pos, cmd.vel
        vin = torch.ones_like(speed) if self._battery is None else self._battery.voltage()
        gain, rate = self._gain * self.kp_scale, self._rate * self.kd_scale
        external = self._no_load
        if self.model.reads_load or "max_velocity" in self.model.values:
            external = self._external()
        target = self._moved_target(cmd.position_target, position, external, gain, vin)
        on = self.torque_enable.to(speed.dtype)
        torque, duty, damping = self._functions.motor(target - position, speed, on, gain, rate, vin)
        self.torque.copy_(torque)
        self.duty.copy_(duty)
        if self._battery is not None:
            self._battery.take(self.duty, self.torque / self.model.values["kt"])
        self._write(damping, speed, external)
        return torch.addcmul(self.torque, damping, speed)

    def _moved_target(
        self,
        command: torch.Tensor,
        position: torch.Tensor,
        external: torch.Tensor,
        gain: torch.Tensor,
        vin: torch.Tensor,
    ) -> torch.Tensor:
        """Target of the firmware: the command delayed by a fraction of a step, rate-limited."""
        if self._lag_fraction:
            last = torch.where(self._fresh, command, self._last_command)
            self._last_command.copy_(command)
            command = torch.lerp(command, last, self._lag_fraction)
        if "max_velocity" in self.model.values:
            # after a reset the servo holds its joint; without torque the target starts at the joint
            held = self._functions.held(command, position, external, gain, vin)
            start = torch.where(self._fresh, held, self._target)
            start = torch.where(self.torque_enable, start, position)
            self._target.copy_(self._functions.target(command, start))
            command = self._target
        self._fresh.fill_(False)
        return command

    def _write(self, damping: torch.Tensor, speed: torch.Tensor, external: torch.Tensor) -> None:
        """Write friction of the joints and damping of the motors to the model."""
        model, envs = self._mj_warp_model, self._num_envs
        loss = self._functions.friction(speed, self.torque, external) * self.friction_scale
        field_rows(model, "dof_frictionloss", envs)[:, self._dof_ids] = loss
        field_rows(model, "actuator_biasprm", envs)[:, self.global_ctrl_ids, 2] = -damping
