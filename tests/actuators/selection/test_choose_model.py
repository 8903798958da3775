"""Choice of friction model and extended terms from logs that fits have not seen."""

import dataclasses

import numpy as np
import pytest
import servo_model_logs as made

from trueup import actuators
from trueup.actuators import FitSettings, ModelChoice, ServoModel, TriedModel, choose_model
from trueup.actuators.search.warm_starts import converted_values, term_values
from trueup.actuators.selection.missing_terms import term_findings
from trueup.actuators.selection.model_choice import simplest
from trueup.actuators.selection.parts import cross_validation_parts
from trueup.actuators.selection.suitable_terms import suitable_terms
from trueup.errors import FitError, RecordingError
from trueup.fitting import Grade

NOISE = 1e-3


def logs_of(terms=None, loads=((100.0, 0.2), (100.0, 0.4), (300.0, 0.2), (300.0, 0.4))):
    model = ServoModel.create("xl330", "m1", tuple(terms or ()))
    model = model.with_values(**made.M1.values, **(terms or {}))
    return [
        made.recorded(
            model, made.template_log(f"{kp}_{mass}", seconds=0.8, kp=kp, mass=mass), NOISE, i
        )
        for i, (kp, mass) in enumerate(loads)
    ]


@pytest.fixture(scope="module")
def saturated_logs():
    return logs_of({"torque_saturation": 0.8})


@pytest.fixture(scope="module")
def course(saturated_logs):
    """A choice, with everything that it told on its way."""
    told, fits, shares = [], {}, []
    choice = choose_model(
        "xl330",
        saturated_logs,
        models=("m1", "m3"),
        try_terms=("winding_braking", "torque_saturation"),
        on_tried=told.append,
        on_progress=lambda words, share: shares.append(share),
        on_fit=fits.update,
    )
    return choice, told, fits, shares


def test_the_term_that_acts_is_chosen_and_no_other(course):
    choice, told, _, _ = course
    assert choice.chosen.label == "m1+torque_saturation"
    assert choice.chosen.error < 2.0 * NOISE
    assert tuple(told) == choice.tried
    labels = [tried.label for tried in choice.tried]
    assert labels[:2] == ["m1", "m3"]
    assert {"m1+torque_saturation", "m3+torque_saturation"} <= set(labels)
    assert set(choice.chosen.errors) == {"100", "300"}
    assert choice.chosen.values["torque_saturation"] == pytest.approx(0.8, rel=0.1)
    plain = choice.to_dict()
    assert plain["terms"] == ["torque_saturation"]
    assert plain["error"] == choice.chosen.error
    assert ModelChoice.from_dict(plain) == choice


def test_a_finding_says_what_the_term_brought_and_which_left_no_trace(course):
    choice = course[0]
    sentences = term_findings(choice)
    without = next(t for t in choice.tried if t.label == "m1")
    assert sentences[0].startswith("the torque per ampere falls as the current rises")
    assert f"from {1e3 * without.error:.1f} mrad (m1)" in sentences[0]
    assert "winding_braking" in sentences[-1]


def test_progress_grows_and_stays_below_the_end(course):
    shares = course[3]
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] < shares[-1] < 1.0


def test_a_choice_goes_on_from_the_fits_of_an_earlier_one(course, saturated_logs):
    choice, _, fits, _ = course
    names = list(fits)
    new = []
    again = choose_model(
        "xl330",
        saturated_logs,
        models=("m1", "m3"),
        try_terms=("winding_braking", "torque_saturation"),
        known={name: fits[name] for name in names[: len(names) // 2]},
        on_fit=new.append,
        workers=2,
    )
    assert again == choice
    assert len(new) == len(names) - len(names) // 2


def test_no_term_is_taken_where_none_acts():
    choice = choose_model("xl330", logs_of(), models=("m1",), try_terms=("torque_saturation",))
    assert choice.chosen.label == "m1"
    assert [s.term for s in choice.screened] == ["torque_saturation"]


def test_a_richer_model_that_fits_no_better_is_not_cross_validated():
    choice = choose_model("xl330", logs_of(), models=("m1", "m3", "m5"), try_terms=())
    assert choice.chosen.label == "m1" and [t.label for t in choice.tried] == ["m1", "m3"]
    (passed,) = choice.passed_over
    assert passed.label == "m5" and passed.training < 1.05 * NOISE
    assert "cannot be that of the selected model: m5 (0.8 mrad)" in term_findings(choice)[-1]
    assert ModelChoice.from_dict(choice.to_dict()) == choice


def test_trials_end_a_choice_and_it_says_so(saturated_logs):
    def choose(limit):
        return choose_model("xl330", saturated_logs, models=("m1", "m3"), try_terms=(), limit=limit)

    choice = choose(1200)
    assert not choice.complete
    assert choice.evaluations <= 1200
    assert choice.chosen.label == "m1"
    with pytest.raises(FitError, match="100 evaluations are too few to select a model"):
        choose(100)


def test_of_models_about_as_good_the_smallest_is_taken():
    tried = [
        TriedModel("m1", (), 6, {"1": 1.06}),
        TriedModel("m3", (), 7, {"1": 1.04}),
        TriedModel("m6", (), 15, {"1": 1.0}),
    ]
    assert simplest(tried, 0.05).model == "m3"
    assert simplest(tried, 0.0).model == "m6"


def test_each_quantity_counts_alike_however_many_values_it_has():
    tried = TriedModel("m1", (), 6, {"kp 1": 1.0, "kp 2": 4.0, "mass 1": 8.0})
    assert tried.by_quantity == pytest.approx({"kp": 2.0, "mass": 8.0})
    assert tried.error == pytest.approx(4.0)


def test_a_part_that_no_model_predicts_does_not_decide():
    beyond = {"trajectory a": 0.250, "trajectory b": 0.110}  # without them nothing tells kt from R
    simple = TriedModel("m1", (), 6, {"kp 1": 0.030, "kp 2": 0.020, **beyond})
    better = TriedModel(
        "m1", ("backlash",), 7, {"kp 1": 0.018, "kp 2": 0.012, **beyond, "trajectory b": 0.114}
    )
    assert better.error < 0.8 * simple.error
    assert simplest([simple, better], 0.05) is better
    lost = TriedModel("m6", (), 15, {"kp 1": 0.010, "kp 2": float("inf")})
    assert lost.error == float("inf")
    assert simplest([simple, lost], 0.05) is simple


def test_logs_are_left_out_by_all_that_varies():
    loads = ((100.0, 0.2), (100.0, 0.4), (300.0, 0.2))
    logs = [made.template_log(f"{kp}_{mass}", seconds=0.1, kp=kp, mass=mass) for kp, mass in loads]
    parts = cross_validation_parts(logs)
    assert [(part.label, part.rows) for part in parts] == [
        ("kp 100", (0, 1)),
        ("kp 300", (2,)),
        ("mass 0.2", (0, 2)),
        ("mass 0.4", (1,)),
    ]
    many = [made.template_log(str(kp), seconds=0.1, kp=kp) for kp in (1.0, 2.0, 4.0, 8.0, 9.0, 9.5)]
    assert [part.rows for part in cross_validation_parts(many)] == [(0, 1), (2, 3), (4,), (5,)]
    with pytest.raises(
        RecordingError, match="the only log has one gain, one mass and one trajectory"
    ):
        cross_validation_parts(many[:1])


def test_values_are_carried_over_between_models():
    rich = ServoModel.create("xl330", "m5", ("torque_saturation",))
    point = converted_values({"kt": 0.5, "load_friction_base": 0.2}, rich.parameters, rich.names)
    found = dict(zip(rich.names, point, strict=True))
    assert found["kt"] == 0.5
    assert found["load_friction_motor"] == found["load_friction_external"] == 0.2
    assert found["friction_stribeck"] == found["torque_saturation"] == 0.0
    poor = ServoModel.create("xl330", "m3")
    values = {**found, "load_friction_motor": 0.1, "load_friction_external": 0.3}
    back = dict(zip(poor.names, converted_values(values, poor.parameters, poor.names), strict=True))
    assert back["load_friction_base"] == pytest.approx(0.2)


def test_terms_that_switch_have_starts_over_their_whole_range():
    limit = next(
        p for p in ServoModel.create("xl330", "m1", ("current_limit",)).parameters
        if p.name == "current_limit"
    )  # fmt: skip
    values = term_values(limit)
    assert 1.75 in values  # as published
    assert (np.diff(values) > 0).all()
    assert values[-1] == limit.upper


def test_terms_that_logs_cannot_show_are_not_tried():
    logs = [dataclasses.replace(log, temperature=None) for log in logs_of()]
    suitable = suitable_terms("xl330", logs, FitSettings(scheme="bam"))
    assert "torque_saturation" in suitable
    assert "measured_voltage" in suitable
    assert not {"resistance_temperature", "backlash"} & set(suitable)
    assert "max_velocity" not in suitable_terms("sts3215", logs, FitSettings())


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"settings": FitSettings(validation_kp=(100.0,))}, FitError, "pass training logs only"),
        ({"by": "length"}, FitError, "'kp', 'mass'"),
        ({"by": "trajectory"}, RecordingError, "all 4 logs have the same trajectory"),
        ({"models": ()}, FitError, "no friction model"),
        ({"models": ("m9",)}, FitError, "'m6'"),
        ({"try_terms": ("saturation",)}, FitError, "torque_saturation"),
        ({"least_gain": 1.5}, FitError, "0 to 1"),
    ],
)
def test_what_cannot_be_chosen_from_is_named(changes, error, message):
    with pytest.raises(error, match=message):
        choose_model("xl330", logs_of(), **changes)


# --- a fit that names no model ---------------------------------------------------------------

SETTINGS = FitSettings(models=("m1",), try_terms=("torque_saturation",))


@pytest.fixture(scope="module")
def chosen_fit(saturated_logs, tmp_path_factory):
    output = tmp_path_factory.mktemp("chosen") / "xl330.json"
    return actuators.fit("xl330", None, saturated_logs, settings=SETTINGS, output=output)


def test_a_fit_without_a_model_takes_the_chosen_one(chosen_fit):
    found, output = chosen_fit, chosen_fit.output
    assert found.choice.chosen.label == "m1+torque_saturation"
    assert found.model.terms == ("torque_saturation",)
    assert found.training.mae <= found.choice.chosen.training * (1.0 + 1e-9)
    kept = actuators.load_model(output)
    assert kept.values == found.model.values
    assert len(kept.provenance["choice"]["tried"]) == len(found.choice.tried)
    assert any("torque_saturation changes the" in sentence for sentence in found.findings)
    report = (output.parent / "xl330.run" / "report.html").read_text()
    assert "Model selection" in report


def test_a_chosen_model_is_judged_on_logs_that_no_fit_has_seen(chosen_fit, saturated_logs):
    """Neither it nor what it is compared with: its optimum on all logs is no baseline."""
    found, chosen = chosen_fit, chosen_fit.choice.chosen
    verdict = found.verdict
    assert verdict.grade is Grade.USE, verdict.lines()
    unseen = [each for each in verdict.comparisons if each.held_out]
    assert [each.channel for each in unseen] == [
        "position, each gain held out",
        "position, each mass held out",
    ]
    plain = actuators.ServoModel.create("xl330", "m1", ("torque_saturation",))
    before = actuators.evaluate(plain, saturated_logs).by_log
    without = next(tried for tried in found.choice.tried if tried.label == "m1")
    for each, quantity in zip(unseen, ("kp", "mass"), strict=True):
        assert each.error == chosen.by_quantity[quantity]
        parts: dict[float, list[float]] = {}
        for log in saturated_logs:
            parts.setdefault(getattr(log, quantity), []).append(before[log.name])
        means = [np.mean(part) for part in parts.values()]
        assert each.baselines["the model before the fit"] == pytest.approx(
            np.sqrt(means[0] * means[1])
        )
        assert each.baselines["the simpler model"] == without.by_quantity[quantity]
        rest = actuators.evaluate(plain, saturated_logs).at_rest
        assert each.baselines["a servo that stays at its start"] == pytest.approx(rest, rel=0.5)
    assert found.unseen is None
    assert any("each gain and each mass in turn" in r.sentence for r in verdict.reasons)


def test_an_interrupted_choice_is_resumed(saturated_logs, tmp_path, monkeypatch):
    from trueup.actuators.selection import model_for_fit

    output = tmp_path / "xl330.json"

    def stop(*given):
        kept(*given)
        raise KeyboardInterrupt

    kept = model_for_fit.write_live
    monkeypatch.setattr(model_for_fit, "write_live", stop)
    with pytest.raises(KeyboardInterrupt, match="study resume"):
        actuators.fit("xl330", None, saturated_logs, settings=SETTINGS, output=output)
    first = actuators.load_model(output)  # usable before the end
    assert first.friction.name == "m1"
    assert first.provenance["status"] == "in progress"
    assert first.provenance["grade"] == "look"  # better than trivial, and not judged yet
    monkeypatch.undo()
    found = actuators.fit(
        "xl330", None, saturated_logs, settings=SETTINGS, output=output, resume=True
    )
    whole = actuators.fit("xl330", None, saturated_logs, settings=SETTINGS)
    assert found.model.values == whole.model.values


def test_logs_of_one_kind_cannot_decide_on_a_model(tmp_path):
    logs = logs_of(loads=((100.0, 0.2), (100.0, 0.2)))
    with pytest.raises(RecordingError, match="select a friction model with --model"):
        actuators.fit("xl330", None, logs, output=tmp_path / "xl330.json")
    assert not (tmp_path / "xl330.run").exists()
