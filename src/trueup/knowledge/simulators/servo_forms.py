"""Draws of a servo as actuators of Isaac Lab and mjlab: each environment has a servo of its own.

The module holds the servo's equations, whose numbers stand in a table with one row an environment,
and an event that fills the table. It is the module that ``trueup actuator export`` writes, but for
that table.
"""

from collections.abc import Callable

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.exports.full_modules import actuator_source
from trueup.knowledge.draws import Draws
from trueup.knowledge.simulators import module_text
from trueup.knowledge.simulators.forms import SimulatorForm

_USE_ISAAC_LAB = """
``ServoActuatorCfg``, with ``physics_dt`` and ``load_inertia``, goes among the actuators of an
articulation, and into the configuration of the environment's events::

    from posterior_servo import identified_servo
    servo = EventTerm(func=identified_servo, mode="startup",
                      params={"asset_cfg": SceneEntityCfg("robot")})"""

_USE_MJLAB = """
``ServoActuatorCfg`` goes among the actuators of an entity, and into the configuration of the
environment::

    from posterior_servo import EVENTS
    cfg.events.update(EVENTS)

The entity is called "robot"; another name: ``params={"asset_cfg": SceneEntityCfg("arm")}``."""

_TABLE = '''
COLUMNS = @COLUMNS@
"""Parameter -> column of ``values`` in ``posterior.npz``."""

NUMBERS = {name: torch.tensor(value) for name, value in @IDENTIFIED@.items()}
"""Numbers of the servo, (environments, 1) each; the identified ones before the event."""


def take_rows(num_envs, env_ids, device):
    """Give environments their rows, environment i row i % COUNT; returns the environments."""
    if env_ids is None:
        env_ids = torch.arange(num_envs)
    env_ids = env_ids.to(device, dtype=torch.long)
    rows = _ROWS["values"][(env_ids % COUNT).cpu().numpy()]
    for name, column in COLUMNS.items():
        numbers = NUMBERS[name].to(device).expand(num_envs, 1).clone()
        values = torch.as_tensor(rows[:, column], dtype=numbers.dtype, device=device)
        numbers[env_ids] = values[:, None]
        NUMBERS[name] = numbers
    return env_ids


def shares_of_steps(timestep):
    """Past steps that a delayed command is made of, and the share of each."""
    steps = NUMBERS["command_delay"] / timestep
    count = int(steps.max()) + 2
    return [(n, torch.clamp(1.0 - torch.abs(steps - n), min=0.0)) for n in range(count)]
'''

_DRAWN_SERVO = '''
class DrawnServo(Servo):
    """Servo whose numbers differ between environments, which are rows."""

    def take(self):
        """Take the numbers of the table."""
        self.armature = NUMBERS.get("armature", self.armature)
        self.max_velocity = NUMBERS.get("max_velocity", self.max_velocity)
        if "command_delay" in NUMBERS:
            self._shares = shares_of_steps(self.timestep)
            self._fresh = None
'''

_ISAAC_LAB_EVENT = '''
def identified_servo(env, env_ids, asset_cfg):
    """Give each environment its draw of the servo, armature included."""
    asset = env.scene[asset_cfg.name]
    env_ids = take_rows(env.scene.num_envs, env_ids, asset.device)
    for actuator in asset.actuators.values():
        if not isinstance(actuator, ServoActuator):
            continue
        actuator.servo.take()
        if "armature" in NUMBERS:
            for joint in actuator.joint_names:
                asset.write_joint_armature_to_sim(
                    NUMBERS["armature"][env_ids],
                    joint_ids=[list(asset.joint_names).index(joint)],
                    env_ids=env_ids,
                )
'''

_MJLAB_EVENT = '''
class DrawnServoActuator(ServoActuator):
    """Joints with a servo whose numbers differ between environments."""

    def initialize(self, mj_model, model, data, device):
        """Allocate the state of all environments."""
        super().initialize(mj_model, model, data, device)
        self._timestep, self._past, self._shares = float(mj_model.opt.timestep), [], []

    def take(self, env_ids):
        """Take the numbers of the table; those of joints go into the model."""
        fields = {"dof_damping": "friction_viscous"}
        if self.cfg.armature is None:
            fields["dof_armature"] = "armature"
        for field, name in fields.items():
            if name in NUMBERS:
                rows = field_rows(self._mj_warp_model, field, self._num_envs)
                rows[env_ids[:, None], self._dof_ids] = NUMBERS[name][env_ids]
        if "kt" in NUMBERS:
            self.model.values["kt"] = NUMBERS["kt"]
        if "command_delay" in NUMBERS:
            self._shares, self._past = shares_of_steps(self._timestep), []

    def _moved_target(self, command, *others):
        if self._shares:
            command = self._late(command + 0.0)
        return super()._moved_target(command, *others)

    def _late(self, command):
        """The command as late as the servo of each environment is."""
        if not self._past:
            self._past = [command for _ in self._shares]
        kept = [torch.where(self._fresh, command, past) for past in self._past[:-1]]
        self._past = [command, *kept]
        return sum(share * self._past[number] for number, share in self._shares)


@requires_model_fields(
    *SERVO_MODEL_FIELDS, "dof_armature", "dof_damping", recompute=RecomputeLevel.set_const_0
)
def identified_servo(env, env_ids, asset_cfg=SceneEntityCfg("robot")):
    """Give each environment its draw of the servo, armature included."""
    env_ids = take_rows(env.num_envs, env_ids, env.device)
    for actuator in env.scene[asset_cfg.name].actuators:
        if isinstance(actuator, DrawnServoActuator):
            actuator.take(env_ids)


EVENTS = {"identified_servo": EventTermCfg(func=identified_servo, mode="startup")}
"""Events for the configuration of an environment."""
'''

_MJLAB_IMPORTS = """
from mjlab.managers.event_manager import EventTermCfg, RecomputeLevel
from mjlab.managers.scene_entity_config import SceneEntityCfg
"""


def servo_forms(model: ServoModel) -> dict[str, SimulatorForm]:
    """Forms of the draws of a servo, by simulator.

    Args:
      model: the identified servo.
    """

    def form(write: Callable[[ServoModel, Draws, str], str]) -> SimulatorForm:
        return SimulatorForm(
            "posterior_servo.py", lambda made, name, folder: write(model, made, name)
        )

    return {
        "mjlab": form(_mjlab_module),
        "isaaclab": form(_isaac_lab_module),
        "json": SimulatorForm(""),
    }


def _isaac_lab_module(model: ServoModel, made: Draws, name: str) -> str:
    source = _equations(model, made, "isaaclab").replace(
        "self.servo = Servo(", "self.servo = DrawnServo("
    )
    equations, classes = source.split("\nfrom isaaclab", 1)
    head = module_text.title(name, len(made.values), "numpy, torch and Isaac Lab", _USE_ISAAC_LAB)
    parts = (head, _table(model, made), equations, _DRAWN_SERVO, f"from isaaclab{classes}")
    return "\n\n\n".join(part.strip() for part in (*parts, _ISAAC_LAB_EVENT)) + "\n"


def _mjlab_module(model: ServoModel, made: Draws, name: str) -> str:
    source = _equations(model, made, "mjlab")
    source = source.replace("return ServoActuator(self", "return DrawnServoActuator(self")
    limit = 'NUMBERS.get("max_velocity", MAX_VELOCITY)'
    source = source.replace("MAX_VELOCITY * timestep", f"{limit} * timestep")
    head = module_text.title(name, len(made.values), "numpy, torch and mjlab", _USE_MJLAB)
    parts = (head, _MJLAB_IMPORTS, _table(model, made), source, _MJLAB_EVENT)
    return "\n\n\n".join(part.strip() for part in parts) + "\n"


def _equations(model: ServoModel, made: Draws, simulator: str) -> str:
    """Equations and classes of the servo, whose numbers stand in the table."""
    values = dict(model.values)
    if "command_delay" in made.names:
        # Isaac Lab: there is a delay, whatever the identified one is. mjlab: past commands are
        # kept here, and not in mjlab's buffer, which has whole steps alike for all
        column = made.names.index("command_delay")
        values["command_delay"] = (
            0.0 if simulator == "mjlab" else float(made.values[:, column].max())
        )
    return actuator_source(model.with_values(**values), simulator, made.names)


def _table(model: ServoModel, made: Draws) -> str:
    columns = {name: column for column, name in enumerate(made.names)}
    identified = {name: float(model.values[name]) for name in made.names}
    imports = "from pathlib import Path\n\nimport numpy as np\nimport torch\n"
    table = _TABLE.replace("@COLUMNS@", repr(columns)).replace("@IDENTIFIED@", repr(identified))
    return f"{imports}{module_text.ROWS}{table}"
