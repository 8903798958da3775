"""A study on Dask workers that fail in every way equals that of this process."""

import os
import shutil
import signal

import pytest
from toy_study import Evolution

from dask_faults import Needy, fleet, free_address, openssl
from trueup.errors import EvaluationError
from trueup.runs import Budget, RunDirectory, Store, run_search

pytest.importorskip("distributed")
from trueup.runs.evaluators import DaskCluster


def study(path, problem, generations=10, **options):
    directory = RunDirectory.open(path) if path.exists() else RunDirectory.create(path)
    limits = Budget(max_generations=generations)
    search = Evolution(problem.space)
    run_search(problem, search, directory, budget=limits, verbose=False, **options)


def history(path):
    with Store.open(path / "study.sqlite") as store:
        found = store.history()
    return found.X.tobytes(), found.costs.tobytes(), found.reasons


@pytest.mark.slow
def test_workers_that_are_killed_paused_or_full_change_nothing(tmp_path, monkeypatch):
    # each generation has a checkpoint, however slow the disk is
    monkeypatch.setattr("trueup.runs.store.checkpoint.SHARE_OF_TIME", float("inf"))
    study(tmp_path / "here", Needy(tmp_path, pause=0.0))
    address, there, problem = free_address(), tmp_path / "there", Needy(tmp_path)
    with fleet(address) as (scheduler, full, killed, paused, _):
        (tmp_path / "full").write_text(str(full))
        faults = {
            2: (killed, signal.SIGKILL),
            4: (paused, signal.SIGSTOP),
            7: (scheduler, signal.SIGKILL),
        }

        def fail(generation):
            if generation.number == 5:  # from now on its memory is at its end
                (tmp_path / "full").rename(tmp_path / "hungry")
            if generation.number in faults:
                os.kill(*faults[generation.number])

        with pytest.raises(EvaluationError, match=r"is lost.*Resume with"):
            study(there, problem, evaluator=DaskCluster(address), on_generation=fail)
    with fleet(free := free_address(), workers=1):
        study(there, problem, evaluator=DaskCluster(free), resume=True)
    assert history(there) == history(tmp_path / "here")


@pytest.mark.slow
def test_tls_lets_in_only_who_has_a_certificate(tmp_path, monkeypatch):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    from dask import config

    given = openssl(tmp_path)
    study(tmp_path / "here", Needy(tmp_path, pause=0.0), generations=3)
    address = free_address("tls")
    with fleet(address, workers=1, **given):
        names = {name: name.removeprefix("DASK_").lower().replace("__", ".") for name in given}
        with config.set({names[name].replace("_", "-"): value for name, value in given.items()}):
            study(tmp_path / "there", Needy(tmp_path), 3, evaluator=DaskCluster(address))
        assert history(tmp_path / "there") == history(tmp_path / "here")
        monkeypatch.setattr("trueup.runs.evaluators.dask_cluster._CONNECT", 2.0)
        refusals = {address: "cannot be reached.*no certificate is set"}
        refusals[address.replace("tls", "tcp")] = "cannot be reached"
        for without, words in refusals.items():
            with pytest.raises(EvaluationError, match=words):
                DaskCluster(without).check()
