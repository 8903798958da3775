"""A study of an Optuna storage, whoever made it, as the start of a search."""

import numpy as np
import optuna
import pytest

from trueup.errors import StorageError
from trueup.parameters import Space
from trueup.runs.optuna_storage import load_study


def _space(*names, log=False):
    size = len(names)
    return Space(
        names=names,
        lower=np.full(size, 0.1),
        upper=np.full(size, 4.0),
        start=np.ones(size),
        log=np.full(size, log),
    )


def _make(url, name, objective, *, trials=2, **options):
    sampler = optuna.samplers.RandomSampler(seed=1)
    study = optuna.create_study(storage=url, study_name=name, sampler=sampler, **options)
    study.optimize(objective, n_trials=trials)
    return study


def _objective(trial):
    mass = trial.suggest_float("mass", 0.0, 5.0)
    damping = trial.suggest_float("damping", 0.0, 5.0)
    if damping > 4.5:
        raise optuna.TrialPruned
    return (mass - 1.0) ** 2 + (damping - 4.2) ** 2


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/study.db"


def test_the_best_trials_of_another_sampler_come_first(url):
    made = _make(url, "arm", _objective, trials=20)
    found = load_study(url, "arm", _space("damping", "armature", "mass"))
    assert found.trials == 20
    assert found.costs[0, 0] == made.best_value
    assert (np.diff(found.costs[:, 0]) >= 0).all()
    complete = [trial for trial in made.get_trials() if trial.state.name == "COMPLETE"]
    assert len(found.X) == len(complete) < 20
    best = made.best_params
    np.testing.assert_array_equal(found.x, [min(best["damping"], 4.0), 1.0, best["mass"]])
    assert found.missing == ("armature",)
    assert found.extra == ()
    assert found.moved == ("damping", "mass")
    assert "'armature'" in " ".join(found.notes())
    assert load_study(url, None, _space("mass")).extra == ("damping",)


def test_a_study_without_trials_gives_no_start(url):
    optuna.create_study(storage=url, study_name="empty")
    found = load_study(url, "empty", _space("mass"))
    assert found.x is None
    assert found.X.shape == (0, 1)
    assert found.notes()


def test_what_does_not_fit_is_named(url):
    _make(url, "arm", _objective)
    _make(url, "leg", _objective, direction="maximize")
    _make(url, "pair", lambda t: (t.suggest_float("mass", 0, 1), 2.0), directions=["minimize"] * 2)
    _make(url, "steps", lambda t: t.suggest_int("mass", 0, 5))
    _make(url, "scales", lambda t: t.suggest_float("mass", 0.1, 5.0, log=True))
    for name, says in {
        "amr": "no study 'amr'; it has 'arm', 'leg'.*Did you mean 'arm'",
        None: "5 studies, 'arm', 'leg'.*: give the storage and the name of one",
        "leg": "maximises",
        "pair": "has 2 objectives, this problem has 1",
        "steps": "'mass' of the study 'steps' is not a continuous number",
    }.items():
        with pytest.raises(StorageError, match=says):
            load_study(url, name, _space("mass"))
    with pytest.raises(StorageError, match=r"none of the parameters 'masss'.*Did you mean 'mass'"):
        load_study(url, "arm", _space("masss"))


@pytest.mark.parametrize("theirs", [True, False])
def test_values_of_another_scale_are_taken(url, theirs):
    made = _make(url, "scales", lambda t: t.suggest_float("mass", 0.1, 4.0, log=theirs), trials=4)
    found = load_study(url, "scales", _space("mass", log=not theirs))
    assert found.x == pytest.approx([made.best_params["mass"]])
    assert found.moved == ()


def test_reading_makes_nothing(tmp_path, url):
    with pytest.raises(StorageError, match="does not exist"):
        load_study(url, "arm", _space("mass"))
    assert not list(tmp_path.iterdir())
    (tmp_path / "study.db").touch()
    with pytest.raises(StorageError, match="contains no study of Optuna"):
        load_study(url, "arm", _space("mass"))
    assert (tmp_path / "study.db").stat().st_size == 0
    (tmp_path / "study.db").write_text("this is no database, and never was one")
    with pytest.raises(StorageError, match="not a database"):
        load_study(url, "arm", _space("mass"))
