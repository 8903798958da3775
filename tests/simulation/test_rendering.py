"""Frames of simulated motion without a screen, or one clear line."""

import os
import subprocess
import sys

import mujoco
import numpy as np
import pytest
from mujoco.rollout import rollout

from trueup.errors import ReportError
from trueup.simulation.models.file import write_model
from trueup.simulation.models.rendering import render_rollout

SLIDER = """
<mujoco>
  <worldbody>
    <light pos="0 0 3"/>
    <body><joint name="slide" type="slide" axis="1 0 0"/><geom size="0.2" mass="1"/></body>
  </worldbody>
  <actuator><motor joint="slide"/></actuator>
</mujoco>
"""


def test_rendering_gives_frames_at_the_rate_or_one_clear_line():
    """Two models in one picture, without a screen."""
    model = mujoco.MjModel.from_xml_string(SLIDER)
    controls = np.sin(np.arange(500) * 0.02)[:, None]
    data = mujoco.MjData(model)
    start = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state, _ = rollout(
        [model, model], [mujoco.MjData(model)], np.stack([start, start]), controls[None, :-1]
    )
    try:
        frames = render_rollout(
            [model, model],
            mujoco.MjData(model),
            np.asarray(state),
            30,
            width=64,
            height=48,
            light_pos=[0, 0, 2],
        )
    except ReportError as error:
        assert "\n" not in str(error) and "OSMesa" in str(error)
        return
    assert len(frames) == 30 and frames[0].shape == (48, 64, 3) and frames[0].dtype == np.uint8
    assert frames[0].std() > 0
    with pytest.raises(ReportError, match="no camera 'front'"):
        render_rollout(model, mujoco.MjData(model), np.asarray(state)[:1], 30, camera="front")


def test_rendering_without_opengl_says_what_to_install():
    code = (
        "import mujoco, numpy as np\n"
        "from trueup import sysid\n"
        "model = mujoco.MjModel.from_xml_string('<mujoco/>')\n"
        "try:\n"
        "    sysid.render_rollout(model, mujoco.MjData(model), np.zeros((1, 9, 1)), 30)\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    environment = {**os.environ, "MUJOCO_GL": "glfw", "DISPLAY": ""}
    environment.pop("WAYLAND_DISPLAY", None)
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    lines = answer.stdout.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("ReportError MuJoCo cannot render here")


TETRAHEDRON = """v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""
MESHED = """
<mujoco><compiler meshdir="{meshdir}"/><asset><mesh name="a" file="a.obj"/></asset>
<worldbody><body><joint/><geom type="mesh" mesh="a"/></body></worldbody></mujoco>
"""


def test_a_model_file_finds_the_meshes_of_the_original(tmp_path):
    (tmp_path / "robot" / "meshes").mkdir(parents=True)
    (tmp_path / "robot" / "meshes" / "a.obj").write_text(TETRAHEDRON)
    (tmp_path / "robot" / "robot.xml").write_text(MESHED.format(meshdir="meshes"))
    spec = mujoco.MjSpec.from_file(str(tmp_path / "robot" / "robot.xml"))
    (tmp_path / "run").mkdir()
    assert write_model(spec, tmp_path / "run" / "robot.xml") == [tmp_path / "run" / "robot.xml"]
    assert spec.meshdir == "meshes"
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "run" / "robot.xml"))
    np.testing.assert_allclose(model.body_mass, spec.compile().body_mass)


def test_assets_in_memory_are_written_beside(tmp_path):
    spec = mujoco.MjSpec.from_string(
        MESHED.format(meshdir=""), assets={"a.obj": TETRAHEDRON.encode()}
    )
    written = write_model(spec, tmp_path / "robot.xml")
    assert written == [tmp_path / "robot.xml", tmp_path / "robot_assets" / "a.obj"]
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    np.testing.assert_allclose(model.body_mass, spec.compile().body_mass)


def test_a_folder_that_does_not_exist_is_said(tmp_path):
    with pytest.raises(ReportError, match="cannot write"):
        write_model(mujoco.MjSpec.from_string(SLIDER), tmp_path / "none" / "robot.xml")
