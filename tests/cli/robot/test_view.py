"""Motions of runs: in the viewer where there is a display, else as a film."""

import contextlib
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import driven_pendulum as pendulum
import mujoco
import mujoco.viewer
import numpy as np
import pytest

from trueup import runs
from trueup.cli import main
from trueup.sysid.results.motions import COLOURS

FILM = b"\0\0\0\x20ftypisom"


@pytest.fixture(scope="module")
def identified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished identification of a pendulum."""
    files = pendulum.write(tmp_path_factory.mktemp("view"))
    assert main(["identify", str(files.experiment), "--quiet"]) == 0
    (solution,) = files.experiment.parent.rglob("solution.json")
    return solution.parent


@pytest.fixture
def explained(identified: Path, tmp_path: Path) -> Path:
    target = tmp_path / "explained"
    words = ["explain", str(identified), "--causes", "armature", "friction"]
    assert main([*words, "--output", str(target), "--quiet"]) == 0
    return target


@pytest.fixture
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Motions of which films were made, without rendering them."""
    films: list[Any] = []
    monkeypatch.setattr(
        "trueup.sysid.results.overlay_video.film_of", lambda motion: films.append(motion) or FILM
    )
    return films


class Window:
    """Stands for the window of MuJoCo's viewer."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, frames: int):
        self.user_scn = mujoco.MjvScene(model, maxgeom=100)
        self.data, self.left = data, frames
        self.seen: list[tuple[float, np.ndarray, int, str]] = []
        self.texts = ("", "")
        self.cam = mujoco.MjvCamera()
        self.colours = model.geom_rgba[model.geom_bodyid > 0].tolist()

    def __enter__(self) -> "Window":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def is_running(self) -> bool:
        return self.left > 0

    def lock(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def set_texts(self, texts: tuple[Any, Any, str, str]) -> None:
        self.texts = texts[2:]

    def sync(self) -> None:
        self.left -= 1
        shown = self.data.qpos.copy(), self.user_scn.ngeom, "\n".join(self.texts)
        self.seen.append((self.data.time, *shown))


def test_without_a_display_the_command_writes_a_film(identified, no_display, drawn, capsys):
    assert main(["view", str(identified)]) == 0
    said = capsys.readouterr().out
    assert "DISPLAY is not set" in said and str(identified / "motion.mp4") in said
    assert (identified / "motion.mp4").read_bytes() == FILM
    (motion,) = drawn
    assert motion.shown == ("measured", "initial", "identified")
    assert "Measured in blue" in said
    errors = np.abs(motion.positions[1:] - motion.positions[0]).max(axis=(1, 2))
    assert errors[1] < 0.1 * errors[0]  # the identified model follows the recording


def test_a_display_that_is_not_there_is_said(identified, drawn, monkeypatch, capsys):
    monkeypatch.setenv("DISPLAY", ":9876")
    assert main(["view", str(identified)]) == 0
    assert "the display :9876 cannot be opened" in capsys.readouterr().out
    assert drawn


def test_an_explanation_shows_the_model_with_its_causes(explained, no_display, drawn):
    assert main(["view", str(explained), "--output", str(explained / "film.mp4")]) == 0
    (motion,) = drawn
    assert motion.shown == ("measured", "initial", "identified")
    assert "changed" in motion.labels[-1] and motion.labels[1] == "the model"
    errors = np.abs(motion.positions[1:] - motion.positions[0]).mean(axis=(1, 2))
    assert errors[1] < 0.5 * errors[0]


def test_the_window_plays_the_recording_with_ghosts_and_residuals(identified, monkeypatch):
    from trueup.sysid.results import viewer

    windows: list[Window] = []

    def launch(model: mujoco.MjModel, data: mujoco.MjData, **_: object) -> Window:
        windows.append(Window(model, data, frames=12))
        return windows[-1]

    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(mujoco.viewer, "launch_passive", launch)
    monkeypatch.setattr(viewer.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(
        viewer.time, "sleep", lambda seconds: setattr(clock, "now", clock.now + seconds)
    )
    motions = runs.motions(identified)
    viewer.show(motions)
    (window,) = windows
    times = [time for time, *_ in window.seen]
    assert len(times) == 12 and np.allclose(np.diff(times), 1 / 25)
    assert clock.now >= 12 / 25  # at the speed of the log
    motion = motions[0]
    # all of the motion is in view, and the recording is blue
    data = mujoco.MjData(motion.model)
    angle = np.deg2rad(motion.model.vis.global_.fovy / 2)
    for qpos in motion.positions.reshape(-1, motion.positions.shape[-1]):
        data.qpos[:] = qpos
        mujoco.mj_kinematics(motion.model, data)
        away = data.geom_xpos[motion.model.geom_bodyid > 0] - window.cam.lookat
        assert np.linalg.norm(away, axis=1).max() < window.cam.distance * np.sin(angle)
    assert np.allclose(window.colours, COLOURS["measured"][1])
    for frame, (_, qpos, ghosts, text) in enumerate(window.seen):
        assert np.array_equal(qpos, motion.positions[0, frame])
        assert ghosts >= 2  # the model before the fit, and the identified one
        assert f"{motion.residuals[frame, 0]:+.4f}" in text and motion.joints[0][0] in text


def test_a_run_without_a_motion_is_refused(tmp_path, capsys):
    assert main(["study", "run", "sphere", "--output", str(tmp_path / "s"), "--evaluations", "64",
                 "--quiet"]) in (0, 3)  # fmt: skip
    capsys.readouterr()
    assert main(["view", str(tmp_path / "s")]) == 2
    said = capsys.readouterr().err
    assert "no motion to show" in said and "identification" in said and "trueup report" in said
    assert not (tmp_path / "s" / "motion.mp4").exists()


@pytest.mark.parametrize(
    ("module", "sentence"),
    [("imageio_ffmpeg", "trueup[video]"), ("OpenGL", "MuJoCo cannot render here")],
)
def test_without_an_encoder_or_opengl_one_sentence_says_so(
    identified, tmp_path, monkeypatch, capsys, module, sentence
):
    # the process that renders finds a module that cannot be imported
    (tmp_path / f"{module}.py").write_text("raise ImportError('not installed')")
    known = [str(tmp_path), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, known)))
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    target = tmp_path / "film.mp4"
    assert main(["view", str(identified), "--output", str(target)]) == 2
    said = capsys.readouterr().err
    assert sentence in said and len(said.strip().splitlines()) == 1
    assert not target.exists()
