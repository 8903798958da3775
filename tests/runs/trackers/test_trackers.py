"""Trackers: what they are told, what they write, and that none of them ever stops a run."""

import io
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from toy_study import Evolution, Sphere

from trueup.errors import StorageError, TrueupWarning
from trueup.runs import Budget, EventLog, RunDirectory, Store, run_search
from trueup.runs.trackers import ScalarTracker, TrackedRun, Trackers, study_scalars, wandb_tracker
from trueup.runs.trackers.tensorboard_tracker import FOLDER, TensorBoardTracker

_TOY = Path(__file__).parents[1].joinpath("toy_study.py")


class Recorder:
    """A tracker that keeps what it is told, and fails where it is asked to."""

    name = "the recorder"

    def __init__(self, fails_at=None, error=None):
        self.told, self.fails_at = [], fails_at
        self.error = error or ConnectionError("the line is dead")

    def _take(self, what, content):
        self.told.append((what, content))
        if what == self.fails_at:
            raise self.error

    def start(self, study):
        self.earlier = len(study.history().X)
        self._take("start", study)

    def generation(self, generation):
        self._take("generation", generation)

    def end(self, solution):
        self._take("end", solution)


def _run(path, trackers, *, generations=10, **options):
    directory = RunDirectory.open(path) if path.exists() else RunDirectory.create(path)
    problem = Sphere()
    budget = Budget(max_generations=generations)
    options = {"budget": budget, "verbose": False, "trackers": trackers, **options}
    return run_search(problem, Evolution(problem.space), directory, **options)


@pytest.fixture
def every_generation(monkeypatch):
    """Trackers send every generation, however long that takes."""
    monkeypatch.setattr(study_scalars, "SHARE_OF_TIME", 1e9)


def test_a_tracker_is_told_of_start_every_generation_and_end(tmp_path):
    recorder = Recorder()
    solution = _run(tmp_path / "run", [recorder])
    assert [what for what, _ in recorder.told] == ["start", *["generation"] * 10, "end"]
    study = recorder.told[0][1]
    assert (study.names, study.objectives, study.generations) == (("a", "b", "c"), ("cost",), 0)
    assert [g.number for _, g in recorder.told[1:-1]] == list(range(10))
    assert recorder.told[-1][1] is solution
    again = Recorder()
    _run(tmp_path / "run", [again], generations=12, resume=True)
    assert again.told[0][1].generations == 10
    assert again.earlier == 60


def test_a_registered_tracker_is_an_option_of_every_search_and_follows_a_study(tmp_path):
    # a new tracker is its class and its entry in the registry, nothing else
    code = """
import json, sys
from pathlib import Path
from trueup.runs.trackers import TRACKERS, ScalarTracker, TrackerKind

class Recorder(ScalarTracker):
    name = "the recorder"
    def begin(self, run):
        self.told = [[run.name, run.step_name, run.first_step]]
    def log(self, step, values):
        self.told.append([step, values["cost"]])
    def finish(self, summary):
        Path("told.json").write_text(json.dumps([*self.told, summary["status"]]))

TRACKERS["recorder"] = TrackerKind("Record it.", "__main__", "Recorder")
from trueup.cli import main
sys.exit(main(sys.argv[1:]))
"""

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )

    for command in (["study", "run"], ["study", "resume"], ["actuator", "fit"]):
        assert "--recorder" in run(*command, "--help").stdout
    end = ("--generations", "3", "--quiet")
    done = run("study", "run", "sphere", "--method", "random", "--recorder", *end)
    assert done.returncode == 0, done.stderr
    begun, *steps, status = json.loads((tmp_path / "told.json").read_text())
    assert begun == ["sphere", "generation", 0]
    assert (steps[0][0], steps[-1][0]) == (0, 2)
    assert status == "iteration limit"


def test_a_training_records_scalars_settings_and_files_through_the_same_trackers(tmp_path):
    calls = []

    class Curve(ScalarTracker):
        name = "the curve"

        def begin(self, run):
            calls.append((run.name, run.group, run.step_name))

        def log(self, step, values):
            calls.append((step, values))

        def add_file(self, path):
            raise OSError("the line is dead")

        def finish(self, summary):
            raise AssertionError("it is told nothing more after its failure")

    trackers = Trackers([Curve()], EventLog(tmp_path / "log.jsonl"))
    run = TrackedRun(tmp_path, "knee-fold_1", {"hidden": 8}, group="knee", step_name="epoch")
    trackers.tell("begin", run)
    trackers.tell("log", 0, {"train_loss": 0.5})
    with pytest.warns(TrueupWarning, match="the curve failed and is removed.*the line is dead"):
        trackers.tell("add_file", tmp_path / "network.pt")
    trackers.tell("finish", {"rmse": 0.1})
    assert calls == [("knee-fold_1", "knee", "epoch"), (0, {"train_loss": 0.5})]


@pytest.mark.parametrize("where", ["start", "generation", "end"])
def test_a_tracker_that_fails_stops_nothing_and_nobody(tmp_path, where):
    failing, other = Recorder(where), Recorder()
    with pytest.warns(TrueupWarning, match="the recorder failed and is removed.*the line is dead"):
        _run(tmp_path / "run", [failing, other])
    assert failing.told[-1][0] == where, "it is told nothing more after its failure"
    assert len(other.told) == 12
    with Store.open(tmp_path / "run" / "study.sqlite") as store:
        assert store.evaluations == 60
    (event,) = [e for e in EventLog(tmp_path / "run" / "log.jsonl").read() if "tracker" in e]
    assert event["message"] == "the line is dead"


def test_a_tracker_that_cannot_do_what_it_was_asked_to_stops_the_run_before_it_begins(tmp_path):
    with pytest.raises(StorageError, match="cannot be reached"):
        _run(tmp_path / "run", [Recorder("start", StorageError("cannot be reached"))])
    with Store.open(tmp_path / "run" / "study.sqlite") as store:
        assert store.evaluations == 0


def test_scalars_are_finite_and_leave_out_invalid_candidates(tmp_path):
    recorder = Recorder()
    _run(tmp_path / "run", [recorder], generations=3)
    study, generation = recorder.told[0][1], recorder.told[1][1]
    assert generation.failures, "the toy study has invalid candidates in its first generation"
    numbers = study_scalars.scalars(study, generation)
    valid = [i for i in range(6) if i not in generation.failures]
    assert numbers["invalid"] == 6 - len(valid)
    assert numbers["best/cost"] == generation.costs[valid].min() == numbers["cost"]
    assert numbers["search/step"] == pytest.approx(0.99)
    assert numbers["parameters/b"] == generation.x[1]
    assert np.isfinite(list(numbers.values())).all()


def test_sending_takes_its_share_of_the_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(study_scalars.time, "monotonic", lambda: now[0])
    pace, sent = study_scalars.Pace(), 0
    for generation in range(10_000):
        now[0] += 0.01
        if pace.is_due(generation):
            now[0] += 0.05
            sent += 1
            pace.sent()
    assert 0.01 < sent * 0.05 / (now[0] - 100.0) < 0.025
    assert pace.waiting is not None, "the last one is kept for the end"


def _events(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    accumulator.Reload()
    return accumulator


def test_tensorboard_reads_back_what_was_written(tmp_path, every_generation):
    pytest.importorskip("tensorboard")
    heavy = {"torch", "tensorflow"}
    before = heavy & set(sys.modules)  # of other tests in this process
    recorder = Recorder()
    _run(tmp_path / "run", [TensorBoardTracker(), recorder])
    events = _events(tmp_path / "run" / FOLDER)
    costs = [(e.step, e.value) for e in events.Scalars("cost")]
    expected = [(g.number, g.cost) for _, g in recorder.told[1:-1]]
    np.testing.assert_allclose(costs, expected, rtol=1e-6)
    assert {"parameters/a", "search/step", "median/cost"} <= set(events.Tags()["scalars"])
    assert heavy & set(sys.modules) == before


def test_tensorboard_drops_what_was_written_beyond_the_last_checkpoint(tmp_path, every_generation):
    pytest.importorskip("tensorboard")
    _run(tmp_path / "run", [TensorBoardTracker()], generations=20)
    kept = (tmp_path / "run" / "study.sqlite").read_bytes()
    _run(tmp_path / "run", [TensorBoardTracker()], generations=30, resume=True)
    (tmp_path / "run" / "study.sqlite").write_bytes(kept)  # as after a kill at generation 30
    _run(tmp_path / "run", [TensorBoardTracker()], generations=25, resume=True)
    files = sorted((tmp_path / "run" / FOLDER).iterdir(), key=lambda f: int(f.name.split(".")[-1]))
    assert len(files) == 3
    for number, file in enumerate(files):  # read in the order of time, not of names
        file.rename(file.with_name(f"events.out.tfevents.{number:010d}"))
    steps = [e.step for e in _events(tmp_path / "run" / FOLDER).Scalars("cost")]
    assert steps == list(range(25))


_WANDB = """
import sys
from toy_study import Evolution, Sphere
from trueup.runs import Budget, RunDirectory, run_search
from trueup.runs.trackers import WandbTracker
from trueup.runs.trackers import study_scalars

study_scalars.SHARE_OF_TIME = 1e9
path, generations = sys.argv[1], int(sys.argv[2])
problem = Sphere()
resume = generations > 5
directory = RunDirectory.open(path) if resume else RunDirectory.create(path)
run_search(problem, Evolution(problem.space), directory, resume=resume, verbose=False,
    budget=Budget(max_generations=generations), trackers=[WandbTracker("gait", "first")])
"""


def _wandb_study(folder, generations):
    """A study in a process of its own, as W&B starts a service that belongs to its process."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith("WANDB_")}
    environment = {
        **variables,
        "WANDB_MODE": "offline",
        "WANDB_CACHE_DIR": str(folder / "cache"),
        "WANDB_CONFIG_DIR": str(folder / "config"),
        "PYTHONPATH": os.pathsep.join([str(_TOY.parent), os.environ.get("PYTHONPATH", "")]),
    }
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", _WANDB, folder / "run", str(generations)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )


def _records(path):
    """Records of an offline file of W&B: blocks of 32 KiB, each piece with a header of 7 bytes.

    The format is LevelDB's log, with a file header of 7 bytes.
    """
    from wandb.proto import wandb_internal_pb2

    content, position, pieces = path.read_bytes(), 7, b""
    while position + 7 <= len(content):
        left = 32768 - position % 32768
        if left < 7:
            position += left
            continue
        _, size, kind = struct.unpack("<IHB", content[position : position + 7])
        pieces += content[position + 7 : position + 7 + size]
        position += 7 + size
        if kind in (1, 4):  # whole, or last piece
            record = wandb_internal_pb2.Record()
            record.ParseFromString(pieces)
            yield record
            pieces = b""


@pytest.mark.slow
def test_wandb_offline_keeps_everything_in_the_run_directory(tmp_path):
    pytest.importorskip("wandb")
    psutil = pytest.importorskip("psutil")
    done = _wandb_study(tmp_path, 5)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    identity = json.loads((tmp_path / "run" / wandb_tracker.IDENTITY_FILE).read_text())
    (file,) = (tmp_path / "run" / "wandb").glob(f"offline-run-*/run-{identity['id']}.wandb")
    records = list(_records(file))
    (begun,) = [r.run for r in records if r.WhichOneof("record_type") == "run"]
    assert (begun.project, begun.display_name) == ("gait", "first")
    rows = [
        {
            item.key or "/".join(item.nested_key): json.loads(item.value_json)
            for item in r.history.item
        }
        for r in records
        if r.WhichOneof("record_type") == "history"
    ]
    assert [row["generation"] for row in rows] == [0, 1, 2, 3, 4]
    with Store.open(tmp_path / "run" / "study.sqlite") as store:
        assert rows[-1]["cost"] == store.best()[2]
    assert "parameters/a" in rows[0]
    serving = [
        p.info["pid"]
        for p in psutil.process_iter(["pid", "cmdline"])
        if str(tmp_path) in " ".join(p.info["cmdline"] or [])
    ]
    assert not serving, "its service is still there"
    again = _wandb_study(tmp_path, 8)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    files = list((tmp_path / "run" / "wandb").glob("offline-run-*/run-*.wandb"))
    assert {f.name for f in files} == {f"run-{identity['id']}.wandb"}


def test_wandb_without_an_account_is_left_out_and_asks_nothing(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    seen = []

    def refuse(**options):
        seen.append(sys.stdin.isatty())
        raise wandb.errors.UsageError("No API key configured.")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(wandb, "init", refuse)
    stdin = Terminal()
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.warns(TrueupWarning, match="Weights & Biases failed.*No API key"):
        _run(tmp_path / "run", [wandb_tracker.WandbTracker()])
    assert seen == [False]
    assert sys.stdin is stdin
