"""A study appears in an Optuna storage: every candidate once, also after a kill or an outage."""

import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import optuna
import pytest
from toy_study import Evolution, Sphere

from trueup.errors import StorageError, TrueupWarning
from trueup.fitting.problem import VectorisedCosts
from trueup.parameters import Space
from trueup.studies import Budget, RunDirectory, Store, run
from trueup.studies.optuna_storage import OptunaMirror, mirror

_SCRIPT = Path(__file__).with_name("toy_study.py")


def _run(path, tracker, *, generations=30, problem=None, search=None, **options):
    directory = RunDirectory.open(path) if path.exists() else RunDirectory.create(path)
    problem = problem or Sphere()
    search = search or Evolution(problem.space)
    budget = Budget(max_generations=generations)
    options = {"verbose": False, "trackers": [tracker], "budget": budget, **options}
    return run(problem, search, directory, **options)


def _trials(url, name):
    return optuna.load_study(study_name=name, storage=url).get_trials()


def _assert_mirrors(trials, path):
    """The trials are the history: all, once, in order, with the same numbers."""
    with Store.open(path / "study.sqlite") as store:
        history = store.history()
    assert len(trials) == len(history.X)
    for i, trial in enumerate(trials):
        trial._validate()  # Optuna finds it sound
        assert trial.number == i
        assert trial.params == dict(zip(history.names, history.X[i], strict=True))
        assert trial.user_attrs["generation"] == history.generation[i]
        assert trial.user_attrs["candidate"] == history.candidate[i]
        if i in history.reasons:
            assert trial.state.name == "FAIL"
            assert trial.user_attrs["reason"] == history.reasons[i]
        else:
            assert trial.state.name == "COMPLETE"
            assert trial.values == history.costs[i].tolist()


def test_optuna_reads_the_study(tmp_path, capfd):
    url = f"sqlite:///{tmp_path}/study.db"
    solution = _run(tmp_path / "run", OptunaMirror(url, "sphere"))
    assert capfd.readouterr() == ("", "")
    trials = _trials(url, "sphere")
    _assert_mirrors(trials, tmp_path / "run")
    assert {trial.state.name for trial in trials} == {"COMPLETE", "FAIL"}
    study = optuna.load_study(study_name="sphere", storage=url)
    assert study.best_value == solution.cost
    assert study.best_params == solution.parameters
    starts = [trial.datetime_start for trial in trials]
    assert starts == sorted(starts)
    assert all(trial.datetime_complete >= trial.datetime_start for trial in trials)


def test_another_sampler_of_optuna_continues_the_study(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    _run(tmp_path / "run", OptunaMirror(url, "sphere"))
    sampler = optuna.samplers.TPESampler(seed=0)
    study = optuna.load_study(study_name="sphere", storage=url, sampler=sampler)
    former = len(study.get_trials())
    assert set(optuna.search_space.intersection_search_space(study.get_trials())) == set("abc")

    study.optimize(lambda t: sum(t.suggest_float(n, -5, 5) ** 2 for n in "abc"), n_trials=3)
    assert [trial.number for trial in study.get_trials()] == list(range(former + 3))
