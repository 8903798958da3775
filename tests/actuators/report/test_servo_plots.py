"""Overlays, simulated torque, reports of fits: what is drawn is what was simulated."""

import dataclasses
import re
import sys

import numpy as np
import pytest
from servo_model_logs import M1, M3, logs_of, recorded, template_log

from trueup.actuators import (
    BenchSimulator,
    Pendulum,
    ServoModel,
    find_servo,
    model_errors,
    overlay_images,
    overlay_report,
    servo_report,
)
from trueup.actuators.report.overlay_figures import points_per_curve, select_logs, worst_first
from trueup.actuators.selection.model_choice import ModelChoice, TriedModel
from trueup.errors import MissingExtraError, ParameterError, RecordingError, ReportError

TERMS = {
    "plain": {},
    "measured_voltage": {"measured_voltage": 0.7},
    "supply_resistance": {"supply_resistance": 1.5},
    "resistance_temperature": {"resistance_temperature": 0.01},
    "torque_saturation": {"torque_saturation": 0.8},
    "winding_braking": {"winding_braking": 0.6},
    "command_delay": {"command_delay": 0.02},
    "max_velocity": {"max_velocity": 1.5},
}


@pytest.mark.parametrize("servo", ["xl330", "xl330i", "erob80_50", "unitree_go1"])
@pytest.mark.parametrize("term", list(TERMS))
def test_the_torque_shown_is_the_torque_that_moves_the_joint(servo, term):
    law = find_servo(servo).law
    try:
        start = ServoModel.create(servo, "m1", TERMS[term], friction_base=0.0, friction_viscous=0.0)
    except Exception as error:  # the term has no meaning for the servo's law
        assert f"does not apply to the law {law!r}" in str(error)
        return
    model = start.with_values(**TERMS[term])
    electric = servo.startswith("xl330")
    log = template_log(
        kp=200.0 if electric else 20.0, motor=model.servo.name, torque_off_after=1.0, dt=0.002
    )
    log = dataclasses.replace(log, damping=None if electric else 0.5)
    load = Pendulum(0.004, 0.3) if electric else Pendulum(3.0, 20.0)
    (found,) = model_errors({"model": model}, [log], scheme="bam", benches=[load])
    position, speed = found.position[0], found.speed[0]
    gravity = -load.gravity_torque * np.sin(position + model.values["q_offset"])
    inertia = load.inertia + model.values["armature"]
    acting = inertia * np.diff(speed) / np.diff(log.times) - gravity[:-1]
    shown = found.torque[0][:-1]
    if term == "command_delay":  # torque-enable is late too
        on = log.times[:-1] < 1.0
        shown, acting = shown[on], acting[on]
    span = np.ptp(acting)
    assert span > 0.05
    assert np.abs(shown - acting).max() < 1e-9 * span + 1e-12


def test_errors_are_those_of_the_simulator():
    logs = logs_of(M3)
    (found,) = model_errors({"m1": M1}, logs)
    simulator = BenchSimulator(M1, logs)
    assert found.mae == pytest.approx(simulator.log_costs(M1.vector())[0])
    assert found.rmse == pytest.approx([np.sqrt(np.mean(r**2)) for r in found.residuals])
    part = found.part([4, 1])
    assert part.mae.tolist() == [found.mae[4], found.mae[1]]
    assert [log.name for log in part.logs] == [logs[4].name, logs[1].name]


def test_sections_come_worst_first_and_hold_every_log():
    logs = logs_of(M3)
    errors = model_errors({"m1": M1, "m3": M3}, logs)
    page = overlay_report(logs, errors)
    order = worst_first(errors)
    assert [s.title for s in page.sections] == ["Errors", *(logs[i].name for i in order)]
    # the best model, not the first one, says which log is worst
    assert order[0] == int(np.argmax(errors[1].mae))
    text = page.html()
    assert "motor torque, simulated" in text
    assert not re.search(r"<(?:script|link|img)[^>]*(?:src|href)=.https?:", text)


def test_logs_alone_need_no_model_and_may_be_raw():
    log = template_log(torque_off_after=0.7)
    raw = dataclasses.replace(log, dt=None, load=None)
    text = overlay_report([raw]).html()
    assert "torque off" in text and "motor torque" not in text
    with pytest.raises(RecordingError, match="resample"):
        overlay_report([raw], {"m1": M1})


def test_sixty_long_logs_with_three_models_stay_below_eight_megabytes():
    log = recorded(M1, template_log(seconds=6.0), noise=1e-3)
    models = {"m1": M1, "m3": M3, "other": M1.with_values(kt=0.4)}
    errors = model_errors(models, [log])
    sixty = [each.part([0] * 60) for each in errors]
    size = len(overlay_report([log] * 60, sixty).html().encode())
    assert 3e6 < size < 8e6
    assert points_per_curve(1, 1) == 1000 and points_per_curve(60, 3) < 400


def test_logs_are_chosen_by_pattern_and_by_error():
    logs = logs_of(M3)
    errors = model_errors({"m1": M1}, logs)
    assert select_logs(logs, ["kp100_*"]) == [0, 1, 2]
    assert select_logs(logs, worst=2, errors=errors) == worst_first(errors)[:2]
    with pytest.raises(RecordingError, match=r"no log matches 'kp1000'.*'kp100_m0.2'"):
        select_logs(logs, ["kp1000"])
    with pytest.raises(RecordingError, match="number of logs to show must be at least 1, got 0"):
        select_logs(logs, worst=0)


def test_png_files_hold_a_few_logs_each(monkeypatch, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    monkeypatch.setattr("trueup.actuators.report.overlay_image.LOGS_PER_IMAGE", 1)
    logs = logs_of(M1)[:2]
    errors = model_errors({"m1": M1}, logs)
    files = overlay_images(logs, errors, tmp_path / "new" / "plot.png")
    assert [file.name for file in files] == ["plot.png", "plot-2.png"]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["plot-2.png", "plot.png"]
    (alone,) = overlay_images(logs[:1], [], tmp_path / "alone.png")
    with_models = image.imread(files[0])[..., :3]
    assert np.ptp(with_models, axis=2).max() > 0.5  # the coloured curve of a model
    grey = image.imread(alone)[..., :3]
    assert np.ptp(grey, axis=2).max() == 0.0
    # the measured curves: a wide line of one grey that no text or axis has
    assert (np.abs(grey[..., 0] - 0.6) < 0.01).mean() > 0.005
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match="cannot write the image"):
        overlay_images(logs[:1], [], tmp_path / "file" / "plot.png")


def test_png_without_matplotlib_names_the_extra(monkeypatch, tmp_path):
    for name in [n for n in sys.modules if n.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match="plots"):
        overlay_images([template_log()], [], tmp_path / "plot.png")


def test_the_report_of_a_model_without_statistics(tmp_path):
    logs = logs_of(M3)
    page = servo_report(M3, logs[:4], logs[4:], path=tmp_path)
    titles = [section.title for section in page.sections]
    assert titles == ["Overview", "Parameters", "Motions", "Errors", "Residuals", "Friction"]
    text = (tmp_path / "report.html").read_text().replace("<wbr>", "")
    for name in (*M3.names, *(log.name for log in logs)):
        assert name in text
    assert "load 0." in text  # friction depends on the load


def test_the_report_of_a_fit_flags_bounds_and_what_is_not_determined():
    logs = logs_of(M1)
    model = M1.with_values(friction_base=0.0, R=5.0)
    statistics = {
        "success": False,
        "message": "evaluation limit",
        "advice": "raise it",
        "parameters": [
            {"name": "kt", "interval": [0.36, 0.38], "start": 1.6},
            {"name": "R", "interval": [4.0, 5.0], "at_bound": True},
            {"name": "armature", "interval": [None, None]},  # as a file holds infinite ends
            {"name": "friction_base", "interval": [0.0, 0.001]},
            {"name": "friction_viscous", "interval": [0.0, 1.0 + 1e-12]},
        ],
        "confidence": {
            "level": 0.9,
            "determined": ["kt", "R", "friction_base", "friction_viscous"],
            "identifiability": ["kt and R are told apart"],
            "remarks": ["a remark <b>"],
            "advice": [{"sentence": "record other masses"}],
        },
        "findings": ["the supply voltage sags"],
        "notes": ["kt and R are told apart", "left out: broken.json", "the supply voltage sags"],
        "history": [{"evaluations": 64, "cost": 0.1, "stage": "scan"}],
        "stats": {"evaluations": 64, "seconds": 1.0},
        "provenance": {"seed": 3},
    }
    text = servo_report(model, logs, statistics=statistics).html()
    assert "At a bound: R." in text
    assert "At zero: friction_base." in text
    assert "The logs do not determine armature, friction_viscous." in text
    assert "90 % interval" in text and "0.370 ± 0.010" in text
    assert "a remark &lt;b&gt;" in text and "record other masses" in text
    assert text.count("kt and R are told apart") == 1 and "left out: broken.json" in text
    assert text.count("the supply voltage sags") == 1
    assert "not fitted" in text  # q_offset, of which the statistics say nothing
    assert "at any load" in text


@pytest.mark.parametrize("complete", [True, False])
def test_a_selection_that_ran_out_of_trials_says_so(complete):
    tried = TriedModel("m1", (), 6, {"kp 100": 0.02, "kp 200": 0.03})
    choice = ModelChoice(tried, (tried,), "kp", complete=complete)
    text = servo_report(M1, logs_of(M1), choice=choice).html()
    assert choice.reason in text
    assert ("The trials were used up before all candidates were tried." in text) is not complete


def test_a_report_of_a_diverging_model_says_so(monkeypatch):
    logs = logs_of(M1)[:2]
    (found,) = model_errors({"m1": M1}, logs)
    lost = dataclasses.replace(
        found,
        position=(np.where(logs[0].times > 0.3, np.nan, found.position[0]), found.position[1]),
        mae=np.array([np.inf, found.mae[1]]),
    )
    monkeypatch.setattr("trueup.actuators.report._servo_fit.model_errors", lambda *_, **__: [lost])
    assert "The simulation diverges in a log." in servo_report(M1, logs).html()


def test_bad_input_is_refused(tmp_path):
    with pytest.raises(RecordingError, match="no log"):
        overlay_report([])
    with pytest.raises(RecordingError, match="no training logs: "):
        servo_report(M1, [])
    with pytest.raises(ParameterError, match=r"wrong: .*'mx64'.*logs are of 'xl330'"):
        overlay_report([template_log()], {"wrong": ServoModel.create("mx64", "m1")})
