"""Ctrl-C and kill: what was computed is kept, and a resumed run ends as if nothing had happened."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import driven_pendulum as pendulum
import pytest
from tests.waiting import until

from trueup.cli import main

# Each evaluation of the fit takes a while, so that there is time to interrupt it.
SLOW = """
import sys, time
from trueup.cli import main
from trueup.sysid.fit import problem

plain = problem.GrayBoxProblem.residual_blocks

def slow(self, X, failures):
    time.sleep(0.15)
    print("evaluated", file=sys.stderr, flush=True)
    return plain(self, X, failures)

problem.GrayBoxProblem.residual_blocks = slow
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict:
    files = pendulum.write(tmp_path_factory.mktemp("uninterrupted"))
    assert main(["identify", str(files.experiment), "--quiet"]) == 0
    return json.loads((files.run / "solution.json").read_text())


def started(files: pendulum.Files, *options: str) -> subprocess.Popen[str]:
    """A slow identification that has evaluated a few batches of its fit."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, "identify", str(files.experiment), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    until((files.run / "study.sqlite").exists, process)
    for _ in range(3):
        while "evaluated" not in process.stderr.readline():
            assert process.poll() is None
    return process


def same_result(run: Path, expected: dict) -> None:
    found = json.loads((run / "solution.json").read_text())
    assert found["history"] == expected["history"]
    assert found["parameters"] == expected["parameters"]
    assert found["status"] == expected["status"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_resuming_gives_the_same_result(
    files: pendulum.Files, uninterrupted: dict, number: int, code: int
):
    process = started(files)
    process.send_signal(number)
    out, err = process.communicate()
    assert process.returncode == code
    assert out == ""
    assert "trueup study resume" in err.splitlines()[-1]
    assert str(files.run) in err.splitlines()[-1]
    assert "Traceback" not in err
    if number == signal.SIGINT:  # the iteration in progress was finished
        assert (files.run / "parameters.json").is_file()
    assert not (files.run / "solution.json").exists()
    assert main(["identify", str(files.experiment), "--quiet", "--resume"]) == 0
    same_result(files.run, uninterrupted)


def test_ctrl_c_with_json_is_one_object(files: pendulum.Files):
    process = started(files, "--json")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode == 130
    said = json.loads(out)
    assert said["error"] == "Interrupted"
    assert "trueup study resume" in said["message"]


def test_a_killed_run_resumes_to_the_same_result(files: pendulum.Files, uninterrupted: dict):
    process = started(files)
    process.kill()
    process.communicate()
    assert not (files.run / "solution.json").exists()
    assert main(["identify", str(files.experiment), "--quiet", "--resume"]) == 0
    same_result(files.run, uninterrupted)


def test_two_processes_do_not_share_a_run(files: pendulum.Files, capsys):
    process = started(files)
    assert main(["identify", str(files.experiment), "--quiet", "--resume"]) == 2
    assert "in progress" in capsys.readouterr().err
    process.kill()
    process.communicate()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_the_assessment_keeps_the_fit(
    files: pendulum.Files,
    uninterrupted: dict,
    monkeypatch: pytest.MonkeyPatch,
    capsys,
    number: int,
    code: int,
):
    def stop(*arguments: object, **options: object) -> None:
        signal.raise_signal(number)

    monkeypatch.setattr("trueup.sysid.assess.judge.assess", stop)
    assert main(["identify", str(files.experiment), "--quiet"]) == code
    assert "trueup study resume" in capsys.readouterr().err
    monkeypatch.undo()
    assert main(["identify", str(files.experiment), "--quiet", "--resume"]) == 0
    same_result(files.run, uninterrupted)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_before_the_fit_writes_nothing(
    files: pendulum.Files, monkeypatch: pytest.MonkeyPatch, capsys, number: int, code: int
):
    def stop(*arguments: object, **options: object) -> None:
        signal.raise_signal(number)

    monkeypatch.setattr("trueup.sysid.fit.run.prepare", stop)
    assert main(["identify", str(files.experiment)]) == code
    assert "nothing new was saved" in capsys.readouterr().err
    assert not (files.folder / "runs").exists()
