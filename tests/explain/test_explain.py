"""Attribution of the gap between a recording and a simulation."""

import json
import re

import mujoco
import numpy as np
import pytest
from gap_logs import MODEL, TURNING, write

from trueup import sysid
from trueup.cli import main
from trueup.errors import ExperimentError, FitError
from trueup.explain import explain
from trueup.explain.held_out import HeldOutErrors
from trueup.explain.situation import extended_spec, one_step_earlier
from trueup.signals import TimeSeries


def explained(file, **more):
    experiment = sysid.load_experiment(file)
    output = file.parent / "run"
    return explain(experiment, file.parent, output=output, verbose=False, **more)


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    """A robot whose commands act three steps late, explained by the command."""
    file = write(tmp_path_factory.mktemp("late"), late=3)
    before = file.read_bytes()
    assert main(["explain", str(file), "--output", str(file.parent / "run"), "--json"]) == 0
    assert file.read_bytes() == before
    return file.parent / "run"


def test_a_late_command_is_named_with_its_delay(late):
    summary = json.loads((late / "solution.json").read_text())
    assert summary["chosen"] == ["delay"]
    (delay,) = summary["parameters"]
    assert delay["low"] <= 0.012 <= delay["high"]
    assert delay["high"] - delay["low"] < 0.002
    assert delay["model"] == 0.0
    first = summary["causes"][0]
    assert first["cause"] == "delay"
    assert first["explained"] > 0.95
    assert summary["verdict"]["reasons"][0]["sentence"].startswith("Change the delay of commands")
    assert summary["gap"]["model"] > 3 * summary["gap"]["noise"]
    assert summary["gap"]["explained"] < 1.1 * summary["gap"]["noise"]


def test_the_model_that_has_nothing_of_a_cause_says_so(late):
    summary = json.loads((late / "solution.json").read_text())
    states = {row["cause"]: row["state"] for row in summary["causes"]}
    assert states["contact-friction"] == "not in the model"


def test_the_page_begins_with_the_change(late):
    page = (late / "report.html").read_text()
    assert page.index("Change the delay of commands first") < page.index("Causes")
    assert page.count('class="plot') <= 2  # one figure


def test_nothing_is_named_where_the_model_is_right(tmp_path):
    found = explained(write(tmp_path))
    assert found.causes == []
    assert found.summary["verdict"]["grade"] == "use"
    assert "There is no gap to explain" in found.summary["message"]


def test_what_acts_in_the_held_out_part_alone_is_seen_and_not_explained(tmp_path):
    found = explained(write(tmp_path, late=4, since=450), causes=("delay",))
    assert found.causes == []
    assert found.summary["verdict"]["grade"] == "look"
    assert found.summary["message"].startswith("The training data have no gap")
    gap = found.summary["gap"]
    assert gap["model"] > 3 * gap["noise"]
    assert gap["training"] < 1.05


def test_two_causes_at_once_are_both_named(tmp_path):
    heavier = MODEL.replace('mass=".8"', 'mass="1.0"')
    causes = ("delay", "inertia", "encoder-zero")
    found = explained(write(tmp_path, heavier, late=2), causes=causes)
    assert set(found.causes) == {"delay", "inertia"}
    assert set(found.ranking[:2]) == {"delay", "inertia"}
    masses = {p["name"]: p for p in found.summary["parameters"]}
    assert abs(masses["lower_mass"]["value"] - 1.0) < 0.05


def test_limits_of_three_motors_are_found_at_once(tmp_path):
    # none of them brings the motion nearer without the others
    limits, true = {"shoulder": 12.0, "elbow": 4.27, "yaw": 12.19}, TURNING
    for joint, most in limits.items():
        servo = f'joint="{joint}" kp="40" kv="1"'
        true = true.replace(servo, f'{servo} forcerange="-{most} {most}"')
    file = write(tmp_path, true, seed=21, modelled=TURNING)
    found = explained(file, causes=("gains", "friction", "limits"))
    assert found.causes == ["limits"]
    values = [p["value"] for p in found.summary["parameters"]]
    np.testing.assert_allclose(values, list(limits.values()), rtol=0.01)


def test_what_the_data_cannot_tell_apart_is_named_together(tmp_path):
    # damping of a joint and of its servo act alike
    found = explained(
        write(tmp_path, MODEL.replace('damping=".3"', 'damping=".6"')),
        causes=("gains", "friction", "encoder-zero"),
    )
    first = found.causes[0]
    assert {first, *found.together[first]} == {"gains", "friction"}
    assert found.summary["verdict"]["grade"] == "look"
    reasons = [r["sentence"] for r in found.summary["verdict"]["reasons"]]
    assert "do not distinguish" in " ".join(reasons)


def test_a_model_with_room_moves_as_the_model():
    spec = mujoco.MjSpec.from_string(MODEL)
    plain, roomy = spec.compile(), extended_spec(spec).compile()
    times = 0.004 * np.arange(200)
    commands = TimeSeries(times, np.sin(np.outer(times, [7.0, 11.0])))
    early = one_step_earlier(roomy, commands, times[[0, -1]], "zoh")
    moved = []
    for model, series in ((plain, commands), (roomy, early)):
        data, rows = mujoco.MjData(model), []
        for control in series.interpolate(times + 0.002, "zoh"):
            data.ctrl[:] = control
            mujoco.mj_step(model, data)
            rows.append(data.qpos.copy())
        moved.append(np.array(rows))
    # the first command reaches the delayed actuators one step late
    assert np.abs(moved[0] - moved[1]).max() < 1e-9


def errors_of(residuals):
    from trueup.fitting.uncertainty.autoregressive import fit_autoregressive

    noise = tuple(fit_autoregressive(residuals[0][:, c]) for c in range(residuals.shape[2]))
    return HeldOutErrors((residuals,), (noise,), 0.0, (False,) * len(residuals))


def test_noise_with_memory_gives_an_advantage_as_often_as_it_says():
    rng = np.random.default_rng(0)
    change = np.sin(np.arange(400) / 15.0)[:, None]
    hits, gains, expected = 0, [], []
    for _ in range(300):
        noise = rng.normal(size=(600, 1))
        for t in range(1, 600):
            noise[t] += 0.8 * noise[t - 1]
        residual = noise[200:]
        # the change explains nothing: in half of all draws it lowers the error by chance
        errors = errors_of(np.stack([residual - 0.5 * change, residual + 0.5 * change]))
        gains.append(errors.squares[1] - errors.squares[0])
        expected.append(errors.deviation(1, 0))
        hits += errors.chance(1, 0) < 0.05
    assert abs(np.std(gains) / np.mean(expected) - 1) < 0.15
    assert 0.02 < hits / 300 < 0.09


def test_bad_input_is_one_sentence(tmp_path, capsys):
    file = write(tmp_path)
    for words, message in (
        (["--causes", "dellay"], "unknown cause 'dellay'.*'delay'"),
        (["--causes", "contact-friction"], "has no effect in this recording"),
        (["--level", "1.2"], "between 0.5 and 1"),
        (["--seed", "-1"], "seed"),
    ):
        assert main(["explain", str(file), *words, "--json"]) == 2
        assert re.search(message, json.loads(capsys.readouterr().out)["message"])
    with pytest.raises(FitError, match="unknown cause"):
        explained(file, causes=("colour",))
    with pytest.raises(ExperimentError, match="no data are held out"):
        explained(write(tmp_path, held_out={"fraction": 0.0}))
    with pytest.raises(ExperimentError, match="'parameters' is missing"):
        sysid.identify(sysid.load_experiment(file), tmp_path, verbose=False)
    assert not (tmp_path / "run").exists()


def test_a_dry_run_says_how_long_it_takes_and_writes_nothing(tmp_path, capsys):
    file = write(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert main(["explain", str(file), "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["causes"]["delay"] == 1
    assert plan["absent"] == ["torque-constant", "contact-friction", "joint-range"]
    assert plan["seconds"] > 0
    assert sorted(tmp_path.rglob("*")) == before


def test_causes_that_one_imitates_are_found_from_the_fit_of_all(tmp_path):
    # gains imitate a delay with a shifted encoder, and are found before either
    bias = {"b": {"start": 0.01, "bounds": [-0.1, 0.1]}}
    signals = {"signals": {"q*": {"noise": 0.001}}, "biases": {"q0": "b"}}
    file = write(tmp_path, late=2, parameters=bias, measurement=signals)
    found = explained(file, causes=("delay", "gains", "inertia", "encoder-zero"))
    assert "gains" not in found.causes
    assert found.causes[0] == "delay"
    (delay,) = (p for p in found.summary["parameters"] if p["name"] == "command_delay")
    assert abs(delay["value"] - 0.008) < 0.0005
    assert "not fitted" in found.summary["notes"][0]
