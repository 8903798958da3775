"""Comparing servo models: effective samples, information criteria, and which model is taken."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from servo_model_logs import M1, M3, logs_of, template_log

from trueup.actuators import (
    compare,
    effective_samples,
    information_criteria,
    load_model,
    model_errors,
    process,
    read_logs,
    save_model,
    split_logs,
)
from trueup.actuators.catalogue.parameter_file import load_models
from trueup.actuators.report.comparison import comparison_report
from trueup.errors import FitError, ParameterError, RecordingError

INNOVATIONS = np.random.default_rng(1).standard_normal((20, 20_000))


def remembering(memory: float, rows: int = 20) -> np.ndarray:
    """Autoregressive noise of the first order, one row a realisation."""
    from scipy.signal import lfilter

    return lfilter([1.0], [1.0, -memory], INNOVATIONS[:rows], axis=1)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.95])
def test_effective_samples_of_autoregressive_noise(memory):
    found = np.mean([effective_samples(row) for row in remembering(memory)])
    assert found == pytest.approx(20_000 * (1 - memory) / (1 + memory), rel=0.1)


def test_effective_samples_of_extremes():
    assert effective_samples(np.ones(500)) < 5
    assert effective_samples(np.zeros(7)) == 7
    assert effective_samples(np.ones(1)) == 1
    alternating = np.resize([1.0, -1.0], 400)
    assert effective_samples(alternating) == 400  # never more than there are


@pytest.mark.parametrize(
    ("kind", "likelihood"), [("mae", "laplace"), ("rmse", "norm"), ("huber", "norm")]
)
def test_criteria_of_white_residuals_are_those_of_the_likelihood(kind, likelihood):
    from scipy import stats

    residual = INNOVATIONS[0, :4000] * 0.01
    scale = np.abs(residual).mean() if kind == "mae" else np.sqrt(np.mean(residual**2))
    logpdf = getattr(stats, likelihood).logpdf(residual, scale=scale).sum()
    (found,), samples = information_criteria([[residual]], [6], kind)
    share = samples / residual.size
    assert share == pytest.approx(1.0, abs=0.1)
    assert found.aic == pytest.approx(-2 * share * logpdf + 2 * 7)
    assert found.bic == pytest.approx(-2 * share * logpdf + 7 * math.log(samples))


def test_a_useless_parameter_costs_its_price():
    residuals = [list(remembering(0.9, 3))] * 2
    (few, many), samples = information_criteria(residuals, [6, 9])
    assert many.aic - few.aic == pytest.approx(6)
    assert many.bic - few.bic == pytest.approx(3 * math.log(samples))
    assert few.aic_difference == few.bic_difference == 0


def test_a_hair_does_not_outweigh_a_parameter_where_residuals_remember():
    slow = remembering(0.99, 1)[0]
    better = 0.999 * slow
    (plain, richer), samples = information_criteria([[slow], [better]], [6, 7], "rmse")
    assert plain.aic < richer.aic
    assert samples < slow.size / 50
    # the same hair would be worth 40 if samples counted as independent
    assert 2 * slow.size * math.log(1 / 0.999) > 2


def test_unknown_objective_and_no_model():
    with pytest.raises(FitError, match=r"mean.*'mae', 'rmse', 'huber'"):
        information_criteria([[np.ones(3)]], [1], "mean")
    with pytest.raises(FitError, match="no model"):
        information_criteria([], [])


def test_the_true_simple_model_wins_over_a_richer_one():
    logs = logs_of(M1)
    training, held = split_logs(logs, kp=300)
    richer = M3.with_values(load_friction_base=0.0005)
    found = compare({"m1": M1, "m3": richer}, training, held)
    assert found.recommended == "m1"
    assert found.models[0].parameters == 6 and found.models[1].parameters == 7


def test_the_richer_model_wins_where_it_is_true():
    logs = logs_of(M3)
    training, held = split_logs(logs, kp=300)
    found = compare({"m1": M1, "m3": M3}, training, held)
    assert found.recommended == "m3"
    assert found.models[1].held_out == pytest.approx(1e-3 * math.sqrt(2 / math.pi), rel=0.1)
    assert "no model with fewer parameters" in found.reason


def test_a_simpler_model_within_five_percent_is_taken():
    training, held = split_logs(logs_of(M1), kp=300)
    true_but_rich = M3.with_values(load_friction_base=0.0)
    errors = {}
    for name, offset in (("near", 1e-4), ("far", 1e-2)):
        off = M1.with_values(q_offset=M1.values["q_offset"] + offset)
        errors[name] = compare({"simple": off, "rich": true_but_rich}, training, held)
    near, far = errors["near"], errors["far"]
    assert near.models[0].held_out < 1.05 * near.models[1].held_out
    assert near.recommended == "simple"
    assert (
        "within 5 %: the simpler one is taken" in near.reason
        or "has the smallest held-out error" in near.reason
    )
    assert far.models[0].held_out > 1.1 * far.models[1].held_out
    assert far.recommended == "rich"
    assert "no model with fewer parameters is within 5 %" in far.reason


def test_without_logs_held_out_the_bayesian_criterion_decides_and_says_so():
    found = compare({"m3": M3.with_values(load_friction_base=1e-4), "m1": M1}, logs_of(M1))
    assert found.recommended == "m1"
    assert "--validation-kp" in found.reason
    assert math.isnan(found.models[0].held_out)


def test_one_log_held_out_has_no_standard_error():
    logs = logs_of(M1)
    found = compare({"m1": M1, "m3": M3}, logs[1:], logs[:1])
    assert found.recommended == "m1"
    assert "One log has no standard error" in found.reason


def test_groups_average_their_logs_and_everything_is_plain_data():
    logs = logs_of(M1)
    training, held = split_logs(logs, mass=0.6)
    found = compare({"m1": M1, "m3": M3}, training, held)
    content = json.loads(json.dumps(found.to_dict()))
    by_log = content["models"][1]["by_log"]
    light = [by_log[log["name"]] for log in content["logs"] if log["mass"] == 0.2]
    assert content["models"][1]["by_mass"]["0.2"] == pytest.approx(np.mean(light))
    assert sum(log["held_out"] for log in content["logs"]) == 2
    assert list(found.groups("kp")) == ["100", "300"]
    part = [by_log[log["name"]] for log in content["logs"] if not log["held_out"]]
    assert content["models"][1]["training"] == pytest.approx(np.mean(part))


def test_a_model_that_diverges_is_not_taken(monkeypatch):
    logs = logs_of(M1)
    found = model_errors({"m1": M1, "wild": M1}, logs)
    wild = found[1]
    wild.position[2][5:] = np.nan
    errors = wild.error().copy()
    errors[2] = np.inf
    object.__setattr__(wild, "mae", errors)
    monkeypatch.setattr(
        "trueup.actuators.selection.model_comparison.model_errors", lambda *_, **__: found
    )
    compared = compare({"m1": M1, "wild": M1}, logs[:4], logs[4:])
    assert compared.recommended == "m1"
    assert compared.models[1].criteria.aic == math.inf


def test_files_of_another_servo_no_logs_and_no_models():
    mx = load_mx()
    with pytest.raises(ParameterError, match=r"mx: .*'mx106'.*logs are of 'xl330' \(kp100_m0"):
        compare({"mx": mx}, logs_of(M1))
    with pytest.raises(RecordingError, match="no log"):
        compare({"m1": M1}, [])
    with pytest.raises(FitError, match="no model"):
        compare({}, logs_of(M1))
    with pytest.raises(FitError, match="'mean'"):
        compare({"m1": M1}, logs_of(M1), kind="mean")
    with pytest.raises(FitError, match="set held-out logs, error and simulation in the settings"):
        compare([], logs_of(M1), directory="run", kind="rmse")


def load_mx():
    from trueup.actuators import ServoModel

    return ServoModel.create("mx106", "m1")


def test_current_and_voltage_mode_are_one_servo():
    from trueup.actuators import ServoModel

    model = ServoModel.create("xl330i", "m1")
    assert len(model_errors({"m1": model}, [template_log()])) == 1


def test_labels_tell_files_apart(tmp_path):
    files = [tmp_path / "a" / "m1.json", tmp_path / "b" / "m1.json", tmp_path / "a" / "m3.json"]
    for file, model in zip(files, (M1, M1, M3), strict=True):
        file.parent.mkdir(exist_ok=True)
        save_model(model, file)
    assert list(load_models([*files, files[0]])) == ["a/m1", "b/m1", "m3"]
    with pytest.raises(ParameterError, match=r"the servo 'xl330', expected 'mx64'"):
        load_models(files, servo="mx64")


def test_the_report_says_which_model_and_shows_every_log():
    logs = logs_of(M3)
    training, held = split_logs(logs, kp=300)
    found = compare({"m1": M1, "m3 <&>": M3}, training, held)
    page = comparison_report(found).html()
    assert "m3 &lt;&amp;&gt; has the smallest held-out error" in page
    for log in logs:
        assert log.name in page
    assert "Burnham" in page


def test_published_models_on_recorded_logs(recorded_data: Path, tmp_path):
    raw = [recorded_data / "xl330_bench" / f"xl330_kp{kp}_sin_sin.json" for kp in (100, 400)]
    for file in raw:
        process(file, tmp_path, 0.01)
    folder = recorded_data / "actuator_params" / "xl330"
    logs = read_logs(tmp_path, uniform=True)
    models = {name: load_model(folder / f"{name}.json") for name in ("m1", "m6")}
    found = compare(models, logs)
    assert found.models[1].training < found.models[0].training < 0.15
    assert found.effective_samples < found.samples / 20
