"""Fits of servo models: known truth, resume, held-out logs, every search, what is said."""

import dataclasses
import json

import numpy as np
import pytest
import servo_model_logs as made
from hypothesis import given
from hypothesis import strategies as st

from trueup.actuators import (
    FitSettings,
    ServoModel,
    evaluate,
    fit,
    load_model,
    servo_fit_report,
)
from trueup.actuators.assess.experiment_advice import Coverage, experiments
from trueup.actuators.assess.fit_verdict import verdict_of
from trueup.actuators.assess.jackknife import JackknifeSpread
from trueup.actuators.search.fit_settings import parse_values
from trueup.actuators.search.live_parameters import LiveParameters
from trueup.actuators.search.nested_models import SubModelProblem, nested_sub_models
from trueup.actuators.search.nested_search import NestedServoSearch
from trueup.actuators.search.prepared_fit import Prepared
from trueup.actuators.search.servo_search import (
    ServoSearch,
    ServoSearchSettings,
    best_of_families,
    scan_points,
)
from trueup.errors import FitError, ParameterError, RecordingError, UnfinishedRunError
from trueup.fitting import Grade, minimise
from trueup.fitting.problem import LARGE_COST
from trueup.runs import RunDirectory
from trueup.runs.loop.generation import Generation

TRUTH = ServoModel.create(
    "xl330",
    "m1",
    kt=0.35,
    R=3.2,
    armature=0.0016,
    friction_base=0.02,
    friction_viscous=0.006,
    q_offset=0.02,
)
NOISE = 2e-3


def logs_of(model=TRUTH, noise=NOISE):
    cases = [(100.0, 0.4, 0.9), (200.0, 0.4, np.inf), (400.0, 0.2, 0.8), (200.0, 0.2, np.inf)]
    return [
        made.recorded(
            model,
            made.template_log(
                f"run{i}", seconds=1.2, kp=kp, mass=mass, torque_off_after=off, start=0.3 * (i % 2)
            ),
            noise,
            i,
        )
        for i, (kp, mass, off) in enumerate(cases)
    ]


@pytest.fixture(scope="module")
def logs():
    return logs_of()


@pytest.fixture(scope="module")
def fitted(logs):
    return fit("xl330", "m1", logs, settings=FitSettings("least-squares", validation_kp=(100,)))


def test_a_fit_gives_back_the_truth_within_its_intervals(fitted):
    assert fitted.solution.success
    names = fitted.problem.space.names
    low, high = fitted.assessment.intervals.T
    truth = TRUTH.vector(names)
    width = np.where(np.isfinite(high - low), high - low, 0.0)
    # a little slack: one of six intervals misses its value in one fit of four
    assert (truth > low - 0.5 * width).all()
    assert (truth < high + 0.5 * width).all()
    errors = np.abs(fitted.solution.x / truth - 1.0)
    assert errors.max() < 0.15
    assert fitted.training.mae == pytest.approx(NOISE * np.sqrt(2 / np.pi), rel=0.1)
    assert set(names) == set(fitted.assessment.identifiability.determined)


def test_held_out_logs_are_not_fitted_and_stand_beside_what_knows_nothing(fitted, logs):
    assert [log.kp for log in fitted.held_out_logs] == [100.0]
    assert len(fitted.training_logs) == 3
    assert fitted.held_out.mae == pytest.approx(NOISE * np.sqrt(2 / np.pi), rel=0.2)
    assert fitted.held_out.mae < 0.1 * fitted.held_out_start.mae
    assert fitted.held_out.mae < 0.1 * fitted.held_out.at_rest
    both = evaluate(fitted.model, logs)
    assert both.by_log == {**fitted.training.by_log, **fitted.held_out.by_log}


def test_threads_and_repetition_change_nothing(logs, fitted):
    settings = FitSettings("least-squares", validation_kp=(100,))
    again = fit("xl330", "m1", logs, settings=settings, workers=1)
    assert np.array_equal(again.solution.x, fitted.solution.x)
    assert again.solution.history == fitted.solution.history


def test_the_search_goes_on_from_any_state_as_if_it_had_not_stopped(logs):
    prepared = Prepared("xl330", "m1", logs, FitSettings(trials=200))
    problem, search = prepared.problem, prepared.search()
    search.settings = dataclasses.replace(search.settings, evaluations_per_element=12)
    whole = ServoSearch(prepared.space, search.settings, 3)
    stages = set()
    stopped = ServoSearch(prepared.space, search.settings, 3)
    while stopped.done() is None:
        stages.add(stopped.stage)
        X, failures = stopped.ask(), {}
        stopped.tell(X, stopped.evaluate(problem, X, failures), failures)
        stopped = ServoSearch.from_state(stopped.state(), prepared.space)
    minimise(problem, whole)
    assert stages == {"scan", "descents", "fine 1", "fine 2", "cmaes", "polish"}
    assert stopped.history == whole.history
    assert np.array_equal(stopped.x, whole.x)
    assert whole.cost == min(record["cost"] for record in whole.history)


def test_a_nested_search_goes_on_from_any_state_and_begins_with_the_simpler_model(logs):
    prepared = Prepared("xl330", "m3", logs[:2], FitSettings(seed=3))
    settings = ServoSearchSettings(
        scanned=16, descents=2, kept=1, rounds=1, evaluations_per_element=12
    )
    problem, space = prepared.problem, prepared.space
    whole = NestedServoSearch(space, settings, 3)
    stopped = NestedServoSearch(space, settings, 3)
    while stopped.done() is None:
        X, failures = stopped.ask(), {}
        stopped.tell(X, stopped.evaluate(problem, X, failures), failures)
        stopped = NestedServoSearch.from_state(stopped.state(), space)
    minimise(problem, whole)
    assert stopped.history == whole.history
    assert np.array_equal(stopped.x, whole.x)
    assert whole.cost == problem.costs(whole.x[None, :])[0, 0]
    simple = Prepared("xl330", "m1", logs[:2], FitSettings(seed=3))
    alone = NestedServoSearch(simple.space, settings, 3)
    minimise(simple.problem, alone)
    begun = [record for record in whole.history if record["model"] == "m1"]
    assert [r["evaluations"] for r in begun] == [r["evaluations"] for r in alone.history]
    np.testing.assert_allclose(
        [r["cost"] for r in begun], [r["cost"] for r in alone.history], rtol=1e-6
    )
    assert whole.cost <= begun[-1]["cost"]
    assert {r["model"] for r in whole.history} == {"m1", "full"}


def test_simpler_models_are_nested_in_richer_ones(logs):
    known = {"m1": [], "m2": ["m1"], "m3": ["m1"], "m4": ["m1", "m2", "m3"]}
    known["m5"] = [*known["m4"], "m4"]
    known["m6"] = [*known["m5"], "m5"]
    for name, simpler in known.items():
        sub_models = nested_sub_models(ServoModel.create("xl330", name).space())
        assert [sub_model.name for sub_model in sub_models] == [*simpler, "full"]
    rich = Prepared("xl330", "m6", logs[:2], FitSettings())
    generator = np.random.default_rng(0)
    for sub_model in nested_sub_models(rich.space)[:-1]:
        simple = Prepared("xl330", sub_model.name, logs[:2], FitSettings())
        lower, upper = simple.space.lower, simple.space.upper
        assert np.array_equal(sub_model.space.lower, lower)
        assert np.array_equal(sub_model.space.upper, upper)
        z = lower + generator.random(lower.size) * 0.2 * (upper - lower)
        x = sub_model.to_full(z)
        assert sub_model.contains(x)
        assert not sub_model.contains(rich.space.upper)
        assert np.array_equal(sub_model.from_full(x), z)
        problem = SubModelProblem(rich.problem, sub_model)
        assert problem.costs(z[None]) == pytest.approx(simple.problem.costs(z[None]), rel=1e-9)
        pairs = zip(problem.jacobian_blocks(z, {}), simple.problem.jacobian_blocks(z, {}))
        for (_, values, slopes), (_, expected, derivatives) in pairs:
            np.testing.assert_allclose(values, expected, atol=1e-9)
            scale = np.abs(derivatives).max(axis=1, keepdims=True) + 1e-12
            np.testing.assert_allclose(slopes / scale, derivatives / scale, atol=1e-6)


def test_too_few_trials_for_the_simpler_models_go_to_the_model_itself(logs):
    search = Prepared("xl330", "m6", logs[:2], FitSettings(trials=200)).search()
    assert search.sub_model.name == "full"
    search = Prepared("xl330", "m6", logs[:2], FitSettings(trials=4000)).search()
    assert search.sub_model.name == "m1"
    assert search.settings.scanned * 6 <= 1000


def test_a_search_of_which_every_candidate_fails_says_so(logs):
    prepared = Prepared("xl330", "m1", logs, FitSettings(trials=40))
    search = prepared.search()
    while search.done() is None:
        X = search.ask()
        search.tell(X, np.zeros(len(X)), dict.fromkeys(range(len(X)), "diverged"))
    assert search.status.value == "start failed"
    assert "all of 10 candidates failed" in search.message


@pytest.mark.parametrize("method", ["cmaes", "random", "nsgaii"])
def test_every_search_keeps_within_its_trials_and_is_judged(logs, method):
    found = fit("xl330", "m1", logs[:2], settings=FitSettings(method, trials=150, seed=1))
    # points at random come in batches of any size, others stop where a batch would pass the trials
    done = found.solution.stats["evaluations"]
    assert done == 150 if method == "random" else 75 < done <= 150
    assert found.reached_its_end
    assert found.training.mae < found.training_start.mae
    assert np.isfinite(found.assessment.intervals).any()
    assert found.solution.cost == pytest.approx(found.training.mae)
    if method == "nsgaii":
        front = found.solution.front
        assert front.objectives == ("mae", "speed mae")
        assert found.solution.cost == front.costs[:, 0].min()


@pytest.mark.parametrize("kind", ["rmse", "huber"])
def test_other_objectives_are_fitted(logs, kind):
    from trueup.actuators import Objective

    settings = FitSettings("least-squares", objective=Objective(kind, speed=0.05))
    found = fit("xl330", "m1", logs, settings=settings)
    assert np.abs(found.solution.x / TRUTH.vector(found.problem.space.names) - 1).max() < 0.2


def test_what_is_set_stays(logs):
    found = fit(
        "xl330", "m1", logs, settings=FitSettings("least-squares", fixed={"R": 3.2}, trials=400)
    )
    assert "R" not in found.problem.space.names
    assert found.model.values["R"] == 3.2
    assert found.to_dict()["fixed"] == {"R": 3.2}


def test_the_parameter_file_says_where_its_numbers_come_from(logs, tmp_path):
    directory = RunDirectory.create(tmp_path / "m1.run")
    file = tmp_path / "new" / "m1.json"
    settings = FitSettings("least-squares", trials=400, validation_kp=(100,))
    found = fit("xl330", "m1", logs, settings=settings, output=file, directory=directory)
    content = json.loads(file.read_text())
    assert content["model"] == "m1"
    assert content["actuator"] == "xl330"
    assert content["kt"] == found.solution.parameters["kt"]
    origin = content["provenance"]
    assert origin["mae"]["training"] == found.training.mae
    assert origin["mae"]["held_out"] == found.held_out.mae
    assert origin["intervals"]["kt"][0] < content["kt"] < origin["intervals"]["kt"][1]
    assert origin["seed"] == 0
    model = load_model(file, model="m1", servo="xl330")
    assert evaluate(model, found.training_logs).mae == found.training.mae


def test_no_parameter_file_remains_of_a_fit_that_cannot_be_judged(logs, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise FitError("no assessment of the fit")

    monkeypatch.setattr("trueup.actuators.search.prepared_fit.assess", refuse)
    output = tmp_path / "m1.json"
    directory = RunDirectory.create(tmp_path / "m1.run")
    settings = FitSettings("random", trials=40)
    with pytest.raises(UnfinishedRunError, match="no assessment of the fit") as caught:
        fit("xl330", "m1", logs[:1], settings=settings, output=output, directory=directory)
    assert not output.exists()
    assert "m1.run" in str(caught.value)
    # the search is kept
    monkeypatch.undo()
    found = fit(
        *("xl330", "m1", logs[:1]),
        settings=settings,
        output=output,
        directory=directory.path,
        resume=True,
    )
    assert load_model(output).values["kt"] == found.model.values["kt"]


def test_start_values_and_failed_candidates_are_not_written_as_the_best(logs, tmp_path):
    problem = Prepared("xl330", "m1", logs[:1], FitSettings()).problem
    live = LiveParameters(tmp_path / "m1.json", problem, {})
    better = problem.space.start * 1.01
    for x, cost in [(problem.space.start, 1.0), (better, LARGE_COST), (better, np.nan)]:
        live.offer(Generation(0, 1, 0.0, x, cost, x[None, :], np.array([[cost]]), {}, {}))
        live.flush()
        assert not live.path.exists()
    live.offer(Generation(0, 1, 0.0, better, 1.0, better[None, :], np.array([[1.0]]), {}, {}))
    assert load_model(live.path).values["R"] == pytest.approx(better[1])


def test_one_rig_without_creep_is_told_what_to_record():
    truth = ServoModel.create(
        "xl330",
        "m4",
        kt=0.35,
        R=3.2,
        armature=0.0016,
        friction_base=0.02,
        friction_viscous=0.006,
        friction_stribeck=0.001,
        load_friction_base=0.1,
        load_friction_stribeck=0.01,
    )
    one = [
        made.recorded(truth, made.template_log(f"r{i}", seconds=1.0, kp=kp), NOISE, i)
        for i, kp in enumerate((200.0, 400.0))
    ]
    found = fit("xl330", "m4", one, settings=FitSettings("least-squares", trials=600))
    advised = {name for advice in found.assessment.advice for name in advice.parameters}
    assert advised & {"alpha", "dtheta_stribeck", "friction_stribeck", "load_friction_stribeck"}
    text = " ".join(advice.sentence for advice in found.assessment.advice)
    assert "all are of 0.4 kg at 0.1 m" in text
    assert "staircase" in text


def test_what_only_a_limp_servo_shows_is_not_asked_of_other_loads():
    driven = Coverage.of([made.template_log("a"), made.template_log("b", mass=0.1)])
    text = " ".join(experiments(("kt", "R", "friction_viscous"), driven))
    assert "torque off" in text
    assert "masses" not in text
    assert "masses" in " ".join(experiments(("kt", "R"), Coverage.of([made.template_log("a")])))


def test_points_of_the_scan_lie_in_the_nested_sub_models():
    space = ServoModel.create("xl330", "m6").space()
    points, families = scan_points(space, 64, 0)
    assert np.array_equal(points[0], space.start)
    assert set(families) == {0, 1, 2, 3}
    place = {name: i for i, name in enumerate(space.names)}
    without_load = points[families == 3]
    assert (without_load[:, place["load_friction_motor"]] == 0).all()
    alike = points[families == 1]
    assert (
        alike[:, place["load_friction_motor"]] == alike[:, place["load_friction_external"]]
    ).all()
    assert ((points >= space.lower) & (points <= space.upper)).all()
    assert set(scan_points(ServoModel.create("xl330", "m1").space(), 16, 0)[1]) == {0}


def test_descents_begin_in_every_family():
    costs = np.array([5.0, 1.0, 2.0, 3.0, np.inf, 9.0])
    families = np.array([0, 0, 0, 0, 1, 2])
    assert best_of_families(costs, families, 3).tolist() == [1, 5, 2]
    assert best_of_families(np.full(6, np.inf), families, 3).tolist() == []


@given(
    st.dictionaries(
        st.text(st.characters(categories=["Lu", "Ll"]), min_size=1, max_size=9),
        st.floats(allow_nan=False, allow_infinity=False),
        max_size=5,
    )
)
def test_values_are_read_in_both_forms(values):
    assert parse_values(",".join(f"{name}={value!r}" for name, value in values.items())) == values
    assert parse_values(repr(values)) == values


@pytest.mark.parametrize(
    "text",
    [
        "R",
        "R=two",
        "R=nan",
        "R=1,R=2",
        "{'R': __import__('os').getcwd()}",
        "{'R': [1]}",
        "{R: 1}",
        "{'R': True}",
        "{'R': 1",
        "{**{}}",
    ],
)
def test_other_values_are_refused(text):
    with pytest.raises(FitError, match=r"R=2\.0|'R': 2\.0|twice"):
        parse_values(text)


def test_settings_survive_a_file():
    settings = FitSettings(
        "cmaes", terms=("backlash",), fixed={"R": 2.0}, validation_kp=(400.0,), vin=7.4
    )
    plain = json.loads(json.dumps(settings.to_dict()))
    assert FitSettings.from_dict(plain) == settings
    with pytest.raises(
        FitError, match=r"unknown setting of a fit: 'trails'; .* Did you mean 'trials'"
    ):
        FitSettings.from_dict({"trails": 3})


@pytest.mark.parametrize(
    ("servo", "model", "settings", "error", "message"),
    [
        ("xl33", "m1", {}, FitError, "Did you mean 'xl330'"),
        ("xl330", "m7", {}, FitError, "'m6'"),
        ("xl330", "m1", {"terms": ("delay",)}, FitError, "command_delay"),
        ("xl330", "m1", {"fixed": {"r": 2.0}}, ParameterError, "no parameter 'r'"),
        ("xl330", "m1", {"fixed": {"R": 9.0}}, ParameterError, "outside its bounds 2 to 5"),
        (
            "xl330",
            "m1",
            {"validation_kp": (300,)},
            RecordingError,
            "kp 300 occurs in none of the 4 logs .*; available: 100, 200, 400",
        ),
        ("mx64", "m1", {}, RecordingError, "the log is of servo 'xl330', expected 'mx64'"),
    ],
)
def test_what_does_not_fit_together_is_named(logs, servo, model, settings, error, message):
    with pytest.raises(error, match=message):
        fit(servo, model, logs, settings=FitSettings(**settings))


def test_a_fit_is_judged_beside_what_knows_less(fitted, logs):
    verdict = fitted.verdict
    assert verdict.grade is Grade.USE
    unseen, seen = verdict.comparisons
    assert unseen.held_out and not seen.held_out
    assert unseen.error == fitted.held_out.mae and seen.error == fitted.training.mae
    assert unseen.baselines == {
        "a servo that is at its goal": fitted.held_out.at_goal,
        "a servo that stays at its start": fitted.held_out.at_rest,
        "the model before the fit": fitted.held_out_start.mae,
    }
    plain = fitted.to_dict()["verdict"]
    assert plain == verdict.to_dict()
    page = servo_fit_report(fitted).html()
    assert all(reason["sentence"] in page for reason in plain["reasons"])
    # without held-out logs, the same fit is one to look at
    alone = dataclasses.replace(fitted, held_out=None, held_out_start=None)
    assert alone.verdict.grade is Grade.LOOK


def test_where_no_log_is_held_out_a_second_fit_leaves_some_out(logs):
    found = fit("xl330", "m1", logs, settings=FitSettings("least-squares"))
    # one of the two at the gain 200: no other leaves a log of its gain in the fit
    assert found.held_out is None and found.unseen.logs == (logs[1].name,)
    assert set(found.training.by_log) == {log.name for log in logs}
    assert found.unseen.fitted.mae == pytest.approx(NOISE * np.sqrt(2 / np.pi), rel=0.3)
    # of a fit that has not seen the log, not of the one that has
    assert found.unseen.fitted.mae != found.training.by_log[logs[1].name]
    assert found.verdict.grade is Grade.USE
    assert found.verdict.comparisons[0].held_out
    assert any("without 1 of the logs" in r.sentence for r in found.verdict.reasons)
    alone = fit("xl330", "m1", logs[:1], settings=FitSettings("least-squares"))
    assert alone.unseen is None and alone.verdict.grade is not Grade.USE


@pytest.mark.parametrize("held_out", [(), (100.0,)])
@pytest.mark.parametrize("start", ["run", "file", "values"])
def test_the_model_before_the_fit_has_not_seen_the_logs(logs, fitted, tmp_path, start, held_out):
    """The optimum of all logs is where the search starts, and no baseline of it."""
    everything = FitSettings("least-squares", validation_kp=held_out)
    first = fit("xl330", "m1", logs, settings=FitSettings("refine"), output=tmp_path / "one.json")
    given = {
        "run": tmp_path / "one.run",
        "file": tmp_path / "one.json",
        "values": first.solution.x,
    }[start]
    settings = dataclasses.replace(everything, method="refine")
    again = fit("xl330", "m1", logs, settings=settings, start=given)
    space = again.problem.space
    np.testing.assert_allclose(space.start, first.solution.x)
    plain = ServoModel.create("xl330", "m1")
    unseen = evaluate(plain, [log for log in logs if log.kp in held_out or not held_out])
    assert again.training_start.mae > 10.0 * again.training.mae
    if held_out:
        assert again.held_out_start.mae == pytest.approx(unseen.mae)
    else:
        assert again.unseen.before.mae == pytest.approx(unseen.by_log[again.unseen.logs[0]])
        assert again.training_start.mae == pytest.approx(unseen.mae)
    before = again.verdict.comparisons[0].baselines["the model before the fit"]
    assert before > 10.0 * again.verdict.comparisons[0].error
    assert again.verdict.grade is Grade.USE


def test_the_model_before_the_fit_keeps_what_is_fixed(logs):
    settings = FitSettings("refine", fixed={"kt": 0.35})
    found = fit("xl330", "m1", logs, settings=settings)
    assert found.training_start.mae == pytest.approx(
        evaluate(ServoModel.create("xl330", "m1", kt=0.35), logs).mae
    )


def on_bound(fitted, name, noise_only=True, held_out=True):
    """Verdict on a fit in which a parameter of this name is on a bound."""
    space = fitted.problem.space
    hit = np.array([own == "friction_base" for own in space.names])
    spread = None if noise_only else JackknifeSpread(("log",), 6, hit * 0.0, hit * 0.0)
    assessment = dataclasses.replace(fitted.assessment, at_bound=hit, spread=spread)
    space = dataclasses.replace(space, lower=space.lower + 1e-9)  # 0 is a limit of what exists
    names = {"friction_base": name}
    space = dataclasses.replace(space, names=tuple(names.get(n, n) for n in space.names))
    return verdict_of(
        fitted.solution, space, assessment, training=(fitted.training, fitted.training_start),
        held_out=(fitted.held_out, fitted.held_out_start) if held_out else (None, None),
        method="least-squares",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "noise_only", "held_out", "grade"),
    [
        # the motor: its value means nothing
        ("kt", True, True, Grade.LOOK),
        ("kt", True, False, Grade.DO_NOT_USE),
        # friction that the logs do not show: predictions hold without its value
        ("friction_base", True, True, Grade.USE),
        ("alpha", True, True, Grade.USE),
        ("friction_base", False, True, Grade.LOOK),
        ("alpha", False, True, Grade.LOOK),
        # nothing says that unseen logs are predicted
        ("friction_base", True, False, Grade.DO_NOT_USE),
        ("alpha", True, False, Grade.LOOK),
    ],
)
def test_a_value_on_a_bound_is_judged_by_predictions(fitted, name, noise_only, held_out, grade):
    verdict = on_bound(fitted, name, noise_only, held_out)
    assert verdict.grade is grade
    assert any(f"{name} ended on a bound" in r.sentence for r in verdict.reasons)


@pytest.mark.parametrize(
    ("method", "grade"),
    [("least-squares", Grade.DO_NOT_USE), ("random", Grade.LOOK)],
)
def test_a_search_that_its_trials_ended_is_judged_by_whether_it_can_converge(logs, method, grade):
    found = fit("xl330", "m1", logs, settings=FitSettings(method, 8, validation_kp=(100,)))
    assert not found.solution.success
    reasons = [r for r in found.verdict.reasons if r.section == "course"]
    assert [r.grade for r in reasons] == [grade]
