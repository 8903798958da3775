"""``domain_randomize`` for MuJoCo Playground: a row of draws for each environment."""

from collections.abc import Sequence

from trueup.deploy import draws as module_text
from trueup.deploy.draws import DrawsExport, DrawsRequest
from trueup.knowledge.draws import ModelField
from trueup.knowledge.signals import SignalDraw

_USE = """
::

    from posterior_randomize import make_domain_randomize
    env = wrapper.wrap_for_brax_training(
        env, randomization_fn=functools.partial(make_domain_randomize(env.mj_model), rng=keys))

Constants that depend on the fields (inverse weights, masses of subtrees) are computed by MuJoCo,
once per used draw."""

_TEXT = '''
CONSTANTS = ("body_subtreemass", "body_invweight0", "dof_invweight0", "dof_M0",
             "tendon_invweight0", "tendon_length0", "actuator_acc0")


def _places(model, field, kind, element, components):
    """Flat indices into a field."""
    number = mujoco.mj_name2id(model, _OBJECTS[kind], element)
    if number < 0:
        raise ValueError(f"the model has no {kind} {element!r} for the identified {field}")
    if field.startswith("dof_"):
        number = int(model.jnt_dofadr[number])
    elif field.startswith("qpos"):
        number = int(model.jnt_qposadr[number])
    width = int(np.prod(getattr(model, field).shape[1:]))
    return number * width + np.array(components)


def fields_of(mj_model, count):
    """Fields of ``count`` environments, ``(count, ...)`` by name; environment i has row i % COUNT.

    Fields that differ between environments, and constants derived from them.
    """
    used = min(count, COUNT)
    places = [(f, _places(mj_model, f, *where), array) for f, *where, array in FIELDS]
    names = list(dict.fromkeys(field for field, *_ in FIELDS))
    copy_ = copy.copy(mj_model)
    data = mujoco.MjData(copy_)
    rows = {name: [] for name in (*names, *CONSTANTS)}
    for row in range(used):
        for field, entries, array in places:
            getattr(copy_, field).reshape(-1)[entries] = _ROWS[array][row]
        mujoco.mj_setConst(copy_, data)
        for name, values in rows.items():
            values.append(getattr(copy_, name).copy())
    order = np.arange(count) % used
    out = {name: np.array(values)[order] for name, values in rows.items()}
    return {n: v for n, v in out.items() if n in names or np.ptp(v, axis=0).any()}


def make_domain_randomize(mj_model):
    """Function of a model on the accelerator and one key per environment, for Playground."""

    def domain_randomize(model, rng):
        import jax
        import jax.numpy as jnp

        fields = fields_of(mj_model, rng.shape[0])
        fields = {name: value for name, value in fields.items() if hasattr(model, name)}
        in_axes = jax.tree_util.tree_map(lambda leaf: None, model)
        in_axes = in_axes.tree_replace({name: 0 for name in fields})
        arrays = {n: jnp.asarray(v, getattr(model, n).dtype) for n, v in fields.items()}
        return model.tree_replace(arrays), in_axes

    return domain_randomize
'''

_IMPORTS = """
import copy
from pathlib import Path

import mujoco
import numpy as np
"""


def write_draws(request: DrawsRequest) -> DrawsExport:
    """Module that writes the row of each environment."""
    fields, signals = request.rows.fields, request.rows.signals
    return DrawsExport((source(fields, signals, request.run),), lost(fields, signals))


def source(fields: Sequence[ModelField], signals: Sequence[SignalDraw], name: str) -> str:
    """Text of the module."""
    needs = "numpy and mujoco, and jax for Playground"
    text = module_text.head(name, fields, signals, needs, _USE) + _IMPORTS
    return (
        text + module_text.places(fields, signals) + module_text.ROWS + module_text.OBJECTS + _TEXT
    )


def lost(fields: Sequence[ModelField], signals: Sequence[SignalDraw]) -> list[str]:
    """Sentences on parts of a row that a model of Playground does not support."""
    return [
        f"the {s.quantity} of {s.signal} must be applied by the environment; its draws are in "
        "posterior.npz"
        for s in signals
    ]
