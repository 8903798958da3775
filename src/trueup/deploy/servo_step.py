"""Step of joints with an identified servo: the text that exported modules contain.

The classes use functions and constants that :mod:`trueup.deploy.servo_source` writes
into the same module: they are copied there with ``inspect.getsource`` and do not run here.
"""

# ruff: noqa: F821
# pyright: reportUndefinedVariable=false

import math

KP = DAMPING = VIN = REFERENCE_TEMPERATURE = 0.0
"""Defaults of the classes, which a module defines with the servo's constants."""


def moved_inertia(load_inertia):
    """Checked inertia that each joint moves in addition to the armature [kg m2]."""
    ends = (load_inertia, load_inertia)
    if hasattr(load_inertia, "min"):
        ends = (load_inertia.min(), load_inertia.max())
    try:
        low, high = float(ends[0]), float(ends[1])
    except (TypeError, ValueError):
        low = high = math.nan
    if not 0.0 <= low <= high < math.inf:
        raise ValueError(
            "load_inertia must be the inertia that the joint moves in addition to the armature [kg "
            "m2], at least 0 (a bare motor), because friction stops a joint only if it is known: "
            f"pass a number, or one per joint, not {load_inertia!r}"
        )
    return load_inertia


class Servo:
    """Joints with this servo, stepped by a simulator that applies the torque.

    Arrays have one value per joint, of any shape; environments are rows. Angles [rad], speeds
    [rad/s], torques [N m].

    Args:
      timestep: physics time step [s].
      load_inertia: inertia that the joint moves in addition to the armature [kg m2]; a number, or
          one per joint. The attribute can follow the pose. Friction stops the joint within a step
          if it is correct; the motor torque does not depend on it.
      kp: firmware gain; a number, or one per joint.
      kd: derivative gain, for servos with one.
      vin: nominal bus voltage [V].
    """

    def __init__(self, timestep, *, load_inertia=None, kp=KP, kd=DAMPING, vin=VIN):
        if timestep is None or not 0.0 < timestep < math.inf:
            raise ValueError(f"the time step must be positive [s], got {timestep!r}")
        self.timestep, self.vin = timestep, vin
        self.load_inertia = moved_inertia(load_inertia)
        self.gain = kp * ERROR_GAIN
        self.rate_gain = kd * kp**0.5 if LAW == "current_pd" else kd
        self.armature, self.max_velocity = ARMATURE, MAX_VELOCITY
        steps = COMMAND_DELAY / timestep
        self._shares = [(n, 1.0 - abs(steps - n)) for n in (int(steps), int(steps) + 1)]
        self._fresh = None

    def reset(self, rows=slice(None)):
        """Reset environments: each servo holds its joint, its past commands are the first one."""
        if self._fresh is not None:
            self._fresh[rows] = True

    def torque(
        self,
        goal,
        position,
        speed,
        external=None,
        on=1.0,
        volts=None,
        temperature=REFERENCE_TEMPERATURE,
    ):
        """Torque of motor and friction on the joints for the next step [N m].

        Args:
          goal: commanded angles.
          position, speed: state of the joints.
          external: torque of everything else on the joints; None: estimated from the speed change
              of the last step, and initially the torque that the motor balances.
          on: torque enable, 0 or 1.
          volts: measured bus voltage [V], for servos that use it; None: the nominal one.
          temperature: temperature of the winding [degrees C].
        """
        h = self.timestep
        if self._fresh is None:
            self._fresh = ones_like(position) > 0
            kept = self._shares[-1][0] + 1
            self._past = [zeros_like(position) + goal for _ in range(kept)]
            self._past_on = [zeros_like(position) + on for _ in range(kept)]
            self._target, self._speed, self._torque = position, speed, zeros_like(position)
        momentum = (self.load_inertia + self.armature) / h + zeros_like(position)
        goal = self._late(self._past, zeros_like(position) + goal)
        on = self._late(self._past_on, zeros_like(position) + on)
        volts = self.vin if volts is None else volts
        if MAX_VELOCITY:
            # with an unknown load the target does not lead the joint
            zero = zeros_like(position)
            load = zero if external is None else zero + external
            supply = (zero + self.gain, zero + self.vin, zero + volts, temperature)
            held = held_target(goal, position, load, *supply)
            start = where(on <= 0.0, position, where(self._fresh, held, self._target))
            goal = self._target = slewed_target(goal, start, self.max_velocity * h)
        driven, duty, damping = motor(
            goal - position, speed, on, self.gain, self.rate_gain, self.vin, volts, temperature
        )
        if external is None:
            observed = momentum * (speed - self._speed) - self._torque
            external = where(self._fresh, -driven, observed)
        loss = friction_loss(speed, driven, external)
        torque = joint_torque(speed, driven, external, momentum, damping, loss)
        self.motor_torque, self.motor_damping, self.duty = driven, damping, duty
        self._speed, self._torque = speed + 0.0, torque
        self._fresh = self._fresh & False
        return torque

    def _late(self, past, command):
        """Delayed command; a step that spans two commands gets their weighted mean."""
        for number in range(len(past) - 1, 0, -1):
            past[number] = where(self._fresh, command, past[number - 1])
        past[0] = command
        if not COMMAND_DELAY:
            return command
        return sum(share * past[number] for number, share in self._shares)


class Bench(Servo):
    """Joints with this servo and a load, with its own time step, as trueup's bench.

    Args:
      timestep, kp, kd, vin: as above.
      load_inertia: inertia of the load [kg m2].
      position, speed: arrays of the initial state.
    """

    def __init__(self, timestep, load_inertia, position, speed, kp=KP, kd=DAMPING, vin=VIN):
        super().__init__(timestep, load_inertia=load_inertia, kp=kp, kd=kd, vin=vin)
        self.position, self.speed = position + 0.0, speed + 0.0
        self._motor_speed, self._gap = speed + 0.0, None
        self._apart = zeros_like(position)

    def step(self, goal, external, on=1.0, volts=None, temperature=REFERENCE_TEMPERATURE):
        """Step with an external torque on the joints, and return the new positions."""
        h = self.timestep
        if not BACKLASH:
            torque = self.torque(goal, self.position, self.speed, external, on, volts, temperature)
            self.speed = self.speed + h * (torque + external) / (self.load_inertia + self.armature)
            self.position = self.position + h * self.speed
            return self.position
        # the servo drives the motor; within the gap the load moves separately
        load = zeros_like(self.position) + external
        if self._gap is None:
            # initially the load rests on the side of the gap to which it is pulled
            side = zeros_like(load) + 0.5 * BACKLASH
            self._gap = where(load > 0.0, -side, side)
        own = where(self._apart > 0.5, self._motor_speed, self.speed)
        self.torque(goal, self.position, own, load, on, volts, temperature)
        driven, damping = self.motor_torque, self.motor_damping
        together = next_speed(
            own,
            driven + load,
            (self.load_inertia + self.armature) / h,
            damping,
            friction_loss(own, driven, load),
        )
        alone = next_speed(
            own, driven, ARMATURE / h, damping, friction_loss(own, driven, zeros_like(load))
        )
        turned, self.speed, self._motor_speed, self._gap, self._apart = backlash_step(
            together,
            alone,
            self.speed,
            self._gap,
            self._apart > 0.5,
            self.load_inertia,
            ARMATURE,
            load,
            h,
            0.5 * BACKLASH,
        )
        self.position = self.position + turned
        return self.position
