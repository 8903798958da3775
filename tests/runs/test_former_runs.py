"""A stopped run of each kind, written by an earlier trueup, resumes or is refused by its version.

``former_runs.tar.xz`` holds a folder for each kind: the inputs, ``run`` (or ``run.run``), which
Ctrl-C stopped in its second generation or epoch, and for an identification and a servo fit the same
run finished, ``finished``. They are what the sources of commit ce6064b wrote, without the reports.
They were made with the kinds of ``run_kinds.py`` of that commit, made smaller (8 to 24 steps of a
training on motion, 3 iterations of a walk of 0.1 s, a library of 6 for the bench), each as::

    shown, calls = Progress.update, []

    def update(self, *words):
        calls.append(words)
        if len(calls) == kind.stop_at:
            os.kill(os.getpid(), signal.SIGINT)
        return shown(self, *words)

    Progress.update = update
    kind.python(folder / "run")
"""

import json
import re
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

from trueup import runs
from trueup.errors import RunDirectoryError
from trueup.runs import KINDS

ARCHIVE = Path(__file__).with_name("former_runs.tar.xz")
FORMER = (
    *("study", "identification", "servo", "comparison", "network", "motion", "model motion"),
    *("gait", "explanation", "design", "bench design"),
)
"""Kinds of runs that there were."""
FINISHED = ("identification", "servo")


@dataclass(frozen=True)
class Refused:
    """Stands for the result of a call that refused the version of a run."""

    sentence: str


def attempt(call, *arguments, **choices):
    """Result of a call, or its refusal of a version in one sentence; other errors are raised.

    A file that is called damaged is no refusal: the earlier trueup wrote it whole.
    """
    try:
        return call(*arguments, **choices)
    except RunDirectoryError as error:
        sentence = str(error)
        said = re.sub(r"\S*/\S*", "", sentence)  # without paths
        versions = re.search(r"\b(version|format)s?\b", said) and re.search(r"\d", said)
        if not versions or "damaged" in said:
            raise
        assert "\n" not in sentence
        return Refused(sentence)


def run_of(folder, name="run"):
    """The run directory of that name; a servo fit adds a suffix to it."""
    return next(path for path in (folder / f"{name}.run", folder / name) if path.is_dir())


def files(folder):
    """Content of every file below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def former(tmp_path_factory):
    """The extracted folders, which tests copy."""
    folder = tmp_path_factory.mktemp("former")
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            path = PurePosixPath(member.name)
            assert member.isfile() or member.isdir(), f"{path} is a link or a device"
            assert not path.is_absolute() and ".." not in path.parts, f"{path} leads elsewhere"
            if member.isdir():
                continue
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            content = archive.extractfile(member)
            assert content is not None
            target.write_bytes(content.read())
    return folder


@pytest.fixture
def folder(former, tmp_path):
    """Copy of the folder of a kind."""

    def copied(kind):
        source = former / kind.replace(" ", "_")
        return Path(shutil.copytree(source, tmp_path / source.name))

    return copied


def test_a_run_of_each_kind_is_kept(former):
    assert {path.name for path in former.iterdir()} == {kind.replace(" ", "_") for kind in FORMER}
    assert set(FORMER) <= set(KINDS)


@pytest.mark.parametrize("kind", FORMER)
def test_a_stopped_run_of_a_former_trueup_resumes_or_its_version_is_refused(folder, kind):
    run = run_of(folder(kind))
    before = files(run.parent)
    state = attempt(runs.state, run)
    if not isinstance(state, Refused):
        assert (state.kind, state.state) == (kind, "stopped")
    outcome = attempt(runs.resume, run, verbose=False)
    if isinstance(outcome, Refused):
        assert files(run.parent) == before  # nothing is written into what is refused
        return
    verdict = json.loads((run / "solution.json").read_text())["verdict"]
    assert verdict["grade"] == outcome.verdict.grade.value
    assert verdict["reasons"]
    assert runs.state(run).state not in ("stopped", "running", "unknown")
    assert "<table" in runs.report(run).html()


@pytest.mark.parametrize("kind", FINISHED)
def test_a_finished_run_of_a_former_trueup_is_read_or_its_version_is_refused(folder, kind):
    run = run_of(folder(kind), "finished")
    before = files(run)
    page = attempt(runs.report, run)
    compared = attempt(runs.compare, [run, run])
    assert files(run) == before
    assert isinstance(page, Refused) or "<table" in page.html()
    if isinstance(compared, Refused):
        return
    solution = json.loads((run / "solution.json").read_text())
    assert compared["verdict"][0]["grade"] == solution["verdict"]["grade"]
    assert compared["parameters"]


@pytest.mark.parametrize("kind", FINISHED)
def test_a_resumed_run_finds_what_the_former_trueup_found(folder, kind):
    copied = folder(kind)
    run, finished = run_of(copied), run_of(copied, "finished")
    if isinstance(attempt(runs.resume, run, verbose=False), Refused):
        pytest.skip("the version is refused")
    compared = runs.compare([run, finished])
    assert compared["status"][0] == compared["status"][1]
    for parameter in compared["parameters"]:
        now, then = (found["value"] for found in parameter["runs"])
        assert now == pytest.approx(then, rel=1e-4), parameter["name"]
