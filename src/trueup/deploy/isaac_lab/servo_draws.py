"""Draws of a servo as an actuator of Isaac Lab: each environment has its own servo."""

from trueup.deploy.draws import DrawsExport, DrawsRequest, title
from trueup.deploy.isaac_lab.servo import actuator_source
from trueup.deploy.servo_draws import number_table

_USE = """
``ServoActuatorCfg``, with ``physics_dt`` and ``load_inertia``, belongs in the actuators of an
articulation. In the configuration of the environment's events::

    from posterior_servo import identified_servo
    servo = EventTerm(func=identified_servo, mode="startup",
                      params={"asset_cfg": SceneEntityCfg("robot")})"""

_DRAWN_SERVO = '''
class DrawnServo(Servo):
    """Servo with different parameters per environment (row)."""

    def take(self):
        """Read the parameters from the table."""
        self.armature = NUMBERS.get("armature", self.armature)
        self.max_velocity = NUMBERS.get("max_velocity", self.max_velocity)
        if "command_delay" in NUMBERS:
            self._shares = shares_of_steps(self.timestep)
            self._fresh = None
'''

_EVENT = '''
def identified_servo(env, env_ids, asset_cfg):
    """Write the draw of the servo of each environment, including the armature."""
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


def write_draws(request: DrawsRequest) -> DrawsExport:
    """Module with the actuator of ``trueup actuator export``, and an event that fills its table."""
    model, rows = request.of, request.rows
    table = number_table(model, rows)
    if "command_delay" in rows.names:
        # the buffer of past commands must cover the longest draw, not the identified delay
        column = rows.names.index("command_delay")
        model = model.with_values(command_delay=float(rows.values[:, column].max()))
    source = actuator_source(model, rows.names).replace(
        "self.servo = Servo(", "self.servo = DrawnServo("
    )
    equations, classes = source.split("\nfrom isaaclab", 1)
    head = title(request.run, len(rows.values), "numpy, torch and Isaac Lab", _USE)
    parts = (head, table, equations, _DRAWN_SERVO, f"from isaaclab{classes}", _EVENT)
    return DrawsExport(("\n\n\n".join(part.strip() for part in parts) + "\n",))
