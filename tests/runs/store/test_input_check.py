"""A finished run is read with the inputs that it was made from, or refused with their names."""

import json
import shutil

import driven_pendulum
import numpy as np
import pytest
import yaml

from trueup import runs, sysid
from trueup.cli import main
from trueup.errors import RunDirectoryError
from trueup.knowledge import identified_run
from trueup.randomise import export_randomisation
from trueup.reconcile import reconcile
from trueup.reconcile.joint_fit import joint_experiment

BODY = "<worldbody>", "</worldbody>"
CUBE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder of a finished identification whose model includes a file and a mesh."""
    folder = tmp_path_factory.mktemp("made") / "robot"
    folder.mkdir()
    files = driven_pendulum.write(
        folder, {**driven_pendulum.EXPERIMENT, "held_out": {"fraction": 0.3}}
    )
    text = files.model.read_text()
    begin, end = text.index(BODY[0]), text.index(BODY[1]) + len(BODY[1])
    mesh = '<geom type="mesh" mesh="cube" pos="3 0 0" contype="0" conaffinity="0"/>'
    body = text[begin:end].replace(BODY[0], BODY[0] + mesh)
    (folder / "body.xml").write_text(f"<mujocoinclude>{body}</mujocoinclude>")
    (folder / "cube.obj").write_text(CUBE)
    asset = '<asset><mesh name="cube" file="cube.obj"/></asset><include file="body.xml"/>'
    files.model.write_text(text[:begin] + asset + text[end:])
    sysid.identify(sysid.load_experiment(files.experiment), folder, verbose=False)
    return folder


@pytest.fixture
def robot(made, tmp_path):
    """A copy of it, to be changed."""
    return shutil.copytree(made, tmp_path / "robot")


def changed(path):
    """Change what a file holds so that it can still be read."""
    text = path.read_text()
    wanted = {"body.xml": ('mass="1"', 'mass="7"'), "cube.obj": ("v 1 0 0", "v 2 0 0")}
    old, new = wanted.get(
        path.name, ("0.005", "0.004") if path.suffix == ".xml" else ("\n3", "\n3")
    )
    if path.suffix == ".csv":
        lines = text.splitlines()
        t, angle, *rest = lines[50].split(",")
        lines[50] = ",".join([t, str(float(angle) + 1e-6), *rest])
        path.write_text("\n".join(lines) + "\n")
        return
    assert old in text
    path.write_text(text.replace(old, new))


def commands(robot):
    """Every command that reads the finished identification, but for what it writes."""
    run, out = str(robot / "runs/pendulum"), robot.parent
    return {
        "export dr": ["export", "dr", run, "draws=32", "--quiet", "--output", f"{out}/dr"],
        "report": ["report", run, "--output", f"{out}/page.html"],
        "compare": ["compare", run, run],
        "reconcile": ["reconcile", run, run, run, "--output", f"{out}/common"],
        "design": ["design", run, "--output", f"{out}/design"],
        "design after": [
            *(
                "design",
                str(robot / "experiment.yaml"),
                "--after",
                run,
                "--output",
                f"{out}/design",
            ),
        ],
        "study show": ["study", "show", run],
        "study export": ["study", "export", run, "--output", f"{out}/table.csv"],
        "explain": ["explain", str(out / "explained.yaml"), "--output", f"{out}/explained"],
    }


def explained(robot):
    """An experiment with the model that the run has identified."""
    content = yaml.safe_load((robot / "experiment.yaml").read_text())
    content["model"]["file"] = "robot/runs/pendulum/model.xml"
    content["recordings"][0]["file"] = "robot/run.csv"
    (robot.parent / "explained.yaml").write_text(yaml.safe_dump(content))


@pytest.mark.parametrize("name", ["pendulum.xml", "body.xml", "cube.obj", "run.csv"])
def test_every_command_refuses_a_run_whose_input_has_changed(robot, name, capsys):
    explained(robot)
    changed(robot / name)
    before = sorted(robot.parent.rglob("*"))
    for command, words in commands(robot).items():
        assert main(words) == 2, command
        said = capsys.readouterr().err
        assert f"{name} has changed" in said and "--anyway" in said, (command, said)
        assert said.count("\n") == 1
    assert sorted(robot.parent.rglob("*")) == before


def test_anyway_goes_on_and_marks_what_is_made(robot, capsys):
    changed(robot / "run.csv")
    words, out = commands(robot), robot.parent
    mark = "made although run.csv has changed since the run pendulum was made"
    for command in ("report", "compare", "study show", "study export"):
        assert main([*words[command], "--anyway", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["made_although"] == mark, command
    assert mark in (out / "page.html").read_text()
    assert (out / "table.csv").read_text().startswith(f"# {mark}\n")
    assert main([*words["export dr"], "--form", "mjlab", "--anyway", "--json"]) == 0
    assert mark in json.loads(capsys.readouterr().out)["made_although"]
    for file in ("dr.json", "report.html", "posterior_event.py"):
        assert mark in (out / "dr" / file).read_text(), file
    with np.load(out / "dr/posterior.npz") as arrays:
        assert mark in str(arrays["made_although"])
    # the mark of one command is not that of the next
    assert main([*words["report"][:3], str(out / "x.html")]) == 2
    assert main([*words["report"], "--anyway"]) == 0
    assert "Made although run.csv" in capsys.readouterr().out


def test_python_refuses_and_marks_too(robot):
    changed(robot / "pendulum.xml")
    run = robot / "runs/pendulum"
    for read in (
        lambda: runs.report(run),
        lambda: runs.compare([run, run]),
        lambda: identified_run(run),
        lambda: export_randomisation(run, robot / "dr", draws=32),
        lambda: reconcile([run, run, run]),
        lambda: joint_experiment([run]),
    ):
        with pytest.raises(RunDirectoryError, match=r"pendulum\.xml has changed"):
            read()
    assert "pendulum.xml" in identified_run(run, anyway=True).mark
    assert "pendulum.xml" in runs.report(run, anyway=True).html()
    assert runs.check_inputs(run, anyway=True).changed == ("pendulum.xml",)


@pytest.mark.parametrize("older", [False, True], ids=["now", "older"])
def test_line_ends_are_no_change_to_any_reader(robot, older, capsys):
    run = robot / "runs/pendulum"
    if older:
        without_contents(run)
    for name in ("pendulum.xml", "body.xml", "run.csv"):
        path = robot / name
        path.write_bytes(path.read_bytes().rstrip(b"\n").replace(b"\n", b"\r\n"))
    assert main(["report", str(run)]) == 0
    assert identified_run(run).mark is None
    runs.resume(run, verbose=False)
    changed(robot / "run.csv")
    assert main(["report", str(run)]) == 2
    assert "run.csv has changed" in capsys.readouterr().err


def without_contents(run):
    """Make a run one of an older version: byte hashes alone, of the files that it knew."""
    record = json.loads((run / "provenance.json").read_text())
    record["format_version"] = 1
    known = [e for e in record["inputs"] if e["name"] != "body.xml"]
    record["inputs"] = [{k: e[k] for k in ("name", "sha256", "size")} for e in known]
    (run / "provenance.json").write_text(json.dumps(record))
    content = yaml.safe_load((run / "experiment.yaml").read_text())
    content.pop("inputs")
    (run / "experiment.yaml").write_text(yaml.safe_dump(content, sort_keys=False))


@pytest.mark.parametrize("where", ["data", "renamed", "sibling"])
def test_files_that_moved_are_found_by_what_they_hold(robot, where):
    run = robot / "runs/pendulum"
    fit = identified_run(run).fit
    if where == "data":
        (robot / "data").mkdir()
        (robot / "run.csv").rename(robot / "data/run.csv")
    elif where == "renamed":
        (robot / "run.csv").rename(robot / "friday.csv")
        (robot / "run.csv").write_text("t,angle\n0,1\n")  # another one in its place
        (robot / "run.csv").unlink()
    else:
        (robot.parent / "results").mkdir()
        run = run.rename(robot.parent / "results/pendulum")
    assert runs.check_inputs(run).missing == ()
    found = identified_run(run)
    np.testing.assert_array_equal(found.fit, fit)
    assert found.held_out_problem() is not None
    assert found.mark is None


def test_a_folder_with_another_model_is_refused(robot, tmp_path, capsys):
    other = shutil.copytree(robot, tmp_path / "other")
    changed(other / "body.xml")
    words = commands(robot)["export dr"]
    assert main([*words, "--folder", str(other)]) == 2
    assert "body.xml has changed" in capsys.readouterr().err
    changed_back = shutil.copytree(robot, tmp_path / "third")
    assert main([*words, "--folder", str(changed_back)]) == 0


def test_inputs_that_are_nowhere_are_named(robot, tmp_path, capsys):
    far = tmp_path / "a/b/c/d"
    far.mkdir(parents=True)
    run = (robot / "runs/pendulum").rename(far / "pendulum")
    shutil.rmtree(robot)
    assert main(["report", str(run)]) == 0
    assert "not found, so not compared" in (run / "report.html").read_text()
    assert runs.check_inputs(run).missing == ("pendulum.xml", "cube.obj", "body.xml", "run.csv")
    assert main(["export", "dr", str(run)]) == 2
    assert "--folder" in capsys.readouterr().err


def test_a_run_resumes_with_other_line_ends_and_keeps_its_provenance(robot):
    run = robot / "runs/pendulum"
    before = json.loads((run / "provenance.json").read_text())["inputs"]
    path = robot / "run.csv"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    runs.resume(run, verbose=False)
    assert json.loads((run / "provenance.json").read_text())["inputs"] == before
    changed(path)
    with pytest.raises(RunDirectoryError, match=r"'run\.csv' has changed"):
        runs.resume(run, verbose=False)
