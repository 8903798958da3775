"""Plans of runs: what they contain, and that they leave no files."""

import pytest

from trueup import runs
from trueup.errors import RunDirectoryError, TrueupError
from trueup.runs import Budget, StudySettings, StudySpec
from trueup.runs.studies.run import plan_study


def _spec(**settings):
    return StudySpec.of("sphere", StudySettings("cmaes", **settings), Budget(), dimension=3)


def test_a_plan_names_the_directory_and_what_the_run_would_do(tmp_path):
    plan = runs.plan(plan_study, _spec(population=12), tmp_path / "run")
    assert plan["directory"] == str(tmp_path / "run")
    assert (plan["method"], len(plan["parameters"])) == ("cmaes", 3)
    assert plan["population"] == 12 + 1  # and the start values
    assert plan["seconds_per_generation"] >= 0
    assert not list(tmp_path.iterdir())


def test_a_plan_refuses_what_the_run_would_refuse(tmp_path):
    with pytest.raises(TrueupError, match="seed"):
        runs.plan(plan_study, _spec(seed=-1), tmp_path / "run")
    runs.RunDirectory.create(tmp_path / "run")
    (tmp_path / "run" / "provenance.json").write_text("{}")
    with pytest.raises(RunDirectoryError, match="overwrite"):
        runs.plan(plan_study, _spec(), tmp_path / "run")
    plan = runs.plan(plan_study, _spec(), tmp_path / "run", overwrite=True)
    assert plan["directory"] == str(tmp_path / "run")
