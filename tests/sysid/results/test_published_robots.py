"""Published robots: an entry of the repository is refitted, and a refit is published."""

import hashlib
import re
import runpy
import shutil
from pathlib import Path

import mujoco
import pytest
import yaml

from trueup import runs, sysid
from trueup.cli import main
from trueup.errors import ParameterError, RunDirectoryError
from trueup.sysid.demo import TRUE

ROOT = Path(__file__).resolve().parents[3]
ENTRY = runs.read_entry(ROOT / "catalogue" / "simulated-arm")

MESH = """
v 0 0 0
v 0.05 0 0
v 0 0.05 0
v 0 0 0.05
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""


@pytest.fixture(scope="module")
def refitted(tmp_path_factory) -> Path:
    """A run of the published experiment, with a mesh in a folder next to it and a linked log."""
    home = tmp_path_factory.mktemp("refitted") / "project"
    shutil.copytree(ENTRY.file("experiment").parent, home / "arm")
    log = home / "arm" / "run_2.csv"
    log.rename(home.parent / "elsewhere.csv")
    log.symlink_to(home.parent / "elsewhere.csv")
    (home / "meshes").mkdir()
    (home / "meshes" / "cover.obj").write_text(MESH)
    model = home / "arm" / "arm.xml"
    asset = '<asset><mesh name="cover" file="cover.obj"/></asset>\n<worldbody>'
    text = model.read_text().replace("<worldbody>", asset)
    text = text.replace("<compiler ", '<compiler meshdir="../meshes" ')
    plane = '<geom type="mesh" mesh="cover" contype="0" conaffinity="0"/>\n    <body name="upper"'
    model.write_text(text.replace('<body name="upper"', plane))
    experiment = sysid.load_experiment(home / "arm" / "experiment.yaml")
    sysid.identify(experiment, home / "arm", output=home / "runs" / "arm", verbose=False)
    return home / "runs" / "arm"


def test_the_entry_of_the_repository_holds_the_truth_and_is_whole():
    assert ENTRY.kind == "identification" and ENTRY.grade == "use"
    assert set(runpy.run_path(str(ROOT / "catalogue" / "make.py"))["ROBOTS"]) == {ENTRY.name}
    intervals = {name: row["interval"] for name, row in ENTRY.content["values"].items()}
    held = [low <= TRUE[name] <= high for name, (low, high) in intervals.items()]
    assert len(held) == len(TRUE) and sum(held) >= len(held) - 1  # of intervals at 95 %
    files = {**ENTRY.logs, **ENTRY.content["model_files"]}
    for name, digest in files.items():
        assert hashlib.sha256((ENTRY.folder / name).read_bytes()).hexdigest() == digest
    page = (ENTRY.folder / "report.html").read_text()
    assert len(page) < 300_000 and "<script" not in page and "<svg" in page


def test_a_refit_gives_the_published_values(refitted):
    found = {
        row["name"]: row["value"]
        for row in runs.read_solution(runs.RunDirectory.open(refitted))["parameters"]
    }
    for name, row in ENTRY.content["values"].items():
        low, high = row["interval"]
        assert found[name] == pytest.approx(row["value"], abs=0.05 * (high - low)), name


def test_what_is_published_is_read_back_elsewhere(refitted, tmp_path):
    target = tmp_path / "first" / "mine"
    entry = runs.publish(refitted, target, licence="CC0-1.0", by="A. Name")
    assert entry == runs.read_entry(target) and entry.content["by"] == "A. Name"
    private = str(refitted.parents[2])
    texts = [path.read_text() for path in target.rglob("*") if path.is_file()]
    assert not any(private in re.sub("<wbr>", "", text) for text in texts)
    moved = target.rename(tmp_path / "moved")
    entry = runs.read_entry(moved)
    assert set(entry.logs) == {"inputs/arm/run_1.csv", "inputs/arm/run_2.csv"}
    assert not any(path.is_symlink() for path in entry.log_files) and len(entry.log_files) == 2
    experiment = entry.file("experiment")
    again = sysid.load_experiment(experiment)
    assert again == sysid.load_experiment(ENTRY.file("experiment"))
    assert (experiment.parent / again.model.file).is_file()
    # the identified model finds its mesh in the entry
    (name,) = entry.content["models"]
    assert 'meshdir="inputs/meshes"' in (moved / name).read_text()
    model = mujoco.MjModel.from_xml_path(str(moved / name))
    armature = entry.content["values"]["shoulder_armature"]["value"]
    assert model.joint("shoulder").armature[0] == pytest.approx(armature, rel=1e-12)
    # the hashes alone
    hashes = runs.publish(refitted, tmp_path / "hashes", licence="CC0-1.0", with_logs=False)
    assert hashes.logs == entry.logs and hashes.log_files == []
    assert not list((tmp_path / "hashes").rglob("*.csv"))


def test_a_run_that_others_cannot_use_is_not_published(refitted, tmp_path, capsys):
    copy = tmp_path / "copy"
    shutil.copytree(refitted.parents[1], copy)
    file = copy / "runs" / "arm" / "experiment.yaml"
    content = yaml.safe_load(file.read_text())
    content["recordings"][0]["file"] = str(copy / "arm" / content["recordings"][0]["file"])
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    words = ["publish", str(file.parent), "--licence", "MIT", "--output", str(tmp_path / "entry")]
    assert main(words) == 2
    assert "absolute path" in capsys.readouterr().err
    log = copy / "arm" / "run_1.csv"
    log.write_text(log.read_text().replace("0.1", "0.2", 1))
    assert main(words) == 2
    assert "run_1.csv has changed since" in capsys.readouterr().err
    log.unlink()
    assert main(words) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy"]


def test_a_kind_without_an_entry_is_refused(tmp_path):
    directory = tmp_path / "study"
    limits = runs.Budget(max_evaluations=64)
    runs.study("sphere", directory, limits=limits, dimension=2, verbose=False)
    with pytest.raises(RunDirectoryError, match="publish an identification or a servo fit"):
        runs.publish(directory, tmp_path / "entry", licence="MIT")
    assert not (tmp_path / "entry").exists()


def test_a_servo_cannot_be_loaded_from_the_entry_of_a_robot():
    from trueup.actuators import load_model

    with pytest.raises(ParameterError, match="no servo"):
        load_model(ENTRY.folder)
