"""What Python began, the command continues, reports and compares, and the reverse: every kind."""

import importlib
import json
import os
import signal

import pytest
import yaml
from run_kinds import KINDS

from trueup import runs
from trueup.cli import main
from trueup.cli.study import resume as study_resume
from trueup.errors import RunDirectoryError
from trueup.runs import Progress, RunDirectory, RunInterrupted

CHANGING = ("directory", "files", "name", "output", "provenance", "seconds", "stats")
CHANGING += ("training_seconds",)
"""Keys of ``solution.json`` that hold times and paths."""


class Killed(BaseException):
    """Stands for a process that is gone: nothing is saved after it."""


def content(run):
    """What a finished run found, without times and paths."""
    solution = json.loads(RunDirectory.open(run).solution.read_text())
    return {key: value for key, value in solution.items() if key not in CHANGING}


@pytest.fixture(scope="module", params=KINDS, ids=[kind.kind for kind in KINDS])
def kind(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp(request.param.kind))


@pytest.fixture(scope="module")
def whole(kind, tmp_path_factory):
    """Directory of a run that nothing stopped, begun from Python."""
    run = tmp_path_factory.mktemp("whole") / "run"
    kind.python(run)
    return kind.target(run)


@pytest.fixture
def stopped(kind, monkeypatch):
    """Make the run stop in the generation or epoch that its kind names."""

    def at(action):
        shown = Progress.update
        seen = []

        def update(self, *words):
            seen.append(words)
            if len(seen) == kind.stop_at:
                action()
            return shown(self, *words)

        monkeypatch.setattr(Progress, "update", update)

    return at


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def kill():
    raise Killed


def test_a_run_interrupted_in_python_is_resumed_by_the_command(
    kind, whole, stopped, tmp_path, monkeypatch, capsys
):
    run = tmp_path / "run"
    stopped(interrupt)
    with pytest.raises(RunInterrupted, match="trueup study resume") as caught:
        kind.python(run)
    target = kind.target(run)
    assert caught.value.directory == target
    assert runs.state(target).state == "stopped"
    with pytest.raises(RunDirectoryError, match="--resume"):
        kind.python(run)  # it is not replaced
    monkeypatch.undo()
    assert main(["study", "resume", str(target), "--json"]) in kind.exit_codes
    printed = json.loads(capsys.readouterr().out)
    assert printed["verdict"] == content(target)["verdict"]
    assert content(target) == content(whole)
    assert runs.state(target).state not in ("stopped", "running")


def test_a_run_of_the_command_that_was_killed_is_resumed_in_python(
    kind, whole, stopped, tmp_path, monkeypatch, capsys
):
    run = tmp_path / "run"
    stopped(kill)
    with pytest.raises(Killed):
        main([*kind.command(run), "--json"])
    monkeypatch.undo()
    target = kind.target(run)
    assert runs.state(target).kind == kind.kind
    result = kind.python(run, resume=True)
    assert content(target) == content(whole)
    # its search is over: resuming does the rest once more, with the same result
    outcome = runs.resume(target, verbose=False)
    assert type(outcome.result) is type(result)
    assert content(target) == content(whole)
    assert outcome.verdict is not None


def test_the_command_does_what_python_does(kind, whole, tmp_path, capsys):
    run = tmp_path / "run"
    assert main([*kind.command(run), "--json"]) in kind.exit_codes
    printed = json.loads(capsys.readouterr().out)
    assert printed["directory"] == str(kind.target(run))
    assert content(kind.target(run)) == content(whole)
    provenance = [
        json.loads((d / "provenance.json").read_text()) for d in (whole, kind.target(run))
    ]
    assert provenance[0]["inputs"] == provenance[1]["inputs"]
    assert provenance[0]["seed"] == provenance[1]["seed"]


def test_the_report_is_made_again(whole, capsys):
    page = runs.report(whole).html()
    assert "Verdict" in page
    (whole / "report.html").unlink(missing_ok=True)
    assert main(["report", str(whole), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == str(whole / "report.html")
    assert "Verdict" in (whole / "report.html").read_text()


def test_finished_runs_are_compared(whole, capsys):
    found = runs.compare([whole, whole])
    cost = json.loads((whole / "solution.json").read_text())["cost"]
    assert found["cost"] == [cost, cost]
    assert found["verdict"][0]["grade"] in ("use", "look", "do not use")
    assert found["parameters"] or found["scores"][0]
    assert main(["compare", str(whole), str(whole), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cost"] == [cost, cost]


def test_a_run_is_listed_with_its_kind(kind, whole, capsys):
    state = runs.state(whole)
    assert state.kind == kind.kind
    assert state.evaluations > 0
    assert main(["study", "list", str(whole), "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["runs"]
    assert (listed["kind"], listed["state"]) == (state.kind, state.state)


def test_a_run_that_is_not_there_is_one_error(kind, tmp_path, capsys):
    run = tmp_path / "nowhere"
    with pytest.raises(RunDirectoryError, match="does not exist"):
        kind.python(run, resume=True)
    with pytest.raises(RunDirectoryError, match="does not exist"):
        runs.compare([run, run])
    for function in (runs.resume, runs.report, runs.state):
        with pytest.raises(RunDirectoryError, match="does not exist"):
            function(run)
    for words in (["study", "resume"], ["report"], ["study", "show"]):
        assert main([*words, str(run), "--json"]) == 2
        assert "does not exist" in json.loads(capsys.readouterr().out)["message"]
    assert list(tmp_path.iterdir()) == []


def test_a_run_of_another_kind_is_not_resumed(kind, tmp_path):
    other = KINDS[1 if kind.kind == "study" else 0](tmp_path)
    run = tmp_path / "run"
    target = kind.target(run)
    other.python(target)
    before = content(target)
    with pytest.raises(RunDirectoryError, match=r"is an identification|is a study"):
        kind.python(run, resume=True)
    assert content(target) == before


def test_the_command_prints_what_it_resumes_of_every_kind():
    assert set(study_resume.PRINTERS) == set(runs.KINDS)
    for place in study_resume.PRINTERS.values():
        module, name = place.split(":")
        assert callable(getattr(importlib.import_module(module), name))


def test_a_run_of_any_kind_is_refused_once_an_input_has_changed(kind, whole, tmp_path, capsys):
    record = json.loads((whole / "provenance.json").read_text())["inputs"]
    places = yaml.safe_load((whole / "experiment.yaml").read_text())["inputs"]
    assert len(record) == len(places)
    if not record:
        pytest.skip("it reads no files")
    path, page = (whole / places[0]).resolve(), tmp_path / "page.html"
    before = path.read_bytes()
    path.write_bytes(before + (b"<!-- -->" if path.suffix == ".xml" else b" "))
    try:
        assert main(["report", str(whole), "--output", str(page)]) == 2
        assert f"{record[0]['name']} has changed" in capsys.readouterr().err
        assert not page.exists()
        assert main(["report", str(whole), "--output", str(page), "--anyway"]) == 0
        assert f"made although {record[0]['name']} has changed" in page.read_text()
    finally:
        path.write_bytes(before)
    assert main(["report", str(whole), "--output", str(page)]) == 0
    assert "has changed since" not in page.read_text()
