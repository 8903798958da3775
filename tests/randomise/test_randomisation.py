"""Export of an identified model as randomisation: rows, checks, refusals."""

import json
import shutil

import numpy as np
import pytest
from pendulum import BIAS, TRUE, inertia
from scipy.stats import kstest

from trueup.cli import main
from trueup.errors import FitError, RunDirectoryError, TrueupError
from trueup.knowledge import Draws, identified_run
from trueup.knowledge.held_out_check import check_on_held_out
from trueup.randomise import export_randomisation


@pytest.fixture(scope="module")
def exported(pendulum_run, tmp_path_factory):
    return export_randomisation(
        pendulum_run, tmp_path_factory.mktemp("dr") / "all", "mjlab", draws=400, seed=3
    )


def test_what_data_determine_is_narrow_and_what_they_do_not_fills_its_bounds(exported):
    draws = exported.draws
    column = dict(zip(draws.names, draws.values.T, strict=True))
    whole = inertia(column["armature"], column["mass"])
    assert whole.mean() == pytest.approx(inertia(TRUE["armature"], TRUE["mass"]), rel=0.01)
    assert whole.std() < 0.01 * whole.mean()
    # the bounds of the mass leave all of the armature's own: no value of the fit is preferred
    assert kstest(column["armature"], "uniform", (0.01, 0.14)).pvalue > 1e-3
    assert draws.correlation()[0, 2] < -0.99
    assert column["damping"].mean() == pytest.approx(TRUE["damping"], rel=0.02)
    assert column["bias"].mean() == pytest.approx(BIAS, abs=0.001)


def test_files_say_what_each_row_writes(exported):
    found = Draws.read(exported.directory / "posterior.npz")
    np.testing.assert_array_equal(found.values, exported.draws.values)
    assert found.targets[0] == "joint/hinge/armature"
    description = json.loads((exported.directory / "dr.json").read_text())
    arrays = np.load(exported.directory / "posterior.npz", allow_pickle=False)
    fields = {f["field"]: arrays[f["array"]] for f in description["fields"]}
    np.testing.assert_array_equal(fields["dof_armature"][:, 0], found.values[:, 0])
    np.testing.assert_array_equal(fields["body_mass"][:, 0], found.values[:, 2])
    (signal,) = description["signals"]
    assert (signal["quantity"], signal["joint"]) == ("bias", "hinge")
    np.testing.assert_array_equal(arrays[signal["array"]], found.values[:, 3])
    assert description["draws"] == 400 <= description["drawn"]
    (band,) = description["band"]
    assert all(0.75 < share <= 1.0 for share in band["inside"].values())
    assert description["correlation_factor"] > 1.5
    page = (exported.directory / "report.html").read_text()
    assert "correlation" in page.lower()
    assert (
        f"{description['drawn']} draws were simulated over the held-out recordings: "
        f"{description['excluded']} are excluded by them, {description['failed']} fail"
    ) in page


def test_the_same_seed_gives_the_same_rows(exported, pendulum_run, tmp_path):
    again = export_randomisation(pendulum_run, tmp_path / "again", draws=400, seed=3)
    np.testing.assert_array_equal(again.draws.values, exported.draws.values)
    other = export_randomisation(pendulum_run, tmp_path / "other", draws=400, seed=4)
    assert not np.array_equal(other.draws.values, exported.draws.values)


def test_a_draw_that_the_recording_excludes_is_left_out_and_counted(pendulum_run):
    run = identified_run(pendulum_run)
    problem = run.held_out_problem()
    wrong = run.fit.copy()
    wrong[1] *= 2.0  # damping

    def draw(count):
        return np.where(np.arange(count)[:, None] % 4 == 0, wrong, run.fit)

    steps = run.belief.determined_steps(500, np.random.default_rng(0))
    check = check_on_held_out(problem, run.fit, draw, 60, steps, training_error=1.0, inflation=1.0)
    assert len(check.accepted) == 60
    assert check.excluded == pytest.approx(check.drawn / 4, abs=4)
    assert (check.accepted[:, 1] == run.fit[1]).all()


def test_the_last_third_of_the_recording_rejects_nothing(pendulum_run):
    run = identified_run(pendulum_run)
    problem = run.held_out_problem()
    sequence = problem.sequences[0]
    sequence.measured[sequence.times > 2.2] += 1.0
    check = check_on_held_out(
        problem,
        run.fit,
        lambda count: np.tile(run.fit, (count, 1)),
        8,
        np.zeros((10, len(run.fit))),
        training_error=1.0,
        inflation=1.0,
    )
    assert (check.drawn, check.excluded) == (16, 0)
    assert check.bands[0].inside().max() < 0.4


def test_too_few_draws_that_fit_are_an_error(pendulum_run, tmp_path, monkeypatch):
    from trueup.knowledge.belief import Belief

    off = lambda self, count, rng: np.tile(self.upper, (count, 1))  # noqa: E731
    monkeypatch.setattr(Belief, "draw", off)
    with pytest.raises(FitError, match=r"0 of .* draws reproduce the held-out recording"):
        export_randomisation(pendulum_run, tmp_path / "none", draws=64)
    assert not (tmp_path / "none").exists()


@pytest.fixture
def copied(pendulum_run, tmp_path):
    """The run and its inputs, to be changed."""
    shutil.copytree(pendulum_run.parent, tmp_path / "pendulum")
    return tmp_path / "pendulum" / "run"


def _change(run, **changes):
    solution = json.loads((run / "solution.json").read_text())
    (run / "solution.json").write_text(json.dumps({**solution, **changes}))


def test_a_run_not_to_be_used_is_refused_unless_asked_for(copied, tmp_path):
    reason = {"grade": "do not use", "sentence": "A constant is better.", "section": ""}
    _change(
        copied,
        verdict={"grade": "do not use", "reasons": [reason], "comparisons": [], "criteria": []},
    )
    with pytest.raises(RunDirectoryError, match=r"A constant is better.*--anyway"):
        export_randomisation(copied, tmp_path / "out", draws=64)
    made = export_randomisation(copied, tmp_path / "out", draws=64, anyway=True)
    assert made.description["anyway"]
    assert "do not use" in (tmp_path / "out" / "report.html").read_text()
    assert 'verdict on the run run is "do not use"' in made.description["made_although"]


def test_draws_that_miss_what_is_held_out_are_refused_unless_asked_for(copied, tmp_path, capsys):
    solution = json.loads((copied / "solution.json").read_text())
    rows = solution["parameters"]
    damping = [row["name"] for row in rows].index("damping")
    rows[damping]["value"] *= 1.5
    solution["known"]["centre"][damping] *= 1.5
    _change(copied, **solution)
    words = ["export", "dr", str(copied), "draws=64", "--quiet", "-o", str(tmp_path / "out")]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "less than half of the held-out" in said and "angle of log1" in said
    assert not (tmp_path / "out").exists()
    assert main([*words, "--anyway"]) == 0
    description = json.loads((tmp_path / "out" / "dr.json").read_text())
    assert "made although less than half" in description["made_although"]
    assert "less than half" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["joints=0"], "between 1 and 1000"),
        (["joints=-1"], "between 1 and 1000"),
        (["draws=1000000000000"], "at most 1048576"),
        (["draws=1e12"], "1000000000000 draws exceed the environments"),
        (["draws=64.5"], "draws=64.5: input should be a valid integer"),
        (["draws=nan"], "draws=nan: input should be a valid integer"),
        (["draws=1e999"], "draws=inf: input should be a"),
        (["joints=2e3"], "between 1 and 1000"),
        (["--seed", "-1e0"], "--seed must be between 0 and 9223372036854775807, found -1\n"),
        (["draws=-1"], "too few"),
        (["--seed", "-1"], "--seed must be between 0 and 9223372036854775807, found -1\n"),
        (["--seed", str(2**63)], f"--seed must be between 0 and {2**63 - 1}, found {2**63}\n"),
    ],
)
@pytest.mark.parametrize("dry", [False, True])
def test_numbers_that_none_can_be_are_refused_at_once(words, said, dry, tmp_path, capsys):
    # before the run is looked at, which is none
    given = ["export", "dr", str(tmp_path), *words, *(["--dry-run"] if dry else [])]
    assert main(given) == 2
    told = capsys.readouterr().err
    assert said in told and told.startswith("trueup: ") and len(told.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_run_without_intervals_or_with_damage_is_refused(copied, tmp_path):
    for changes, words in (
        ({"known": None}, "the fit is not at an optimum"),
        ({"known": {"names": ["a"]}}, "damaged"),
        (
            {"known": {"names": ["a"], "centre": [0], "precision": [[1]], "inflation": 1}},
            "not those of its",
        ),
    ):
        _change(copied, **changes)
        with pytest.raises(RunDirectoryError, match=words):
            export_randomisation(copied, tmp_path / "out", draws=64)
    assert not (tmp_path / "out").exists()


def test_the_command_writes_plans_and_refuses(pendulum_run, tmp_path, capsys):
    target = tmp_path / "out"
    words = ["export", "dr", str(pendulum_run), "draws=64", "--output", str(target)]
    assert main([*words, "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["held_out"] == ["log1"]
    assert plan["draws"] == 64
    assert not target.exists()
    assert main([*words, "--quiet", "--form", "isaaclab"]) == 0  # a former name
    assert "posterior_event.py" in capsys.readouterr().out
    assert json.loads((target / "dr.json").read_text())["form"] == "isaac-lab"
    assert main([*words, "--quiet"]) == 2  # there is an export already
    assert "--overwrite" in capsys.readouterr().err
    assert main([*words, "--quiet", "--overwrite"]) == 0
    for wrong, said in (
        (["--form", "mujocolab"], "mjlab"),
        (["--form", "numpy"], "supports an identified servo and a network, not draws of a model"),
        (["draws=3"], "too few"),
    ):
        given = [*words[:3], "--output", str(tmp_path / "no"), *wrong, "--quiet"]
        assert main(given) == 2
        assert said in capsys.readouterr().err
    assert main(["export", "dr", str(tmp_path)]) == 2
    assert not (tmp_path / "no").exists()


def test_an_unknown_form_is_named(pendulum_run, tmp_path):
    with pytest.raises(TrueupError, match=r"unknown export form 'isaac'.*Did you mean 'isaac-lab'"):
        export_randomisation(pendulum_run, tmp_path / "no", "isaac", draws=64)


def test_the_group_of_one_command_lists_and_describes_it(capsys):
    for words in (["export"], ["export", "--help"]):
        assert main(words) == 0
        assert "See trueup export dr --help" in capsys.readouterr().out
    assert main(["export", "dr", "--help"]) == 0
    assert "checked by simulation" in capsys.readouterr().out
    assert main(["export", "cad"]) == 2
    assert "trueup export has no command 'cad'; the only one is 'dr'" in capsys.readouterr().err
