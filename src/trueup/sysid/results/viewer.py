"""Motions in MuJoCo's viewer: the recording, and the models as ghosts, on the clock of the log."""

import os
import sys
import time
from collections.abc import Sequence

import mujoco
import numpy as np

from trueup.errors import ReportError
from trueup.sysid.results.motions import COLOURS, FRAME_RATE, Motion, camera_of, coloured

_SHOWN = 8  # maximum number of joints with their residual
_REST = 1.0  # pause before a motion begins again [s]


def missing_display() -> str:
    """Why no viewer can be opened here, as a clause; empty if one can."""
    linux = sys.platform.startswith("linux")
    if linux and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return "there is no display (DISPLAY is not set)"
    try:
        import glfw
    except ImportError as error:
        return f"the library of windows is missing ({error})"
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # glfw warns where it fails; the clause says it
        opened = glfw.init()
    # the viewer's thread waits for ever where it fails to open a window
    return "" if opened else f"the display {os.environ.get('DISPLAY', '')} cannot be opened"


def show(motions: Sequence[Motion], repeat: bool = True) -> None:
    """Show motions in a window until it is closed, one after the other.

    Args:
      motions: the motions.
      repeat: begin again after the last one.

    Raises:
      ReportError: no window can be opened.
    """
    import mujoco.viewer

    while True:
        for motion in motions:
            model = coloured(motion.model, COLOURS[motion.shown[0]][1])
            data = mujoco.MjData(model)
            try:
                viewer = mujoco.viewer.launch_passive(
                    model, data, show_left_ui=False, show_right_ui=False
                )
            except RuntimeError as error:  # on macOS the viewer runs under mjpython alone
                raise ReportError(f"the viewer cannot be opened: {error}") from error
            with viewer:
                with viewer.lock():
                    _look(viewer.cam, camera_of(model, motion.positions))
                closed = not _play(motion, data, viewer)
            if closed:
                return
        if not repeat:
            return


def _look(camera: mujoco.MjvCamera, wanted: mujoco.MjvCamera) -> None:
    """Set the camera of a window."""
    camera.type, camera.fixedcamid = wanted.type, wanted.fixedcamid
    camera.lookat[:], camera.distance = wanted.lookat, wanted.distance
    camera.azimuth, camera.elevation = wanted.azimuth, wanted.elevation


def text_at(motion: Motion, frame: int) -> tuple[str, str]:
    """Names and residuals of the joints at a frame, one a line."""
    residuals = motion.residuals[frame]
    names, values = [f"{motion.name}  t"], [f"{frame / FRAME_RATE:.2f} s"]
    order = np.argsort(-np.abs(residuals), kind="stable")[:_SHOWN]
    for place in sorted(order):
        names.append(motion.joints[place][0])
        values.append(f"{residuals[place]:+.4f}")
    return "\n".join(names), "\n".join(values)


def _play(motion: Motion, data: mujoco.MjData, viewer: object) -> bool:
    """Play a motion once, at the speed of the recording; False once the window is closed."""
    ghosts = [_Ghost(motion.model, COLOURS[key][1]) for key in motion.shown[1:]]
    window: object = viewer
    began = time.monotonic()
    for frame in range(motion.positions.shape[1]):
        if not window.is_running():  # type: ignore[attr-defined]
            return False
        with window.lock():  # type: ignore[attr-defined]
            data.qpos[:] = motion.positions[0, frame]
            data.time = frame / FRAME_RATE
            mujoco.mj_forward(motion.model, data)
            scene = window.user_scn  # type: ignore[attr-defined]
            scene.ngeom = 0
            for ghost, positions in zip(ghosts, motion.positions[1:]):
                ghost.add(positions[frame], scene)
        names, values = text_at(motion, frame)
        window.set_texts((None, None, names, values))  # type: ignore[attr-defined]
        window.sync()  # type: ignore[attr-defined]
        time.sleep(max(0.0, began + (frame + 1) / FRAME_RATE - time.monotonic()))
    time.sleep(_REST)
    return window.is_running()  # type: ignore[attr-defined]


class _Ghost:
    """A coloured copy of the moving bodies of a model, added to the scene of a viewer."""

    def __init__(self, model: mujoco.MjModel, colour: tuple[float, ...]):
        self._model = coloured(model, colour)
        self._data = mujoco.MjData(self._model)
        self._option, self._perturbation = mujoco.MjvOption(), mujoco.MjvPerturb()

    def add(self, qpos: np.ndarray, scene: mujoco.MjvScene) -> None:
        """Add its geoms at a pose to a scene."""
        self._data.qpos[:] = qpos
        mujoco.mj_forward(self._model, self._data)
        moving = int(mujoco.mjtCatBit.mjCAT_DYNAMIC)
        mujoco.mjv_addGeoms(
            self._model, self._data, self._option, self._perturbation, moving, scene
        )
