"""A graphics library that MuJoCo cannot load is one sentence, whatever the command."""

import os
import subprocess
import sys

import pytest

from trueup._lazy import lazy_exports
from trueup.cli.opengl import explained_graphics

COMMANDS = (
    ["demo"],
    ["check", "absent.yaml"],
    ["init", "arm.xml", "run.csv"],
    ["gait", "list"],
    ["gait", "optimize", "walk"],
)


# OSMesa that is missing ends in an AttributeError of PyOpenGL, which a lazy package must not hide
LOADS = """
import sys
from trueup.cli import main
if sys.argv[1] == "absent":
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "OpenGL" or name.startswith("OpenGL."):
                raise AttributeError("'NoneType' object has no attribute 'glGetError'")
    sys.meta_path.insert(0, Finder())
for words in {commands!r}:
    print("code", main(words))
"""


@pytest.mark.parametrize(("library", "kind"), [("nonsense", "wrong"), ("osmesa", "absent")])
def test_every_command_says_it(tmp_path, library, kind):
    # MuJoCo leaves its choice in PYOPENGL_PLATFORM once it is loaded, as by a test before this one
    environment = {k: v for k, v in os.environ.items() if k != "PYOPENGL_PLATFORM"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOADS.format(commands=COMMANDS), kind],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120,
        env={**environment, "MUJOCO_GL": library},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["code 2"] * len(COMMANDS)
    sentences = done.stderr.strip().splitlines()
    assert len(sentences) == len(COMMANDS)
    for sentence in sentences:
        assert sentence.startswith(f"trueup: MuJoCo does not load with MUJOCO_GL={library} (")
    assert not list(tmp_path.iterdir())


def test_other_errors_pass(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "nonsense")
    for error in (RuntimeError("ours"), AttributeError("ours"), ImportError("ours")):
        with pytest.raises(type(error), match="ours"), explained_graphics():
            raise error


def test_a_lazy_name_tells_why_it_does_not_load(tmp_path, monkeypatch):
    (tmp_path / "wrong_attribute_module.py").write_text("None.nothing\n")
    monkeypatch.syspath_prepend(tmp_path)
    load, _ = lazy_exports("package", {}, {"Thing": "wrong_attribute_module"})
    with pytest.raises(ImportError, match="'NoneType' object has no attribute 'nothing'"):
        load("Thing")
    with pytest.raises(AttributeError, match="has no attribute 'Other'"):
        load("Other")
