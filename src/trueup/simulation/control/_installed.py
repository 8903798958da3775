"""Installation of a law as MuJoCo's control callback."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import mujoco
from mujoco.batch import Batch

from trueup.errors import LawError
from trueup.simulation.control._law import ControlLaw
from trueup.simulation.control._targeted_law import TargetedLaw

_lock = threading.Lock()
_owner: list[str] = []


@contextmanager
def installed(
    law: ControlLaw | TargetedLaw, *simulations: mujoco.MjModel | mujoco.MjData | Batch
) -> Iterator[None]:
    """Run a law in every simulation that is stepped inside the ``with`` block.

    MuJoCo has one control callback per process, so one law at a time can be installed. Models that
    are not prepared for a law are stepped as usual. The previous callback is restored at the end of
    the block, also after an error.

    Args:
        law: the law.
        simulations: models, batches or data to check first; a targeted law is needed for that.

    Raises:
        LawError: a law is installed already, the law does not compile, or a model is not prepared
            for it.
    """
    aimed = law if isinstance(law, TargetedLaw) else None
    definition = law.law if isinstance(law, TargetedLaw) else law
    for simulation in simulations:
        if aimed is None:
            raise LawError(
                f"Control law {definition.name!r} has no targets: install law.on(...) "
                "to check a model"
            )
        model = simulation if isinstance(simulation, mujoco.MjModel) else simulation.model
        aimed.layout(model)
        if isinstance(simulation, Batch):
            aimed._check_batch(simulation)
    callback = definition.callback
    with _lock:
        if _owner:
            raise LawError(
                f"Control law {_owner[0]!r} is already installed: MuJoCo has one control callback "
                "per "
                f"process, so {definition.name!r} cannot be installed at the same time"
            )
        _owner.append(definition.name)
    former = mujoco.get_mjcb_control()
    try:
        mujoco.set_mjcb_control(callback.ctypes)
        yield
    finally:
        mujoco.set_mjcb_control(former)
        _owner.clear()
