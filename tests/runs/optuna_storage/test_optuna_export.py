"""A run exported as a study of Optuna: every evaluation once, read by Optuna's interface."""

import contextlib
import json
import os
import subprocess
import sys
import time

import numpy as np
import optuna
import pytest
import yaml
from toy_postgresql import Server, find_programs
from toy_study import Evolution, Sphere

from trueup.cli import main
from trueup.errors import StorageError
from trueup.fitting.problem import VectorisedCosts
from trueup.parameters import Space
from trueup.runs import Budget, Execution, RunDirectory, Store, StudySettings, run_search, study
from trueup.runs.optuna_storage import export_study, load_study
from trueup.runs.store import database


def _run(path, generations=5, problem=None, search=None, **options):
    directory = RunDirectory.open(path) if path.exists() else RunDirectory.create(path)
    problem = problem or Sphere()
    budget = Budget(max_generations=generations)
    search = search or Evolution(problem.space)
    run_search(problem, search, directory, budget=budget, verbose=False, **options)
    return directory


def _read(url, name):
    if url.endswith(".log"):
        backend = optuna.storages.journal.JournalFileBackend(url)
        return optuna.load_study(study_name=name, storage=optuna.storages.JournalStorage(backend))
    return optuna.load_study(study_name=name, storage=url)


def _assert_is_history(trials, path):
    """The trials are the history: all, once, in order, with the same numbers."""
    with Store.open(path / "study.sqlite") as store:
        history = store.history()
    assert len(trials) == len(history.X)
    for i, trial in enumerate(trials):
        trial._validate()  # Optuna finds it sound
        assert trial.params == dict(zip(history.names, history.X[i], strict=True))
        assert trial.user_attrs["generation"] == history.generation[i]
        assert trial.user_attrs["candidate"] == history.candidate[i]
        if i in history.reasons:
            assert trial.state.name == "FAIL"
            assert trial.user_attrs["reason"] == history.reasons[i]
        else:
            assert trial.state.name == "COMPLETE"
            assert trial.values == history.costs[i].tolist()


@pytest.mark.parametrize("file", ["sqlite:///{}/study.db", "{}/study.sqlite3", "{}/study.log"])
def test_optuna_reads_the_study(tmp_path, capfd, file):
    target = file.format(tmp_path)
    exported = export_study(_run(tmp_path / "arm"), target, space=Sphere().space)
    assert capfd.readouterr() == ("", "")
    assert (exported.name, exported.trials, exported.added) == ("arm", 30, 30)
    url = target if ":" in target or target.endswith(".log") else f"sqlite:///{target}"
    found = _read(url, "arm")
    _assert_is_history(found.trials, tmp_path / "arm")
    assert [trial.number for trial in found.trials] == list(range(30))
    assert {trial.state.name for trial in found.trials} == {"COMPLETE", "FAIL"}
    assert [direction.name for direction in found.directions] == ["MINIMIZE"]
    box = optuna.distributions.FloatDistribution(-5.0, 5.0)
    assert all(trial.distributions == dict.fromkeys("abc", box) for trial in found.trials)
    with Store.open(tmp_path / "arm" / "study.sqlite") as store:
        _, best = store.best()[:2]
    assert list(found.best_params.values()) == list(best)
    starts = [trial.datetime_start for trial in found.trials]
    assert starts == sorted(starts)
    assert all(trial.datetime_complete >= trial.datetime_start for trial in found.trials)
    # Optuna continues it with its own sampler
    found.sampler = optuna.samplers.TPESampler(seed=0)
    found.optimize(lambda t: sum(t.suggest_float(n, -5, 5) ** 2 for n in "abc"), n_trials=2)
    assert len(found.trials) == 32


def test_a_second_export_adds_what_is_missing(tmp_path, monkeypatch):
    file = str(tmp_path / "study.db")
    directory = _run(tmp_path / "arm")
    monkeypatch.setattr("trueup.runs.optuna_storage._export_study._BATCH", 7)
    added = optuna.Study.add_trials
    calls = []

    def interrupted(self, trials):
        calls.append(len(trials))
        if len(calls) == 3:
            raise KeyboardInterrupt
        added(self, trials)

    monkeypatch.setattr(optuna.Study, "add_trials", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export_study(directory, file)
    monkeypatch.setattr(optuna.Study, "add_trials", added)
    assert len(_read(f"sqlite:///{file}", "arm").trials) == 14
    assert export_study(directory, file).added == 16
    assert export_study(directory, file).added == 0
    _run(tmp_path / "arm", 8, resume=True)
    assert export_study(directory, file).added == 18
    _assert_is_history(_read(f"sqlite:///{file}", "arm").trials, tmp_path / "arm")


def test_a_killed_export_is_completed(tmp_path):
    file = tmp_path / "study.db"
    _run(tmp_path / "arm", 20)
    words = [sys.executable, "-m", "trueup", "study", "export", str(tmp_path / "arm")]
    process = subprocess.Popen([*words, "--optuna", str(file)], env=dict(os.environ))
    trials = 0
    while process.poll() is None and trials == 0:
        time.sleep(0.02)
        with contextlib.suppress(StorageError):  # not made yet
            trials = load_study(str(file), "arm", Sphere().space).trials
    process.kill()
    process.wait()
    export_study(RunDirectory.open(tmp_path / "arm"), str(file))
    _assert_is_history(_read(f"sqlite:///{file}", "arm").trials, tmp_path / "arm")


def test_several_objectives_special_values_and_open_ranges(tmp_path):
    space = Space(
        names=("gain", "stiffness", "delay"),
        lower=np.array([-np.inf, 1e-3, 0.0]),
        upper=np.array([np.inf, np.inf, 1.0]),
        start=np.array([2.0, 1.0, 0.5]),
        log=np.array([False, True, False]),
    )

    def costs(X):
        effort = np.where(X[:, 0] == 0.0, np.inf, X[:, 0] ** 2)
        return np.stack([effort, np.where(X[:, 2] > 0.9, np.nan, X[:, 1])], axis=1)

    class Steps(Evolution):
        def ask(self):
            far = [[1e7, 1.0, 0.1], [-0.0, 1e9, 0.2], [2.0, 1.0, 0.95]]
            return np.concatenate([far, self.random.uniform(0.1, 0.9, (3, 3))])

    problem = VectorisedCosts(costs, space, objectives=("effort", "error"))
    directory = _run(tmp_path / "run", 2, problem, Steps(space))
    directory.experiment.write_text(yaml.safe_dump({"objectives": ["effort", "error"]}))
    export_study(directory, str(tmp_path / "study.db"), space=space)
    found = _read(f"sqlite:///{tmp_path}/study.db", "run")
    _assert_is_history(found.trials, tmp_path / "run")
    assert [direction.name for direction in found.directions] == ["MINIMIZE"] * 2
    assert found.metric_names == ["effort", "error"]
    assert found.user_attrs["parameters without bounds"] == "gain, stiffness"
    assert found.best_trials
    assert found.trials[2].state.name == "FAIL"
    number = optuna.distributions.FloatDistribution
    assert found.trials[3].distributions == {
        "gain": number(-2000.0, 2000.0),
        "stiffness": number(1e-3, 1000.0, log=True),
        "delay": number(0.0, 1.0),
    }
    assert found.trials[0].distributions["gain"].high == 1e7


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://ann:s3cret@127.0.0.1:9/lab", "cannot be used.*Check its address"),
        ("sqlite:////nowhere/at/all/study.db", "unable to open database file"),
        ("/nowhere/at/all/study.log", "No such file"),
        ("sqlite://", "memory of one process"),
        ("study", "'study' is not the URL of a storage, such as sqlite:///study.db.*'.log'"),
        ("oracel://ann:s3cret@host/lab", "there is no database 'oracel'"),
        ("postgresql://ann:s3cret@host:port/lab", "is not the URL"),
        ("postgresql://ann@127.0.0.1:9/lab?password=s3cret", r"password=\*\*\*"),
    ],
)
def test_an_unusable_storage_is_one_error(tmp_path, url, says):
    directory = _run(tmp_path / "run", 1)
    with pytest.raises(StorageError, match=says) as caught:
        export_study(directory, url)
    assert "s3cret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["study.db", "study.log"])
def test_a_file_of_something_else_stays_as_it_is(tmp_path, name):
    directory = _run(tmp_path / "run", 1)
    file = tmp_path / name
    for content in (
        b"a diary, and not a storage\n" * 50,
        b"\x89PNG\r\n\x1a\n" + bytes(600),
        b"[1, 2, 3]\n" * 60,
        b"null\n" * 120,
        b'{"op_code": 99}\n' * 40,
    ):
        file.write_bytes(content)
        with pytest.raises(StorageError, match=r"not a database|not a journal of Optuna"):
            export_study(directory, str(file))
        assert file.read_bytes() == content


def test_a_study_that_was_thinned_since_is_still_of_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "LARGEST", 4000)
    directory, file = _run(tmp_path / "arm", 8), str(tmp_path / "study.db")
    export_study(directory, file)
    _run(tmp_path / "arm", 100, resume=True)
    with Store.open(directory.study) as store:
        history = store.history()
    former = (history.generation < 8).sum()
    assert former < 48 and history.removed.evaluations
    exported = export_study(directory, file)
    assert (exported.trials, exported.added) == (48 + len(history.X) - former, exported.trials - 48)
    assert export_study(directory, file).added == 0
    other = _run(tmp_path / "two" / "arm", 100, search=Evolution(Sphere().space, seed=4))
    with pytest.raises(StorageError, match="of another run"):
        export_study(other, file)


def test_a_study_of_another_run_is_left_alone_unless_loaded(tmp_path):
    file = str(tmp_path / "study.db")
    first = _run(tmp_path / "one" / "arm")
    other = _run(tmp_path / "two" / "arm", search=Evolution(Sphere().space, seed=4))
    export_study(first, file)
    with pytest.raises(StorageError, match="already has a study 'arm', of another run"):
        export_study(other, file)
    with pytest.raises(StorageError, match=r"no study 'arn'; it has 'arm'.*Did you mean 'arm'"):
        export_study(other, file, load="arn")
    assert export_study(other, file, load="arm").trials == 60
    assert export_study(other, file, load="arm").added == 0
    trials = _read(f"sqlite:///{file}", "arm").trials
    _assert_is_history(trials[:30], tmp_path / "one" / "arm")
    _assert_is_history(trials[30:], tmp_path / "two" / "arm")


def test_the_command_writes_and_refuses(tmp_path, capsys):
    run, file = str(_run(tmp_path / "arm", 2).path), str(tmp_path / "study.db")
    assert main(["study", "export", run, "--optuna", file]) == 0
    assert f"12 trials added to the study 'arm' in sqlite:///{file}" in capsys.readouterr().out
    assert main(["study", "export", run, "--optuna", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["added"] == 0
    for words, says in (
        ([], "give one of them"),
        (["-o", "a.csv", "--optuna", file], "give one of them"),
        (["--optuna", file, "--overwrite"], "--overwrite replaces a table"),
        (["--optuna", "study"], "is not the URL of a storage"),
    ):
        assert main(["study", "export", run, *words]) == 2
        assert says in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("command", ["run sphere", "resume runs/a"])
@pytest.mark.parametrize("option", ["--storage", "--load-study"])
def test_other_commands_have_no_storage(command, option, capsys):
    assert main(["study", *command.split(), option, "sqlite:///a.db"]) == 2
    assert option in capsys.readouterr().err


def test_a_run_with_a_storage_writes_its_study_at_the_end_also_when_resumed(tmp_path):
    url, run = f"sqlite:///{tmp_path}/study.db", tmp_path / "run"
    search = {"settings": StudySettings(method="cmaes", seed=1), "verbose": False}
    storage = Execution(storage=url)
    study("sphere", run, limits=Budget(max_evaluations=12), execution=storage, **search)
    first = len(_read(url, "run").trials)
    study("sphere", run, limits=Budget(max_evaluations=36), resume=True, **search)
    with Store.open(run / "study.sqlite") as store:
        assert first < len(_read(url, "run").trials) == store.evaluations


def test_a_storage_that_went_away_loses_no_result(tmp_path):
    folder = tmp_path / "away"
    folder.mkdir()
    storage, run = Execution(storage=f"sqlite:///{folder}/study.db"), tmp_path / "run"

    class Tracker:
        name = "one that loses the storage"

        def start(self, study):
            (folder / "study.db").unlink()
            folder.rmdir()

        def generation(self, generation): ...

        def end(self, solution): ...

    with pytest.warns(match=r"unable to open.*trueup study export .*run --optuna"):
        study(
            "sphere",
            run,
            limits=Budget(max_evaluations=12),
            execution=storage,
            settings=StudySettings(method="cmaes"),
            trackers=[Tracker()],
            verbose=False,
        )
    assert (run / "solution.json").is_file()


def test_a_server_holds_the_study(tmp_path):
    if find_programs() is None:
        pytest.skip("PostgreSQL is not installed: on Debian,  apt-get install postgresql")
    directory = _run(tmp_path / "run")
    with contextlib.closing(Server()) as server:
        server.start()
        assert export_study(directory, server.url).added == 30
        assert export_study(directory, server.url).added == 0
        assert load_study(server.url, "run", Sphere().space).trials == 30
