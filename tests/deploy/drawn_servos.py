"""Rows of a servo's numbers, and the module that gives each environment its row."""

import re
from types import ModuleType

import numpy as np
from distinct_servos import LAWS, distinct_model
from exported_modules import MEMORYLESS

from trueup.deploy import DrawsRequest, find_form
from trueup.knowledge import Draws

ENVS = 3
"""Environments: one more than rows, so that one row comes again."""


def drawn(law):
    """A servo with every effect, and rows of its numbers that all differ."""
    model = distinct_model(law, "m6", (*MEMORYLESS[law], "command_delay", "max_velocity"))
    names = tuple(name for name in model.names if name != "q_offset")
    rng = np.random.default_rng(LAWS.index(law))
    factors = 1.0 + 0.25 * rng.uniform(-1.0, 1.0, (2, len(names)))
    values = factors * np.array([model.values[name] for name in names])
    rows = Draws(names, ("",) * len(names), ("",) * len(names), values)
    return model, rows, [model.with_values(**dict(zip(names, row, strict=True))) for row in values]


def loaded(simulator, model, rows, folder):
    """The module of draws as an import of its file makes it."""
    form = find_form(simulator, "draws of a servo")
    (text,) = form.write(DrawsRequest(rows, "arm", model)).contents
    assert not re.search(r"^\s*(from|import) trueup", text, re.M)
    rows.write(folder / "posterior.npz")
    module = ModuleType("posterior_servo")
    module.__file__ = str(folder / "posterior_servo.py")
    exec(compile(text, module.__file__, "exec"), vars(module))
    return module
