"""Models that MuJoCo Warp cannot simulate, refused by the name of what it does not have."""

from typing import Any

import mujoco

from trueup.errors import SimulationError
from trueup.simulation.warp.devices import WarpDevice, warp_modules

_INSTEAD = "device: cpu simulates it"


def put_model(model: mujoco.MjModel, device: WarpDevice) -> Any:
    """The model on a device, as a ``mujoco_warp.Model``.

    Raises:
      SimulationError: MuJoCo Warp does not have a feature of the model.
    """
    refuse(model)
    wp, mjw = warp_modules()
    try:
        with wp.ScopedDevice(device.alias):
            put = mjw.put_model(model)
    except (NotImplementedError, ValueError) as error:
        raise SimulationError(
            f"MuJoCo Warp cannot simulate this model: {str(error).rstrip('.')}; {_INSTEAD}"
        ) from error
    # overflows are counted, and reported as failures
    put.opt.warn_overflow = 0
    return put


def refuse(model: mujoco.MjModel) -> None:
    """Raise SimulationError for what MuJoCo Warp does not have, in the words of the MJCF."""
    named = [model.actuator(i).name or f"actuator {i}" for i in range(model.nactuator)]
    pid = [
        named[i]
        for i in range(model.nactuator)
        if int(model.actuator_dyntype[i]) == mujoco.mjtDyn.mjDYN_PID
        or int(model.actuator_gaintype[i]) == mujoco.mjtGain.mjGAIN_PID
    ]
    own = [
        named[i]
        for i in range(model.nactuator)
        if int(model.actuator_gaintype[i]) == mujoco.mjtGain.mjGAIN_USER
        or int(model.actuator_biastype[i]) == mujoco.mjtBias.mjBIAS_USER
        or int(model.actuator_dyntype[i]) == mujoco.mjtDyn.mjDYN_USER
    ]
    found = [
        (bool(pid), f"the controller of the actuator {pid[0] if pid else ''!r} (type pid)"),
        (bool(own), f"the user-defined law of the actuator {own[0] if own else ''!r}"),
        (int(model.opt.solver) == mujoco.mjtSolver.mjSOL_PGS, "the solver PGS"),
        (model.nplugin > 0, "plugins"),
        (
            bool(int(model.opt.disableflags) & mujoco.mjtDisableBit.mjDSBL_AUTORESET),
            "the flag autoreset=disable",
        ),
        (mujoco.get_mjcb_control() is not None, "control laws in callbacks of MuJoCo"),
    ]
    for has, what in found:
        if has:
            raise SimulationError(f"MuJoCo Warp does not have {what}; {_INSTEAD}")
