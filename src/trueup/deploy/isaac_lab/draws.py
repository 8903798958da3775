"""One startup event for Isaac Lab's manager-based environments."""

from collections.abc import Sequence

from trueup.deploy import draws as module_text
from trueup.deploy.draws import DrawsExport, DrawsRequest
from trueup.knowledge.draws import ModelField
from trueup.knowledge.signals import SignalDraw

JOINT_FIELDS = {
    "dof_armature": "write_joint_armature_to_sim",
    "dof_frictionloss": "write_joint_friction_coefficient_to_sim",
    "dof_damping": "write_joint_viscous_friction_coefficient_to_sim",
}
"""Field of MjModel -> method of an articulation."""
BODY_FIELDS = ("body_mass", "body_inertia", "body_ipos", "body_iquat")

_USE = """
In the configuration of the environment's events::

    from posterior_event import identified_parameters
    parameters = EventTerm(func=identified_parameters, mode="startup",
                           params={"asset_cfg": SceneEntityCfg("robot")})

Joint friction is a torque [N m] (Isaac Sim 5.0 and newer)."""

_IMPORTS = """
from pathlib import Path

import numpy as np
import torch
"""

_EVENT = '''
JOINT_METHODS = @JOINTS@


def _number(names, kind, name):
    if name not in names:
        raise ValueError(f"the articulation has no {kind} {name!r}; it has {list(names)}")
    return list(names).index(name)


def _matrix(quaternion):
    """Rotation matrices (n, 3, 3) of quaternions w, x, y, z (n, 4)."""
    w, x, y, z = np.moveaxis(quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True), 1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def identified_parameters(env, env_ids, asset_cfg):
    """Write the draw of each environment: all fields of one row together."""
    asset = env.scene[asset_cfg.name]
    if env_ids is None:
        env_ids = torch.arange(env.scene.num_envs)
    rows = (env_ids.cpu() % COUNT).numpy()
    bodies = {}
    for field, kind, element, components, array in FIELDS:
        values = _ROWS[array][rows]
        if field in JOINT_METHODS:
            joint = _number(asset.joint_names, "joint", element)
            write = getattr(asset, JOINT_METHODS[field])
            numbers = torch.as_tensor(values[:, :1], dtype=torch.float, device=asset.device)
            write(numbers, joint_ids=[joint], env_ids=env_ids.to(asset.device))
        else:
            bodies.setdefault(element, {})[field] = (list(components), values)
    if bodies:
        _write_bodies(asset, bodies, env_ids.cpu())


def _write_bodies(asset, bodies, env_ids):
    view = asset.root_physx_view
    masses, inertias, coms = view.get_masses(), view.get_inertias(), view.get_coms()
    for element, written in bodies.items():
        body = _number(asset.body_names, "body", element)
        if "body_mass" in written:
            values = torch.as_tensor(written["body_mass"][1][:, 0], dtype=masses.dtype)
            masses[env_ids, body] = values
        if "body_ipos" in written:
            places, values = written["body_ipos"]
            for column, place in enumerate(places):
                coms[env_ids, body, place] = torch.as_tensor(values[:, column], dtype=coms.dtype)
        if "body_inertia" in written:
            places, values = written["body_inertia"]
            if places != [0, 1, 2]:
                raise ValueError(f"{element!r} requires all three moments of inertia")
            axes = written.get("body_iquat", ([], np.tile([1.0, 0.0, 0.0, 0.0], (len(values), 1))))
            turned = _matrix(axes[1])
            full = turned @ (values[:, :, None] * np.swapaxes(turned, 1, 2))
            inertias[env_ids, body] = torch.as_tensor(full.reshape(-1, 9), dtype=inertias.dtype)
    view.set_masses(masses, env_ids)
    view.set_coms(coms, env_ids)
    view.set_inertias(inertias, env_ids)
'''


def write_draws(request: DrawsRequest) -> DrawsExport:
    """Module that writes the row of each environment."""
    fields, signals = request.rows.fields, request.rows.signals
    return DrawsExport((source(fields, signals, request.run),), lost(fields, signals))


def source(fields: Sequence[ModelField], signals: Sequence[SignalDraw], name: str) -> str:
    """Text of the module."""
    taken = [(f, i) for i, f in enumerate(fields) if _is_taken(f)]
    text = module_text.head(name, fields, signals, "numpy, torch and Isaac Lab", _USE) + _IMPORTS
    text += module_text.places([f for f, _ in taken], (), [i for _, i in taken])
    return text + module_text.ROWS + _EVENT.replace("@JOINTS@", repr(JOINT_FIELDS))


def lost(fields: Sequence[ModelField], signals: Sequence[SignalDraw]) -> list[str]:
    """Sentences on parts of a row that Isaac Lab does not support."""
    out = [
        f"{f.field} of {f.kind} {f.element} cannot be set in Isaac Lab: set it in the asset"
        for f in fields
        if not _is_taken(f)
    ]
    return out + [
        f"the {s.quantity} of {s.signal} must be applied by the actuator or the observation; its "
        "draws are in posterior.npz"
        for s in signals
    ]


def _is_taken(field: ModelField) -> bool:
    return field.field in JOINT_FIELDS or field.field in BODY_FIELDS
