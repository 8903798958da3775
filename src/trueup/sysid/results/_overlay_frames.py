"""Rendering of the frames of an overlay video, run in a separate process on a folder."""

import os
import sys
from pathlib import Path

import mujoco
import numpy as np

from trueup.sysid.results.motions import brighten, camera_of, coloured

_WIDTH, _HEIGHT = 480, 360


def draw(folder: Path) -> None:
    """Read ``model.mjb`` and ``motion.npz`` of a folder, write ``motion.mp4``."""
    import imageio.v2 as imageio

    model = mujoco.MjModel.from_binary_path(str(folder / "model.mjb"))
    with np.load(folder / "motion.npz", allow_pickle=False) as file:
        colours, positions, rate = file["colours"], file["positions"], file["rate"]
    model.vis.global_.offwidth = max(_WIDTH, model.vis.global_.offwidth)
    model.vis.global_.offheight = max(_HEIGHT, model.vis.global_.offheight)
    brighten(model)
    models = [coloured(model, colour) for colour in colours]
    datas = [mujoco.MjData(m) for m in models]
    option, perturbation = mujoco.MjvOption(), mujoco.MjvPerturb()
    moving = int(mujoco.mjtCatBit.mjCAT_DYNAMIC)
    camera = camera_of(model, positions)
    with (
        mujoco.Renderer(model, _HEIGHT, _WIDTH, max_geom=20_000) as renderer,
        imageio.get_writer(folder / "motion.mp4", fps=int(rate), quality=6) as writer,
    ):
        for frame in range(positions.shape[1]):
            for k, (m, data) in enumerate(zip(models, datas, strict=True)):
                data.qpos[:] = positions[k, frame]
                mujoco.mj_forward(m, data)
                if k == 0:
                    renderer.update_scene(data, camera, scene_option=option)
                    for geom in renderer.scene.geoms[: renderer.scene.ngeom]:
                        if geom.category == moving:
                            geom.rgba[:] = colours[0]
                            geom.matid = -1
                else:
                    mujoco.mjv_addGeoms(m, data, option, perturbation, moving, renderer.scene)
            writer.append_data(renderer.render())  # pyright: ignore[reportAttributeAccessIssue]


def main() -> int:
    """Run the process; returns its exit code."""
    from trueup.errors import MissingExtraError

    # close the renderer's OpenGL before the interpreter exits, to avoid errors at exit
    try:
        import imageio.v2
        import imageio_ffmpeg
    except ImportError:
        print(MissingExtraError("an overlay video", "video", "imageio[ffmpeg]"), file=sys.stderr)
        return 1
    del imageio, imageio_ffmpeg
    try:
        draw(Path(sys.argv[1]))
    except Exception as error:
        print(f"{type(error).__name__}: {error}".splitlines()[0], file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)
