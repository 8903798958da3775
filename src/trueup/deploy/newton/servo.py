"""Whole servo model as a drive of Newton's actuators, in a module that runs without trueup.

The equations become functions of a kernel of Warp, one thread a joint. A step writes into arrays
that are allocated once and branches on no value on the host, so that CUDA graphs can capture it.

Newton, https://github.com/newton-physics/newton, 1.8: ``newton.actuators``.
"""

import re

from trueup.deploy import servo_step
from trueup.deploy.servo import ExportRequest, ServoExport
from trueup.deploy.servo_module import check_no_backlash, servo_module
from trueup.deploy.servo_source import servo_source

_FUNCTIONS = {
    "absolute": "x: float):\n    return wp.abs(x)",
    "exp": "x: float):\n    return wp.exp(x)",
    "power": "x: float, y: float):\n    return wp.pow(x, y)",
    "sqrt": "x: float):\n    return wp.sqrt(x)",
    "sign": "x: float):\n    return wp.sign(x)",
    "sin": "x: float):\n    return wp.sin(x)",
    "tanh": "x: float):\n    return wp.tanh(x)",
    "where": "condition: bool, x: float, y: float):\n    return wp.where(condition, x, y)",
    "minimum": "x: float, y: float):\n    return wp.min(x, y)",
    "maximum": "x: float, y: float):\n    return wp.max(x, y)",
    "full_like": "x: float, y: float):\n    return y",
    "zeros_like": "x: float):\n    return 0.0",
}
"""Functions of the equations in Warp, by name."""

_CLASSES = '''
@wp.kernel
def _step(
    positions: wp.array(dtype=float),
    velocities: wp.array(dtype=float),
    targets: wp.array(dtype=float),
    pos_indices: wp.array(dtype=wp.uint32),
    vel_indices: wp.array(dtype=wp.uint32),
    target_indices: wp.array(dtype=wp.uint32),
    load_inertia: wp.array(dtype=float),
    gain: wp.array(dtype=float),
    rate_gain: wp.array(dtype=float),
    vin: wp.array(dtype=float),
    external_torque: wp.array(dtype=float),
    external_known: int,
    torque_enable: wp.array(dtype=float),
    dt: float,
    lag: int,
    share: float,
    count: wp.array(dtype=int),
    goals: wp.array2d(dtype=float),
    enabled: wp.array2d(dtype=float),
    target_before: wp.array(dtype=float),
    speed_before: wp.array(dtype=float),
    torque_before: wp.array(dtype=float),
    forces: wp.array(dtype=float),
    new_goal: wp.array(dtype=float),
    new_on: wp.array(dtype=float),
    new_target: wp.array(dtype=float),
    new_speed: wp.array(dtype=float),
    new_torque: wp.array(dtype=float),
):
    """Effort of a joint for the next step."""
    i = wp.tid()
    position = positions[int(pos_indices[i])]
    speed = velocities[int(vel_indices[i])]
    goal = targets[int(target_indices[i])]
    on = torque_enable[i]
    fresh = count[i] == 0
    new_goal[i] = goal
    new_on[i] = on
    if lag >= 0:
        # a step that spans two commands gets their weighted mean; the first one held before
        for back in range(2):
            age = wp.min(lag + back, count[i])
            weight = wp.where(back == 0, 1.0 - share, share)
            slot = wp.where(age == 0, 0, (count[i] - age) % PAST)
            late_goal = wp.where(age == 0, new_goal[i], goals[i, slot])
            late_on = wp.where(age == 0, new_on[i], enabled[i, slot])
            goal = wp.where(back == 0, weight * late_goal, goal + weight * late_goal)
            on = wp.where(back == 0, weight * late_on, on + weight * late_on)
    momentum = (load_inertia[i] + ARMATURE) / dt
    volts = vin[i]
{slewed}    driven, duty, damping = motor(
        goal - position, speed, on, gain[i], rate_gain[i], volts, volts, REFERENCE_TEMPERATURE
    )
    external = external_torque[i]
    if external_known == 0:
        # observed from the change of speed; at first the torque that the motor balances
        observed = momentum * (speed - speed_before[i]) - torque_before[i]
        external = wp.where(fresh, -driven, observed)
    loss = friction_loss(speed, driven, external)
    torque = joint_torque(speed, driven, external, momentum, damping, loss)
    forces[i] = torque
    new_target[i] = goal
    new_speed[i] = speed
    new_torque[i] = torque


@wp.kernel
def _advance(
    count: wp.array(dtype=int),
    goals: wp.array2d(dtype=float),
    enabled: wp.array2d(dtype=float),
    new_goal: wp.array(dtype=float),
    new_on: wp.array(dtype=float),
    new_target: wp.array(dtype=float),
    new_speed: wp.array(dtype=float),
    new_torque: wp.array(dtype=float),
    next_count: wp.array(dtype=int),
    next_goals: wp.array2d(dtype=float),
    next_enabled: wp.array2d(dtype=float),
    next_target: wp.array(dtype=float),
    next_speed: wp.array(dtype=float),
    next_torque: wp.array(dtype=float),
):
    """Write the state after a step."""
    i = wp.tid()
    for slot in range(PAST):
        is_new = slot == count[i] % PAST
        next_goals[i, slot] = wp.where(is_new, new_goal[i], goals[i, slot])
        next_enabled[i, slot] = wp.where(is_new, new_on[i], enabled[i, slot])
    next_count[i] = count[i] + 1
    next_target[i] = new_target[i]
    next_speed[i] = new_speed[i]
    next_torque[i] = new_torque[i]


@wp.kernel
def _reset(mask: wp.array(dtype=wp.bool), everything: int, count: wp.array(dtype=int)):
    """Begin anew where a mask is true."""
    i = wp.tid()
    if everything == 1:
        count[i] = 0
    else:
        if mask[i]:
            count[i] = 0


def _numbers(value):
    """Numbers on the host, of a number, an array or a tensor."""
    value = value.cpu() if hasattr(value, "cpu") else value
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value, dtype=float)


def _shared(value):
    """Array of Warp that shares the memory of a tensor of 32 bits."""
    if isinstance(value, wp.array):
        return value
    wp.init()
    return wp.from_torch(value.float().contiguous(), dtype=wp.float32)


class DriveServo(DriveBase):
    """Drive of Newton's ``Actuator``: joints with this servo; friction is part of the effort.

    Set the armature of the joints to ``ARMATURE``. ``newton.actuators.Actuator(indices,
    drive=DriveServo(load_inertia=...))`` steps it; the state stores the previous step. CUDA graphs
    can capture it. What a graph shall see changed is written into the arrays of the drive:
    ``load_inertia``, ``gain``, ``rate_gain``, ``vin``, and ``torque_enable`` and
    ``external_torque`` that were set before.

    Args:
      load_inertia: inertia that the joint moves in addition to the armature [kg m2], which has no
          default; a number, or one per joint.
      kp: firmware gain; a number, or one per joint.
      kd: derivative gain, for servos with one.
      vin: bus voltage [V].
    """

    class State(DriveBase.State):
        """Memory of the servo: ``count`` of steps since the reset, past commands, last step."""

        FIELDS = ("count", "goals", "enabled", "target", "speed", "torque")

        def __init__(self, joints, device):
            self.count = wp.zeros(joints, dtype=int, device=device)
            for name in ("goals", "enabled"):
                setattr(self, name, wp.zeros((joints, PAST), dtype=float, device=device))
            for name in ("target", "speed", "torque"):
                setattr(self, name, wp.zeros(joints, dtype=float, device=device))

        def reset(self, mask=None):
            """Reset joints; without a mask, all."""
            inputs = [mask, int(mask is None), self.count]
            wp.launch(_reset, dim=len(self.count), inputs=inputs, device=self.count.device)

        def assign(self, other):
            """Copy another state into the arrays of this one."""
            for name in self.FIELDS:
                wp.copy(getattr(self, name), getattr(other, name))

    def __init__(self, *, load_inertia=None, kp=KP, kd=DAMPING, vin=VIN):
        gain, rate = _numbers(kp), _numbers(kd)
        rate = rate * np.sqrt(gain) if LAW == "current_pd" else rate
        self._settings = {
            "load_inertia": _numbers(moved_inertia(load_inertia)),
            "gain": gain * ERROR_GAIN,
            "rate_gain": rate,
            "vin": _numbers(vin),
            "torque_enable": 1.0,
        }
        self._external = None

    @property
    def external_torque(self):
        """External torque on the joints [N m], (joints,); None: observed from the motion."""
        return self._external

    @external_torque.setter
    def external_torque(self, value):
        self._external = None if value is None else _shared(value)

    @property
    def torque_enable(self):
        """Whether the servo is driven, 0 or 1, (joints,); takes a number for all joints too."""
        return self._enable

    @torque_enable.setter
    def torque_enable(self, value):
        if isinstance(value, int | float) and hasattr(self, "_enable"):
            self._enable.fill_(float(value))
        elif isinstance(value, int | float):
            self._settings["torque_enable"] = float(value)
        else:
            self._enable = _shared(value)

    @classmethod
    def resolve_arguments(cls, args):
        """Arguments with their defaults."""
        known = {"load_inertia": None, "kp": KP, "kd": DAMPING, "vin": VIN}
        if unknown := sorted(set(args) - set(known)):
            raise ValueError(f"DriveServo has no arguments {unknown}; available: {sorted(known)}")
        found = {**known, **args}
        moved_inertia(found["load_inertia"])
        return found

    def finalize(self, device, num_actuators):
        """Allocate what a step reads and writes."""
        for name, value in self._settings.items():
            row = np.broadcast_to(np.asarray(value, dtype=np.float32), (num_actuators,)).copy()
            setattr(self, name, wp.array(row, dtype=float, device=device))
        for name in ("_goal", "_on", "_target", "_speed", "_torque", "_none"):
            setattr(self, name, wp.zeros(num_actuators, dtype=float, device=device))

    def is_stateful(self):
        """Whether the drive has a state."""
        return True

    def is_graphable(self):
        """Whether CUDA graphs can capture the drive."""
        return True

    def state(self, num_actuators, device):
        """Initial state."""
        return self.State(num_actuators, device)

    def compute(
        self, positions, velocities, target_pos, target_vel, feedforward, pos_indices,
        vel_indices, target_pos_indices, target_vel_indices, forces, state, dt, device=None,
        *, custom_inputs=None,
    ):
        """Write the efforts of the next step to ``forces``."""
        if not 0.0 < dt < math.inf:
            raise ValueError(f"the time step must be positive [s], got {dt!r}")
        steps = COMMAND_DELAY / dt
        if steps > PAST - 1:
            raise ValueError(
                f"the time step of {dt:g} s is below {COMMAND_DELAY / (PAST - 1):.3g} s, the "
                "shortest for which the memory of past commands is long enough"
            )
        lag = int(steps) if COMMAND_DELAY else -1
        known = self._external
        inputs = [
            positions, velocities, target_pos, pos_indices, vel_indices, target_pos_indices,
            self.load_inertia, self.gain, self.rate_gain, self.vin,
            self._none if known is None else known, int(known is not None), self._enable,
            float(dt), lag, steps - max(lag, 0), *self._memory(state),
        ]
        outputs = [forces, self._goal, self._on, self._target, self._speed, self._torque]
        wp.launch(_step, dim=len(forces), inputs=inputs, outputs=outputs, device=device)

    def update_state(self, current_state, next_state):
        """Write the next state."""
        memory = self._memory(current_state)[:3]
        new = [self._goal, self._on, self._target, self._speed, self._torque]
        wp.launch(
            _advance,
            dim=len(self._goal),
            inputs=[*memory, *new],
            outputs=self._memory(next_state),
            device=self._goal.device,
        )

    @staticmethod
    def _memory(state):
        return [getattr(state, name) for name in state.FIELDS]
'''

_SLEWED = """\
    held = held_target(
        goal, position, wp.where(external_known == 1, external_torque[i], 0.0),
        gain[i], volts, volts, REFERENCE_TEMPERATURE,
    )
    start = wp.where(fresh, held, target_before[i])
    start = wp.where(on <= 0.0, position, start)
    goal = slewed_target(goal, start, MAX_VELOCITY * dt)
"""
"""Speed limit of the firmware, within the kernel: with an unknown load the target does not lead."""

_SHORTEST_STEP = 2.5e-4  # physics step for which past commands are kept [s]


def write_servo(request: ExportRequest) -> ServoExport:
    """Module with a drive for Newton's actuators, ``DriveServo``.

    Raises:
      FitError: the model has backlash.
    """
    model = request.model
    check_no_backlash(model, "Newton")
    text = servo_source(model, "torch", (servo_step.moved_inertia,)).strip()
    delay = model.values.get("command_delay", 0.0)
    past = int(delay / _SHORTEST_STEP) + 2 if delay else 1
    slewed = _SLEWED if model.values.get("max_velocity") else ""
    classes = _CLASSES.replace("{slewed}", slewed)
    numbers = f"PAST = {past}  # commands in memory"
    use = "``DriveServo`` is a drive of ``newton.actuators.Actuator``."
    source = f"{_in_warp(text)}\n\n\n{numbers}\n\n{classes}"
    return servo_module(request, "numpy, Warp and Newton", use, source)


def _in_warp(text: str) -> str:
    """Equations of a servo as functions of Warp, from their source for torch."""
    body = re.sub(r"^import math\n\nfrom torch import \(.*?\)\n", "", text, flags=re.M | re.S)
    # Warp has no keyword of a bound, and conditions are joined by words
    body = re.sub(r"\bclamp\(", "bounded(", body)
    numbers, _, functions = body.strip().partition("\n\n\n")
    head, _, rest = functions.partition("def moved_inertia")
    head = re.sub(r"\bdef (\w+)\(([^)]*)\):", _typed, head)
    head = head.replace(" & ", " and ").replace(" | ", " or ")
    head = _without_keywords(head)
    called = [name for name in _FUNCTIONS if re.search(rf"\b{name}\(", head)]
    wrapped = "\n\n\n".join(f"@wp.func\ndef {name}({_FUNCTIONS[name]}" for name in called)
    imports = (
        "import math\n\nimport numpy as np\nimport warp as wp\nfrom newton.actuators import "
        "DriveBase"
    )
    return "\n\n\n".join(
        [f"{imports}\n\n{numbers}", wrapped, head.strip(), f"def moved_inertia{rest}".strip()]
    )


def _typed(found: re.Match[str]) -> str:
    """Head of a function with types."""
    arguments = ", ".join(f"{name.strip()}: float" for name in found[2].split(","))
    return f"@wp.func\ndef {found[1]}({arguments}):"


def _without_keywords(text: str) -> str:
    """Text with ``minimum`` and ``maximum`` for values with one bound."""
    while (start := text.find("bounded(")) >= 0:
        depth, comma = 1, 0
        for end in range(start + len("bounded("), len(text)):
            letter = text[end]
            depth += (letter == "(") - (letter == ")")
            if depth == 1 and letter == ",":
                comma = end
            if depth == 0:
                break
        value = text[start + len("bounded(") : comma]
        side, bound = text[comma + 1 : end].strip().split("=", 1)
        name = "maximum" if side == "min" else "minimum"
        text = f"{text[:start]}{name}({value}, {bound}){text[end + 1 :]}"
    return text
