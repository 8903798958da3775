"""A run directory is made whole, opened only if it is one, and held by one process."""

import json
import os
import subprocess
import sys

import pytest

from trueup.errors import RunDirectoryError
from trueup.runs import RunDirectory, atomic

_HOLDER = """
import sys
from trueup.runs import RunDirectory
with RunDirectory.open(sys.argv[1]).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


def _names(folder):
    return sorted(path.name for path in folder.iterdir())


def _hold(path):
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    return process


def _end(process, kill=False):
    if kill:
        process.kill()
    process.communicate()


def test_create_and_open(tmp_path):
    made = RunDirectory.create(tmp_path / "runs" / "first")
    assert RunDirectory.open(made.path).study == tmp_path / "runs" / "first" / "study.sqlite"
    assert _names(made.path) == ["run.json"]
    assert made.model("left.arm") == made.path / "left.arm.xml"


def test_an_empty_folder_becomes_a_run(tmp_path):
    (tmp_path / ".run.json.999999999.ab.trueup-partial").touch()  # of a killed create
    RunDirectory.create(tmp_path)
    assert _names(tmp_path) == ["run.json"]


def test_a_run_is_not_overwritten_unless_asked(tmp_path):
    run = RunDirectory.create(tmp_path / "run")
    run.solution.write_text("{}")
    with pytest.raises(RunDirectoryError, match=r"already contains a run.*--resume.*--output"):
        RunDirectory.create(run.path)
    assert run.solution.exists()
    RunDirectory.create(run.path, overwrite=True)
    assert _names(run.path) == ["run.json"]
    assert _names(tmp_path) == ["run"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_other_files_are_never_removed(tmp_path, overwrite):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RunDirectoryError, match=r"not empty and is not a run.*--output"):
        RunDirectory.create(tmp_path, overwrite=overwrite)
    assert _names(tmp_path) == ["thesis.tex"]
    with pytest.raises(RunDirectoryError, match="is a file"):
        RunDirectory.create(tmp_path / "thesis.tex", overwrite=overwrite)


def test_overwriting_that_fails_keeps_the_old_run(tmp_path, monkeypatch):
    run = RunDirectory.create(tmp_path / "run")
    run.solution.write_text("{}")

    def full(*arguments, **options):
        raise RunDirectoryError("no space left")

    monkeypatch.setattr(atomic, "write_json", full)
    with pytest.raises(RunDirectoryError, match="no space left"):
        RunDirectory.create(run.path, overwrite=True)
    monkeypatch.undo()
    assert RunDirectory.open(run.path).solution.exists()
    assert _names(tmp_path) == ["run"]


def test_overwriting_that_was_killed_is_put_right(tmp_path):
    old = RunDirectory.create(tmp_path / "run")
    old.solution.write_text("{}")
    # Killed before the new run was there: the old one comes back, and is not overwritten unasked.
    old.path.rename(tmp_path / ".run.replaced-0123")
    old.path.mkdir()
    with pytest.raises(RunDirectoryError, match="already contains a run"):
        RunDirectory.create(old.path)
    assert old.solution.exists()
    # Killed after it: what was left of the old one goes.
    (tmp_path / ".run.replaced-4567").mkdir()
    RunDirectory.create(old.path, overwrite=True)
    assert _names(tmp_path) == ["run"]


def test_not_replaced_from_within(tmp_path, monkeypatch):
    RunDirectory.create(tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    with pytest.raises(RunDirectoryError, match="run the command in another folder"):
        RunDirectory.create(".", overwrite=True)


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        (None, "has no run.json"),
        ("{", "not a JSON file"),
        ("[]", "of another program"),
        ('{"format": "other"}', "of another program"),
        ('{"format": "trueup run"}', "no valid format version"),
        ('{"format": "trueup run", "format_version": 2}', "format is 2.*up to 1.*newer trueup"),
    ],
)
def test_open_refuses_what_is_no_run_of_this_version(tmp_path, marker, message):
    if marker is not None:
        (tmp_path / "run.json").write_text(marker)
    with pytest.raises(RunDirectoryError, match=message):
        RunDirectory.open(tmp_path)


def test_open_of_nothing(tmp_path):
    with pytest.raises(RunDirectoryError, match="does not exist"):
        RunDirectory.open(tmp_path / "run")
    (tmp_path / "run").touch()
    with pytest.raises(RunDirectoryError, match="is a file"):
        RunDirectory.open(tmp_path / "run")


@pytest.mark.parametrize(
    "name", ["../a", "a/../../b", "a/..", "/etc/passwd", "", ".", "a\0b", "..", "//a", "a/../b"]
)
def test_names_stay_inside(tmp_path, name):
    run = RunDirectory.create(tmp_path / "run")
    with pytest.raises(RunDirectoryError, match="not a name within"):
        run.inside(name)


def test_links_stay_inside(tmp_path):
    run = RunDirectory.create(tmp_path / "run")
    (run.path / "models").mkdir()
    (run.path / "near").symlink_to("models")
    (run.path / "far").symlink_to(tmp_path)
    (run.path / "sibling").symlink_to(tmp_path / "run-2")  # a prefix of the text, not of the path
    (run.path / "loop").symlink_to("loop")
    assert run.inside("near/a.xml") == run.path / "near" / "a.xml"
    for name in ("far/a.xml", "far", "sibling/a"):
        with pytest.raises(RunDirectoryError, match="leads out"):
            run.inside(name)
    with pytest.raises(RunDirectoryError, match="cannot be resolved"):
        run.inside("loop/a")
    with pytest.raises(RunDirectoryError, match="not a name within"):
        run.model("../escape")


def test_a_living_process_holds_its_run(tmp_path):
    run = RunDirectory.create(tmp_path / "run")
    process = _hold(run.path)
    try:
        in_use = rf"run is in progress.*process {process.pid}.*--output"
        with pytest.raises(RunDirectoryError, match=in_use), run.lock():
            pass
        with pytest.raises(RunDirectoryError, match=in_use):
            RunDirectory.create(run.path, overwrite=True)
        assert run.path.exists()
    finally:
        _end(process)
    with run.lock():
        pass
    assert _names(run.path) == ["run.json"]


def test_a_killed_process_holds_nothing(tmp_path):
    run = RunDirectory.create(tmp_path / "run")
    _end(_hold(run.path), kill=True)
    assert (run.path / "run.lock").exists()
    with run.lock():
        pass


def test_a_process_number_that_lives_again_holds_nothing(tmp_path):
    run = RunDirectory.create(tmp_path / "run")
    (run.path / "run.lock").write_text(f"{os.getppid()}\n")
    with run.lock():
        pass


def test_lock_within_one_process(tmp_path):
    run = RunDirectory.create(tmp_path / "run")
    (tmp_path / "link").symlink_to("run")
    with run.lock():
        with run.lock():  # the same holder again
            pass
        for path in (run.path, tmp_path / "link"):
            other = RunDirectory.open(path)
            with pytest.raises(RunDirectoryError, match="in progress"), other.lock():
                pass
        process = subprocess.run(
            [sys.executable, "-c", _HOLDER, str(run.path)], capture_output=True, text=True
        )
        assert f"process {os.getpid()}" in process.stderr
    with RunDirectory.open(run.path).lock():
        pass


def test_marker_tells_what_wrote_it(tmp_path):
    run = RunDirectory.create(tmp_path / "run")
    marker = json.loads((run.path / "run.json").read_text())
    assert marker["format_version"] == 1
