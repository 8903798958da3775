"""Problem files of one name, run one after the other from one Python process."""

import sys

import pytest
from work import PROBLEM

from trueup import runs
from trueup.cli import main
from trueup.errors import ExperimentError
from trueup.runs.studies.named_problem import named_problem


@pytest.fixture(autouse=True)
def path_as_before(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


def optimum_at(value: float) -> str:
    return PROBLEM.replace("X**2", f"(X - {value}) ** 2")


def lowest(file) -> float:
    problem = named_problem(f"{file}:problem").problem
    return min((-0.5, 0.5), key=lambda at: float(problem.costs([[at, at]])[0, 0]))


def test_files_of_one_name_in_two_folders_are_each_run(tmp_path):
    files = []
    for name, at in (("left", -0.5), ("right", 0.5)):
        (tmp_path / name).mkdir()
        files.append(tmp_path / name / "bowl.py")
        files[-1].write_text(optimum_at(at))
    assert [lowest(file) for file in (*files, *files)] == [-0.5, 0.5, -0.5, 0.5]


def test_a_file_that_has_changed_is_read_again(tmp_path):
    file = tmp_path / "changing_bowl.py"
    file.write_text(optimum_at(-0.5))
    assert lowest(file) == -0.5
    file.write_text(optimum_at(0.5) + "\n# another size\n")
    assert lowest(file) == 0.5


def test_a_file_that_fails_stands_in_no_ones_way(tmp_path):
    for name in ("bad", "good"):
        (tmp_path / name).mkdir()
    (tmp_path / "bad" / "tub.py").write_text("import no_such_package\n")
    (tmp_path / "good" / "tub.py").write_text(optimum_at(0.5))
    with pytest.raises(ExperimentError, match="no_such_package"):
        named_problem(f"{tmp_path}/bad/tub.py:problem")
    assert lowest(tmp_path / "good" / "tub.py") == 0.5


def test_a_file_with_the_name_of_a_package_is_refused(tmp_path, capsys):
    (tmp_path / "numpy.py").write_text(PROBLEM)
    before = sorted(tmp_path.iterdir())
    run = str(tmp_path / "run")
    assert main(["study", "run", f"{tmp_path}/numpy.py:problem", "-o", run]) == 2
    assert "numpy.py has the name of an existing module, 'numpy'" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_workers_find_the_file_of_the_problem_that_is_run(tmp_path):
    for name, at in (("left", -0.5), ("right", 0.5)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bowl_of_workers.py").write_text(optimum_at(at))
    for name, at in (("left", -0.5), ("right", 0.5)):
        words = ["study", "run", f"{tmp_path}/{name}/bowl_of_workers.py:problem", "workers=2"]
        words += ["--method", "sobol", "--generations", "1", "-o", f"{tmp_path}/{name}/run"]
        assert main(words) in (0, 3)
        found = runs.Store.open(tmp_path / name / "run" / "study.sqlite")
        with found as store:
            history = store.history()
        expected = ((history.X - at) ** 2).sum(axis=1)
        assert history.costs[:, 0] == pytest.approx(expected)
