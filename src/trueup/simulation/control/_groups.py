"""Named tuples that pass the gains, the state and the targets to a law.

Numba's disk cache looks up a compiled law by the types of its arguments, and a class by its module
and name. These classes can be imported again in another process because their name contains their
fields, ``Gains__kp__kd``.
"""

import collections
import sys
from collections.abc import Iterable


def named_group(kind: str, names: Iterable[str]) -> type:
    """Return the named tuple class ``kind`` with the fields ``names``; always the same one."""
    return getattr(sys.modules[__name__], "__".join([kind, *names]))


def __getattr__(name: str) -> type:
    kind, *names = name.split("__")
    if kind not in ("Gains", "State", "Targets"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = collections.namedtuple(name, names, module=__name__)
    globals()[name] = made
    return made
