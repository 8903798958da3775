"""Draws for simulators: request and result of a form, and the common text of all modules."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.deploy.forms import MODEL_DRAWS, NETWORK_DRAWS, SERVO_DRAWS
from trueup.knowledge.draws import Draws, ModelField
from trueup.knowledge.signals import SignalDraw


@dataclass(frozen=True)
class DrawsRequest:
    """Draws to export for a simulator."""

    rows: Draws
    """The draws."""
    run: str
    """Name of the run."""
    of: Any = None
    """The :class:`ServoModel` or :class:`NetworkEnsemble` of the draws; None for draws of a MuJoCo
        model, with rows that define what they write."""
    joints: int = 1
    """Joints of an environment driven by the networks of an ensemble."""


@dataclass(frozen=True)
class DrawsExport:
    """Files of a form, and what the simulator does not support."""

    contents: Sequence[str | bytes] = ()
    """Content of each file of :attr:`Form.files`."""
    lost: Sequence[str] = ()
    """Sentences on parts of a row that the simulator does not support."""


def drawn_thing(of: Any) -> str:
    """Kind of the draws, one of the things of forms, see :attr:`DrawsRequest.of`."""
    if of is None:
        return MODEL_DRAWS
    return SERVO_DRAWS if isinstance(of, ServoModel) else NETWORK_DRAWS


def write_nothing(request: DrawsRequest) -> DrawsExport:
    """No module: only the rows and their description."""
    del request
    return DrawsExport()


_HEAD = '''\
"""Draws of the parameters identified in {name}: environment i has row i % {count} of them.

Written by trueup; requires {needs}, not trueup. ``posterior.npz`` must be next to this file.
{use}
"""
'''

ROWS = '''
with np.load(Path(__file__).with_name("posterior.npz"), allow_pickle=False) as _found:
    _ROWS = {name: _found[name] for name in _found.files}
COUNT = len(_ROWS["values"])
"""Number of draws."""
'''


OBJECTS = """
_OBJECTS = {
    "joint": mujoco.mjtObj.mjOBJ_JOINT,
    "body": mujoco.mjtObj.mjOBJ_BODY,
    "geom": mujoco.mjtObj.mjOBJ_GEOM,
    "site": mujoco.mjtObj.mjOBJ_SITE,
    "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR,
    "sensor": mujoco.mjtObj.mjOBJ_SENSOR,
    "tendon": mujoco.mjtObj.mjOBJ_TENDON,
    "equality": mujoco.mjtObj.mjOBJ_EQUALITY,
    "pair": mujoco.mjtObj.mjOBJ_PAIR,
}
"""


def head(
    name: str, fields: Sequence[ModelField], signals: Sequence[SignalDraw], needs: str, use: str
) -> str:
    """First lines of a module that writes fields and signals."""
    return title(name, len((*fields, *signals)[0].values), needs, use)


def title(name: str, count: int, needs: str, use: str) -> str:
    """First lines of a module.

    Args:
      name: name of the run.
      count: number of rows.
      needs: packages that the module imports.
      use: how to use the module.
    """
    return _HEAD.format(name=_in_text(name), count=count, needs=needs, use=use)


def places(
    fields: Sequence[ModelField],
    signals: Sequence[SignalDraw],
    numbers: Sequence[int] | None = None,
) -> str:
    """Python text with the target of each array of ``posterior.npz``.

    Args:
      fields: fields.
      signals: quantities of signals.
      numbers: number of each field's array; None: the order of the fields.
    """
    lines = [
        "",
        "# field of MjModel, kind and name of the element, its numbers, array",
        "FIELDS = (",
    ]
    lines += [
        f"    ({f.field!r}, {f.kind!r}, {f.element!r}, {f.components!r}, 'field_{i}'),"
        for i, f in zip(range(len(fields)) if numbers is None else numbers, fields, strict=True)
    ]
    lines += [
        ")",
        "",
        "# quantity, signal or actuator, joint that it belongs to, array",
        "SIGNALS = (",
    ]
    lines += [
        f"    ({s.quantity!r}, {s.signal!r}, {s.joint!r}, 'signal_{i}'),"
        for i, s in enumerate(signals)
    ]
    return "\n".join([*lines, ")", ""])


def _in_text(name: str) -> str:
    """A name that cannot terminate the string literal of a module."""
    return "".join(c for c in name if c.isprintable() and c not in '"\\')
