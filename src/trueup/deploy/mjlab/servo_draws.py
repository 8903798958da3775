"""Draws of a servo as an actuator of mjlab: each environment has its own servo."""

from trueup.deploy.draws import DrawsExport, DrawsRequest, title
from trueup.deploy.mjlab.servo import actuator_source
from trueup.deploy.servo_draws import number_table

_USE = """
``BamActuatorCfg`` belongs in the actuators of an entity. In the configuration of the
environment::

    from posterior_servo import EVENTS
    cfg.events.update(EVENTS)

The entity is called "robot"; another name: ``params={"asset_cfg": SceneEntityCfg("arm")}``."""

_IMPORTS = """
from mjlab.managers.event_manager import EventTermCfg, RecomputeLevel
from mjlab.managers.scene_entity_config import SceneEntityCfg
"""

_EVENT = '''
class DrawnServoActuator(BamActuator):
    """Joints with servo parameters that differ between environments."""

    def __init__(self, cfg, *args):
        if cfg.json_path is not None:
            raise ParameterError(
                f"this module contains draws of one servo, but json_path is {cfg.json_path!r}: "
                "remove json_path, or use the module of trueup actuator export"
            )
        super().__init__(cfg, *args)

    def initialize(self, mj_model, model, data, device):
        """Allocate the state of all environments."""
        super().initialize(mj_model, model, data, device)
        self._timestep, self._past, self._shares = float(mj_model.opt.timestep), [], []

    def take(self, env_ids):
        """Read the parameters from the table, and write those of joints to the model."""
        fields = {"dof_damping": "friction_viscous"}
        if self.cfg.armature is None:
            fields["dof_armature"] = "armature"
        for field, name in fields.items():
            if name in NUMBERS:
                rows = field_rows(self._mj_warp_model, field, self._num_envs)
                rows[env_ids[:, None], self._dof_ids] = NUMBERS[name][env_ids]
        self.model.values.update(NUMBERS)
        if "command_delay" in NUMBERS:
            self._shares, self._past = shares_of_steps(self._timestep), []

    def _moved_target(self, command, *others):
        if self._shares:
            command = self._late(command + 0.0)
        return super()._moved_target(command, *others)

    def _late(self, command):
        """Command delayed by the delay of the servo of each environment."""
        if not self._past:
            self._past = [command for _ in self._shares]
        kept = [torch.where(self._fresh, command, past) for past in self._past[:-1]]
        self._past = [command, *kept]
        return sum(share * self._past[number] for number, share in self._shares)


@requires_model_fields(
    *SERVO_MODEL_FIELDS, "dof_armature", "dof_damping", recompute=RecomputeLevel.set_const_0
)
def identified_servo(env, env_ids, asset_cfg=SceneEntityCfg("robot")):
    """Write the draw of the servo of each environment, including the armature."""
    env_ids = take_rows(env.num_envs, env_ids, env.device)
    for actuator in env.scene[asset_cfg.name].actuators:
        if isinstance(actuator, DrawnServoActuator):
            actuator.take(env_ids)


EVENTS = {"identified_servo": EventTermCfg(func=identified_servo, mode="startup")}
"""Events for the configuration of an environment."""
'''


def write_draws(request: DrawsRequest) -> DrawsExport:
    """Module with the actuator of ``trueup actuator export``, and an event that fills its table."""
    model, rows = request.of, request.rows
    table = number_table(model, rows)
    if "command_delay" in rows.names:
        # past commands are stored here: mjlab's buffer has integer steps, common to all
        model = model.with_values(command_delay=0.0)
    source = actuator_source(model).replace(
        "return BamActuator(self", "return DrawnServoActuator(self"
    )
    head = title(request.run, len(rows.values), "numpy, torch and mjlab", _USE)
    parts = (head, _IMPORTS, table, source, _EVENT)
    return DrawsExport(("\n\n\n".join(part.strip() for part in parts) + "\n",))
