"""Files and folders without permission: named as such, and nothing is changed."""

import sys
from pathlib import Path

import pytest
from privileges import permissions_hold
from work import KINDS, refused

from trueup.actuators.mujoco.law import read_spec
from trueup.errors import ModelError
from trueup.gait.models.walker import Walker
from trueup.networks.runtime import control_law

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="permissions of Linux")

FILES = [
    ("study", "own.py"),
    ("sysid", "experiment.yaml"),
    ("sysid", "pendulum.xml"),
    ("sysid", "run.csv"),
    ("servo", "logs/kp100.json"),
    ("servo", "logs"),
    ("network", "data/0.05kgm2/sine_01.csv"),
    ("network", "data/inertia_groups.json"),
    ("network", "data/0.05kgm2"),
    ("network", "data"),
    ("motion", "p.json"),
    ("motion", "logs/kp200.json"),
]


@pytest.fixture
def forbid(request):
    """Take the permissions of a file or folder away until the test ends."""

    def take(path: Path, mode: int = 0) -> None:
        former = path.stat().st_mode
        path.chmod(mode)
        request.addfinalizer(lambda: path.chmod(former))

    return take


def refused_without(words, folder, capfd, named, forbidden=None):
    """A refusal that speaks of the permission; ``forbidden`` is left out of the comparison."""
    with permissions_hold():
        said = refused(words, folder, capfd, named=(*named, "Permission denied"), hidden=forbidden)
    assert "empty" not in said and "Errno" not in said
    return said


@pytest.mark.parametrize(("kind", "name"), FILES, ids=[name for _, name in FILES])
def test_an_input_without_permission_is_named_as_such(kind, name, place, forbid, capfd):
    folder, work = place(kind)
    forbid(folder / name)
    refused_without(work.command(folder), folder, capfd, (Path(name).stem,), folder / name)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_that_cannot_be_written_is_named(kind, place, forbid, capfd):
    folder, work = place(kind)
    forbid(folder, 0o555)
    refused_without(work.command(folder), folder, capfd, (str(folder / work.run),))


INCLUDES = {
    "include": '<mujoco><include file="part.xml"/></mujoco>',
    "mesh": '<mujoco><asset><mesh file="part.xml" name="m"/></asset></mujoco>',
    "mesh in a folder": (
        '<mujoco><compiler meshdir="parts"/><asset><mesh file="part.xml" name="m"/></asset>'
        "</mujoco>"
    ),
}


@pytest.mark.parametrize("what", INCLUDES)
def test_a_part_of_a_model_without_permission_is_named(what, place, forbid, capfd):
    folder, _ = place("sysid")
    part = folder / ("parts/part.xml" if "folder" in what else "part.xml")
    part.parent.mkdir(exist_ok=True)
    part.write_text("<mujoco/>")
    (folder / "pendulum.xml").write_text(INCLUDES[what])
    forbid(part)
    refused_without(["check", f"{folder}/experiment.yaml"], folder, capfd, ("part.xml",), part)


@pytest.mark.parametrize("read", [read_spec, control_law.read_spec, Walker.load])
def test_every_reader_of_models_names_the_permission(read, place, forbid):
    folder, _ = place("sysid")
    forbid(folder / "pendulum.xml")
    with (
        permissions_hold(),
        pytest.raises(ModelError, match=r"pendulum\.xml cannot be read: Permission denied"),
    ):
        read(folder / "pendulum.xml")
