"""Startup event for mjlab: writes all fields of a row together, and computes constants once."""

from collections.abc import Sequence

from trueup.deploy import draws as module_text
from trueup.deploy.draws import DrawsExport, DrawsRequest
from trueup.knowledge.draws import ModelField
from trueup.knowledge.signals import COMMAND_DELAY, SignalDraw

_CONSTANT = ("body_mass", "body_ipos", "body_inertia", "body_iquat", "body_gravcomp")
_AT_ZERO = ("dof_armature", "body_pos", "qpos0", "tendon_armature", "actuator_gear")

_USE = """
In the configuration of the environment::

    from posterior_event import EVENTS
    cfg.events.update(EVENTS)

The entity is called "robot"; another name: ``params={"asset_cfg": SceneEntityCfg("arm")}``."""

_USE_DELAY = """

Actuators with a command delay require ``delay_max_lag``, in physics steps, above the longest draw
of {longest:.4g} s, and ``delay_hold_prob=1.0``, which keeps the lag of an environment."""

_IMPORTS = """
from pathlib import Path

import mujoco
import numpy as np
import torch
from mjlab.managers.event_manager import EventTermCfg, RecomputeLevel, requires_model_fields
from mjlab.managers.scene_entity_config import SceneEntityCfg
"""

_EVENT = '''

def _row(model, field, kind, element, entity):
    """Row of a field that belongs to an element of an entity."""
    names = (f"{entity}/{element}", element)
    for name in names:
        number = mujoco.mj_name2id(model, _OBJECTS[kind], name)
        if number >= 0:
            break
    else:
        raise ValueError(f"the scene has no {kind} {names[0]!r} for the identified {field}")
    if field.startswith("dof_"):
        return int(model.jnt_dofadr[number])
    return int(model.jnt_qposadr[number]) if field.startswith("qpos") else number


def _rows_of(env, env_ids):
    """Environments, and the draw of each."""
    if env_ids is None:
        env_ids = torch.arange(env.num_envs, device=env.device)
    env_ids = env_ids.to(env.device, dtype=torch.long)
    return env_ids, (env_ids % COUNT).cpu().numpy()


@requires_model_fields(*sorted({field for field, *_ in FIELDS}), recompute=RecomputeLevel.@LEVEL@)
def identified_parameters(env, env_ids, asset_cfg=SceneEntityCfg("robot")):
    """Write the draw of each environment: all fields of one row together."""
    env_ids, rows = _rows_of(env, env_ids)
    model = env.sim.mj_model
    for field, kind, element, components, array in FIELDS:
        first = _row(model, field, kind, element, asset_cfg.name)
        values = torch.as_tensor(_ROWS[array][rows], dtype=torch.float, device=env.device)
        target = getattr(env.sim.model, field)
        width = int(np.prod(getattr(model, field).shape[1:]))
        for column, component in enumerate(components):
            row, place = divmod(component, width)
            index = np.unravel_index(place, getattr(model, field).shape[1:]) if width > 1 else ()
            target[(env_ids, first + row, *map(int, index))] = values[:, column]
    asset = env.scene[asset_cfg.name]
    for quantity, _, joint, array in SIGNALS:
        if quantity == "bias" and joint:
            values = torch.as_tensor(_ROWS[array][rows], dtype=torch.float, device=env.device)
            asset.data.encoder_bias[env_ids, list(asset.joint_names).index(joint)] = values


EVENTS = {"identified_parameters": EventTermCfg(func=identified_parameters, mode="startup")}
"""Events for the configuration of an environment."""
'''

_DELAYS = '''

def identified_delays(env, env_ids, asset_cfg=SceneEntityCfg("robot")):
    """Write the command delay of each environment's draw, after each reset."""
    env_ids, rows = _rows_of(env, env_ids)
    timestep = float(env.sim.mj_model.opt.timestep)
    for quantity, name, joint, array in SIGNALS:
        if quantity != "command delay":
            continue
        own = [a for a in env.scene[asset_cfg.name].actuators if joint in a.target_names]
        lags = np.rint(_ROWS[array] / timestep)
        if not own or any(a.cfg.delay_max_lag < lags.max() for a in own):
            raise ValueError(
                f"the actuator of {joint!r} requires delay_max_lag={int(lags.max())} for the delay "
                f"of {name}"
            )
        for actuator in own:
            steps = torch.as_tensor(lags[rows], dtype=torch.long, device=env.device)
            actuator.set_lags(steps, env_ids)


EVENTS["identified_delays"] = EventTermCfg(func=identified_delays, mode="reset")
'''


def write_draws(request: DrawsRequest) -> DrawsExport:
    """Module that writes the row of each environment."""
    fields, signals = request.rows.fields, request.rows.signals
    return DrawsExport((source(fields, signals, request.run),), lost(fields, signals))


def source(fields: Sequence[ModelField], signals: Sequence[SignalDraw], name: str) -> str:
    """Text of the module."""
    written = {f.field for f in fields}
    if written & set(_CONSTANT):
        level = "set_const"
    else:
        level = "set_const_0" if written & set(_AT_ZERO) else "none"
    delays = [s for s in signals if s.quantity == COMMAND_DELAY]
    use = _USE
    if delays:
        use += _USE_DELAY.format(longest=max(float(s.values.max()) for s in delays))
    text = module_text.head(name, fields, signals, "numpy, torch and mjlab", use) + _IMPORTS
    text += module_text.places(fields, signals) + module_text.ROWS + module_text.OBJECTS
    return text + _EVENT.replace("@LEVEL@", level) + (_DELAYS if delays else "")


def lost(fields: Sequence[ModelField], signals: Sequence[SignalDraw]) -> list[str]:
    """Sentences on parts of a row that mjlab does not support."""
    return [
        f"the {s.quantity} of {s.signal} is not part of mjlab's models: its draws are in "
        "posterior.npz, for the observation of the signal"
        for s in signals
        if s.quantity != COMMAND_DELAY and not (s.quantity == "bias" and s.joint)
    ]
