"""Frames of simulated motion, with or without a display."""

import ctypes.util
import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np

from trueup.errors import ReportError, did_you_mean, listing

_MAX_GEOMS = 20_000


def render_rollout(
    model: mujoco.MjModel | Sequence[mujoco.MjModel],
    data: mujoco.MjData,
    state: np.ndarray,
    framerate: int,
    camera: str | int = -1,
    width: int = 640,
    height: int = 480,
    light_pos: Sequence[float] | None = None,
) -> list[np.ndarray]:
    """Render one or several simulations into the same scene.

    Args:
      model: one model, or one per simulation; the first gives time step, camera and scene.
      data: scratch memory.
      state: full-physics states ``(simulations, steps, state size)``.
      framerate: frames per second of simulated time.
      camera: name or number of a camera; -1 for the free camera.
      width: width of a frame [pixel].
      height: height of a frame [pixel].
      light_pos: position of an additional spotlight that shines down [m].

    Returns:
      RGB frames ``(height, width, 3)`` uint8.

    Raises:
      ReportError: neither EGL nor OSMesa can render here, no such camera, or inconsistent numbers
        of models and simulations.
    """
    state = np.asarray(state, float)
    state = state[None] if state.ndim == 2 else state
    models: list[mujoco.MjModel] = [model] if isinstance(model, mujoco.MjModel) else list(model)
    if len(models) == 1:
        models = models * len(state)
    if state.ndim != 3 or len(models) != len(state):
        raise ReportError(
            f"found states of shape {state.shape} and {len(models)} models: expected states "
            f"(simulations, steps, state size) and one model, or one per simulation"
        )
    if framerate <= 0:
        raise ReportError(f"the frame rate must be positive, found {framerate}")
    view = _camera(models[0], camera)
    every = 1.0 / (framerate * models[0].opt.timestep)
    count = int(np.floor((state.shape[1] - 1) / every + 1e-9)) + 1 if state.shape[1] else 0
    steps = np.minimum(np.ceil(np.arange(count) * every - 1e-9).astype(int), state.shape[1] - 1)
    with _canvas(models[0], width, height) as canvas:
        return [_frame(canvas, models, data, state[:, i], view, light_pos) for i in steps]


def render_states(
    model: mujoco.MjModel,
    states: np.ndarray,
    lookat: np.ndarray,
    *,
    distance: float,
    azimuth: float = 90.0,
    elevation: float = -5.0,
    width: int = 640,
    height: int = 480,
    prepare: Callable[[int, mujoco.MjModel], None] | None = None,
    decorate: Callable[[int, mujoco.MjvScene], None] | None = None,
) -> Iterator[np.ndarray]:
    """Render states one after the other, with a tracking camera.

    Args:
      model: the model.
      states: full-physics states ``(frames, state size)``.
      lookat: point that the camera looks at in each frame ``(frames, 3)`` [m].
      distance: distance of the camera from it [m].
      azimuth: direction of view [deg]; 90 looks along y.
      elevation: upward angle of view [deg].
      width: width of a frame [pixel].
      height: height of a frame [pixel].
      prepare: called before each frame with its index and the model, to change colours and
        lights.
      decorate: called with the index of each frame and the scene, to add geoms.

    Yields:
      RGB frames ``(height, width, 3)`` uint8.

    Raises:
      ReportError: neither EGL nor OSMesa can render here.
    """
    camera, data = mujoco.MjvCamera(), mujoco.MjData(model)
    camera.distance, camera.azimuth, camera.elevation = distance, azimuth, elevation
    with _canvas(model, width, height) as canvas:
        for k, (state, point) in enumerate(zip(states, lookat, strict=True)):
            camera.lookat[:] = point
            if prepare is not None:
                prepare(k, model)
            marks = None if decorate is None else functools.partial(decorate, k)
            yield _frame(canvas, [model], data, state[None], camera, None, marks)


class _Canvas:
    """Context, scene, options and frame size of one rendering."""

    def __init__(self, model: mujoco.MjModel, width: int, height: int):
        self.scene = mujoco.MjvScene(model, maxgeom=_MAX_GEOMS)
        self.option = mujoco.MjvOption()
        self.option.geomgroup[3] = 1
        self.perturb = mujoco.MjvPerturb()
        self.context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150.value)
        mujoco.mjr_resizeOffscreen(width, height, self.context)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self.context)
        self.rect = mujoco.MjrRect(0, 0, width, height)
        self.pixels = np.empty((height, width, 3), np.uint8)


@contextmanager
def _canvas(model: mujoco.MjModel, width: int, height: int) -> Iterator[_Canvas]:
    opengl = _opengl(width, height)
    canvas = None
    try:
        opengl.make_current()
        canvas = _Canvas(model, width, height)
        yield canvas
    except mujoco.FatalError as error:
        raise ReportError(f"MuJoCo cannot render here: {error}") from error
    finally:
        if canvas is not None:
            canvas.context.free()
        opengl.free()


def _opengl(width: int, height: int) -> Any:
    """An OpenGL context without a window.

    Raises:
      ReportError: no OpenGL context is available.
    """
    library = _library()
    try:
        if library == "egl":
            from mujoco.egl import GLContext
        elif library == "osmesa":
            from mujoco.osmesa import GLContext
        else:
            from mujoco.gl_context import GLContext
        return GLContext(width, height)
    except Exception as error:
        reason = str(error).strip().splitlines()
        raise ReportError(
            f"MuJoCo cannot render here with {library or 'OpenGL'} "
            f"({reason[0] if reason else type(error).__name__}): install EGL (libegl1) or OSMesa "
            f"(libosmesa6) and select it with MUJOCO_GL=egl or MUJOCO_GL=osmesa"
        ) from error


def _library() -> str:
    """The OpenGL library: the one of MUJOCO_GL, else one that requires no display."""
    asked = os.environ.get("MUJOCO_GL", "").lower().strip()
    if asked in ("egl", "osmesa"):
        return asked
    if asked or not sys.platform.startswith("linux"):
        return asked
    for library, file in (("egl", "EGL"), ("osmesa", "OSMesa")):
        if ctypes.util.find_library(file):
            return library
    raise ReportError(
        "MuJoCo cannot render here: neither EGL nor OSMesa is installed (libegl1 or libosmesa6)"
    )


def _camera(model: mujoco.MjModel, camera: str | int) -> mujoco.MjvCamera:
    view = mujoco.MjvCamera()
    if isinstance(camera, mujoco.MjvCamera):
        return camera
    names = [model.camera(i).name for i in range(model.ncam)]
    if isinstance(camera, str):
        if camera not in names:
            raise ReportError(
                f"the model has no camera {camera!r}; available: {listing(names)}."
                f"{did_you_mean(camera, names)}"
            )
        camera = names.index(camera)
    if not -1 <= camera < model.ncam:
        raise ReportError(
            f"the model has no camera {camera}; it has {model.ncam} cameras, numbered from 0, and "
            "the "
            f"free camera -1"
        )
    if camera == -1:
        mujoco.mjv_defaultFreeCamera(model, view)
    else:
        view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        view.fixedcamid = camera
    return view


def _frame(
    canvas: _Canvas,
    models: list[mujoco.MjModel],
    data: mujoco.MjData,
    states: np.ndarray,
    view: mujoco.MjvCamera,
    light_pos: Sequence[float] | None,
    decorate: Callable[[mujoco.MjvScene], None] | None = None,
) -> np.ndarray:
    everything = mujoco.mjtCatBit.mjCAT_ALL.value
    moving = mujoco.mjtCatBit.mjCAT_DYNAMIC.value
    for k, (model, state) in enumerate(zip(models, states, strict=True)):
        mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        mujoco.mj_forward(model, data)
        if k == 0:
            mujoco.mjv_updateScene(
                model, data, canvas.option, canvas.perturb, view, everything, canvas.scene
            )
        else:
            mujoco.mjv_addGeoms(model, data, canvas.option, canvas.perturb, moving, canvas.scene)
    if decorate is not None:
        decorate(canvas.scene)
    if light_pos is not None and canvas.scene.nlight < len(canvas.scene.lights):
        _spotlight(canvas.scene.lights[canvas.scene.nlight], light_pos)
        canvas.scene.nlight += 1
    mujoco.mjr_render(canvas.rect, canvas.scene, canvas.context)
    mujoco.mjr_readPixels(canvas.pixels, None, canvas.rect, canvas.context)
    return np.flipud(canvas.pixels).copy()


def _spotlight(light: mujoco.MjvLight, position: Sequence[float]) -> None:
    light.type = mujoco.mjtLightType.mjLIGHT_SPOT
    light.pos = position
    light.dir = [0.0, 0.0, -1.0]
    light.cutoff = 45.0
    light.exponent = 10.0
    light.attenuation = [1.0, 0.0, 0.0]
    light.ambient = [0.0, 0.0, 0.0]
    light.diffuse = [0.8, 0.8, 0.8]
    light.specular = [0.3, 0.3, 0.3]
    light.headlight = 0
    light.castshadow = 1
