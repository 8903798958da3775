"""Identifications from files: folds, priors, robust losses, starts, profiles, variants, files."""

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml
from mujoco.rollout import rollout

from trueup.errors import FitError, ReportError, SimulationError, UnfinishedRunError
from trueup.fitting import Status
from trueup.fitting.uncertainty import METHODS
from trueup.parameters import ParameterDict
from trueup.runs import RunInterrupted
from trueup.sysid import identify
from trueup.sysid.experiment.file import load_experiment, parse_experiment

TRUE = {"mass": 1.0, "stiffness": 100.0, "damping": 5.0}
NOISE = np.array([2e-3, 2e-2])
MODEL = """
<mujoco><option timestep="0.002" gravity="0 0 0"/><worldbody><body name="box">
<inertial pos="0 0 0" mass="{mass}" diaginertia="0.01 0.01 0.01"/>
<joint name="slide" type="slide" axis="1 0 0" stiffness="{stiffness}" damping="{damping}"/>
<geom type="box" size="0.1 0.1 0.1"/>{payload}</body></worldbody>
<actuator><motor name="push" joint="slide"/></actuator>
<sensor><jointpos name="position" joint="slide"/><jointvel name="velocity" joint="slide"/></sensor>
</mujoco>
"""
PAYLOAD = (
    '<body name="payload"><inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/></body>'
)


def record(path: Path, seed: int, payload: str = "", outliers: int = 0, samples: int = 1000):
    """Write one run of the true system as CSV."""
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(MODEL.format(**TRUE, payload=payload))
    t = np.arange(samples) * 0.002
    tones = rng.uniform(0.5, 4.0, 3)
    force = (np.sin(2 * np.pi * t[:, None] * tones + rng.uniform(0, 6, 3)) * [8, 5, 3]).sum(axis=1)
    sensors = rollout(model, mujoco.MjData(model), np.zeros(3), force[:, None])[1][0]
    noisy = sensors + rng.normal(size=sensors.shape) * NOISE
    chosen = rng.choice(samples, outliers, replace=False)
    noisy[chosen, 0] += rng.choice([-1, 1], outliers) * 0.3
    np.savetxt(
        path,
        np.column_stack([t, noisy, force]),
        delimiter=",",
        header="t,pos,vel,force",
        comments="",
    )


def experiment(folder: Path, runs: int = 2, **changes) -> dict:
    """Content of an experiment file for recordings run_0.csv, run_1.csv, ..."""
    start = {"mass": 2.0, "stiffness": 60.0, "damping": 2.0}
    (folder / "box.xml").write_text(MODEL.format(**start, payload=""))
    content = {
        "name": "box",
        "model": {"file": "box.xml"},
        "recordings": [
            {
                "file": f"run_{i}.csv",
                "signals": {"position": "pos", "velocity": "vel"},
                "controls": {"push": "force"},
                "initial": "default",
            }
            for i in range(runs)
        ],
        "parameters": {
            "mass": {"target": "body/box/mass", "bounds": [0.1, 10], "scale": "log"},
            "stiffness": {"target": "joint/slide/stiffness", "bounds": [1, 1000]},
            "damping": {"target": "joint/slide/damping", "bounds": [0, 50]},
        },
        "measurement": {"signals": {"position": {"noise": 2e-3}, "velocity": {"noise": 2e-2}}},
        "held_out": {},
    }
    return content | changes


def run(folder: Path, content: dict):
    return identify(
        parse_experiment(yaml.safe_dump(content, sort_keys=False)), folder, verbose=False
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("box")
    for i in range(4):
        record(folder / f"run_{i}.csv", seed=i)
    return folder


def test_known_values_are_found_and_every_fold_finds_them(recorded):
    result = run(recorded, experiment(recorded, 4, held_out={"folds": 4}, name="folds"))
    for name, true in TRUE.items():
        assert result.solution.parameters[name] == pytest.approx(true, rel=0.01)
    crossed = result.cross_validation
    assert crossed.values.shape == (4, 3)
    np.testing.assert_allclose(crossed.values, [list(TRUE.values())] * 4, rtol=0.02)
    # weighted by the noise, an error of one is the noise itself
    np.testing.assert_allclose(crossed.held_out_error, 1.0, atol=0.06)
    assert {name for part in crossed.held_out for name in part} == {f"run_{i}" for i in range(4)}


def test_a_model_that_diverges_at_the_start_values_is_refused_before_a_run_is_written(recorded):
    content = experiment(recorded, name="diverging")
    content["parameters"]["stiffness"] |= {"start": -1e9, "bounds": [-2e9, 0]}
    with pytest.raises(SimulationError, match="the simulation fails at the start values"):
        run(recorded, content)
    assert not (recorded / "runs" / "diverging").exists()


@pytest.mark.parametrize("folds", [0, 2])
def test_a_constant_has_not_seen_what_it_is_compared_on(tmp_path, folds):
    """The parts that a second fit predicts are data of the fit, and not of its baseline."""
    for i in range(2):
        record(tmp_path / f"run_{i}.csv", seed=i)
    content = experiment(tmp_path, 2, name="unseen", held_out={"folds": folds} if folds else {})
    verdict = run(tmp_path, content | {"output": {"report": False}}).summary["verdict"]
    found = next(each for each in verdict["comparisons"] if each["held_out"])
    assert found["channel"] == "position"
    runs = [np.loadtxt(tmp_path / f"run_{i}.csv", delimiter=",", skiprows=1)[:, 1]
            for i in range(2)]  # fmt: skip
    parts = runs if folds else [each[750:] for each in runs]
    total, count = sum(each.sum() for each in runs), sum(map(len, runs))
    means = [(total - part.sum()) / (count - len(part)) for part in parts]

    def error(guesses):
        off = [part - guess for part, guess in zip(parts, guesses, strict=True)]
        return np.sqrt(np.mean(np.concatenate(off) ** 2))

    expected, leaking = error(means), error([total / count] * 2)
    assert abs(leaking / expected - 1.0) > 0.002  # else the test could not tell
    assert found["baselines"]["a constant"] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("folds", [0, 2])
def test_a_start_at_an_earlier_result_is_no_baseline_on_what_that_has_seen(tmp_path, folds):
    for i in range(2):
        record(tmp_path / f"run_{i}.csv", seed=i, samples=240)
    more = {"held_out": {"folds": folds} if folds else {}, "output": {"report": False}}
    content = experiment(tmp_path, 2, name="first") | more
    first = run(tmp_path, content)
    for name, value in first.solution.parameters.items():
        content["parameters"][name]["start"] = float(value)
    again = run(tmp_path, content | {"name": "again"})
    np.testing.assert_allclose(again.solution.x, first.solution.x, rtol=1e-3)
    verdicts = [each.summary["verdict"] for each in (first, again)]
    for verdict, has_start in zip(verdicts, (True, False), strict=True):
        unseen = [each for each in verdict["comparisons"] if each["held_out"]]
        assert unseen
        for each in unseen:
            assert ("the model before the fit" in each["baselines"]) == has_start
            assert "a constant" in each["baselines"]
    assert all(verdict["grade"] != "do not use" for verdict in verdicts)
    # the fit itself brought nothing, and that is said
    assert "on the data of the fit" in str(verdicts[1]["reasons"])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_intervals_can_be_asked_for(recorded, method):
    content = experiment(recorded, 1, name=method, confidence={"method": method})
    result = run(recorded, content | {"output": {"report": False}})
    assert method in ("auto", result.summary["covariance"]["method"])
    half = result.assessment.standard_errors / result.solution.x
    assert (half > 0).all() and (half < 0.05).all()


def test_the_same_seed_gives_the_same_numbers(recorded):
    first = run(recorded, experiment(recorded, name="one"))
    again = run(recorded, experiment(recorded, name="two"))
    np.testing.assert_array_equal(first.solution.x, again.solution.x)
    assert [h["cost"] for h in first.solution.history] == [
        h["cost"] for h in again.solution.history
    ]


def test_a_prior_pulls_as_much_as_its_sd_says(recorded):
    """Against the posterior of two Gaussians: the plain fit and the prior."""
    plain = run(recorded, experiment(recorded, 1, name="plain"))
    content = experiment(recorded, 1, name="prior")
    sd = 0.5 * float(plain.assessment.standard_errors[1])
    mean = plain.solution.parameters["stiffness"] + 4 * sd
    content["parameters"]["stiffness"]["prior"] = {"mean": mean, "sd": sd}
    pulled = run(recorded, content)
    information = np.linalg.inv(plain.solution.covariance)
    prior = np.diag([0.0, 1 / sd**2, 0.0])
    expected = plain.solution.x + np.linalg.solve(
        information + prior, prior @ (np.array([0.0, mean, 0.0]) - [0, plain.solution.x[1], 0])
    )
    np.testing.assert_allclose(pulled.solution.x, expected, rtol=2e-3)
    assert pulled.assessment.standard_errors[1] < plain.assessment.standard_errors[1]


def test_a_prior_weighs_the_same_where_the_noise_has_to_be_estimated(recorded):
    content = experiment(recorded, 1, name="known")
    content["parameters"]["stiffness"]["prior"] = {"mean": 103.0, "sd": 0.3}
    known = run(recorded, content)
    blind = run(recorded, content | {"name": "blind", "measurement": {}})
    a, b = known.solution.parameters["stiffness"], blind.solution.parameters["stiffness"]
    assert abs(a - b) < 0.25 * abs(known.solution.parameters["stiffness"] - 100.0) + 0.2


def test_robust_losses_ignore_outliers_that_spoil_plain_least_squares(tmp_path):
    record(tmp_path / "run_0.csv", seed=5, outliers=60)
    errors = {}
    for loss in ("linear", "huber", "cauchy"):
        content = experiment(tmp_path, 1, name=loss, search={"loss": loss})
        found = run(tmp_path, content).solution.parameters
        errors[loss] = max(abs(found[n] / TRUE[n] - 1) for n in TRUE)
    assert errors["huber"] < 0.5 * errors["linear"]
    assert errors["cauchy"] < 0.5 * errors["linear"]
    assert errors["cauchy"] < 0.02


def test_several_starts_and_a_profile(recorded):
    content = experiment(
        recorded, 1, name="starts", search={"starts": 9}, confidence={"profile": ["damping"]}
    )
    result = run(recorded, content)
    assert result.solution.success
    assert "9 starts" in result.solution.message
    row = next(r for r in result.summary["parameters"] if r["name"] == "damping")
    # nearly linear in its parameters: the two kinds of interval agree
    assert row["profile_low"] == pytest.approx(row["low"], abs=0.2 * (row["high"] - row["low"]))
    assert row["profile_high"] == pytest.approx(row["high"], abs=0.2 * (row["high"] - row["low"]))


def test_cma_es_looks_through_the_box_and_is_polished(tmp_path):
    record(tmp_path / "run_0.csv", seed=5, samples=200)
    local = run(tmp_path, experiment(tmp_path, 1, name="local"))
    search = {"method": "cmaes", "population": 20, "max_evaluations": 300}
    content = experiment(tmp_path, 1, name="global", search=search)
    content["parameters"]["stiffness"] |= {"start": 990.0, "deviation": 300.0}
    content["parameters"]["damping"]["scale"] = "logit"
    found = run(tmp_path, content)
    assert found.solution.success
    assert found.solution.cost == pytest.approx(local.solution.cost, rel=1e-6)
    generations = [r for r in found.summary["history"] if "generation" in r]
    assert len(generations) == 15
    assert found.summary["history"][-1]["cost"] < generations[-1]["cost"]
    evaluations = [r["evaluations"] for r in found.summary["history"]]
    assert evaluations == sorted(evaluations)


def test_settings_of_another_search_are_refused(recorded):
    for search, words in (
        ({"restarts": "bipop"}, r"search.restarts is for the methods auto, cmaes;"),
        (
            {"method": "scipy", "population": 8},
            r"search.population is .* auto, cmaes;",
        ),
        (
            {"method": "cmaes", "starts": 4},
            r"search.starts .* least-squares, .*search.restarts",
        ),
        ({"method": "scipy", "starts": 4}, r"search.starts .* methods least-squares, .* 'scipy'"),
        ({"method": "scipy", "time_limit": 1.0}, r"search.time_limit .*'scipy'"),
        ({"method": "scipy_parallel_fd", "time_limit": 1.0}, r"search.time_limit"),
        ({"method": "scipy", "difference": 1e-4}, r"search.difference .*scipy_parallel_fd"),
        ({"loss_scale": 2.0}, r"search.loss_scale is 2, but the loss 'linear' has no scale"),
    ):
        with pytest.raises(FitError, match=words):
            run(recorded, experiment(recorded, 1, name="wrong", search=search))
    assert not (recorded / "runs" / "wrong").exists()


def test_ctrl_c_says_what_scipy_keeps(recorded, monkeypatch):
    """Nothing of a fit by scipy is saved, so that there is nothing to resume."""

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("trueup.fitting.searches.scipy_least_squares.scipy_least_squares", stop)
    with pytest.raises(RunInterrupted) as stopped:
        run(recorded, experiment(recorded, 1, name="stopped", search={"method": "scipy"}))
    assert "the fit is not saved" in str(stopped.value)
    assert "--overwrite" in str(stopped.value) and "--resume" not in str(stopped.value)


def test_backends_agree(recorded):
    costs = {
        method: run(
            recorded, experiment(recorded, 1, name=method, search={"method": method})
        ).solution.cost
        for method in ("mujoco", "scipy", "scipy_parallel_fd")
    }
    assert costs["scipy"] == pytest.approx(costs["mujoco"], rel=1e-6)
    assert costs["scipy_parallel_fd"] == pytest.approx(costs["mujoco"], rel=1e-6)


def test_a_variant_with_a_payload_tells_mass_and_force_apart(tmp_path):
    """With one cart only their ratio is determined; a known payload gives both."""
    free = {"stiffness": 0.0, "damping": 0.0, "mass": 3.0}
    record_free = MODEL.format(stiffness=0.0, damping=0.0, mass=2.0, payload="{payload}")
    for i, payload in enumerate(("", PAYLOAD)):
        model = mujoco.MjModel.from_xml_string(
            record_free.format(payload=payload).replace(
                'joint="slide"/></actuator>', 'joint="slide" gear="3"/></actuator>'
            )
        )
        t = np.arange(600) * 0.002
        force = 3 * np.sin(2 * np.pi * 2 * t) + 2 * np.sin(2 * np.pi * 5 * t)
        sensors = rollout(model, mujoco.MjData(model), np.zeros(3), force[:, None])[1][0]
        noisy = sensors + np.random.default_rng(i).normal(size=sensors.shape) * 1e-4
        np.savetxt(
            tmp_path / f"run_{i}.csv",
            np.column_stack([t, noisy, force]),
            delimiter=",",
            header="t,pos,vel,force",
            comments="",
        )
    content = experiment(tmp_path, 1, name="alone", measurement={})
    both = experiment(tmp_path, 2, name="both", measurement={})
    (tmp_path / "box.xml").write_text(MODEL.format(**free, payload=""))
    (tmp_path / "loaded.xml").write_text(MODEL.format(**free, payload=PAYLOAD))
    content["parameters"] = {
        "mass": {"target": "body/box/mass", "bounds": [0.5, 5]},
        "gear": {"target": "actuator/push/gear/0", "start": 2.0, "bounds": [0.5, 8]},
    }
    alone = run(tmp_path, content)
    direction = alone.assessment.identifiability.directions[0].raw
    assert direction["mass"] / direction["gear"] == pytest.approx(2 / 3, rel=0.01)
    assert all(not r["determined"] for r in alone.summary["parameters"])
    both["parameters"] = content["parameters"]
    both["variants"] = {"loaded": {"file": "loaded.xml"}}
    both["recordings"][1]["model"] = "loaded"
    told_apart = run(tmp_path, both)
    assert told_apart.solution.parameters["mass"] == pytest.approx(2.0, rel=0.01)
    assert told_apart.solution.parameters["gear"] == pytest.approx(3.0, rel=0.01)
    assert (told_apart.directory / "loaded.xml").is_file()


def test_the_run_directory_can_be_used_again(recorded):
    result = run(recorded, experiment(recorded, name="files"))
    folder = result.directory
    saved = json.loads((folder / "solution.json").read_text())
    assert saved["parameters"][0]["name"] == "mass"
    assert saved["provenance"]["inputs"][0]["sha256"]
    assert saved["provenance"]["seed"] == 0
    # the identified model moves as the fit said
    model = mujoco.MjModel.from_xml_path(str(folder / "model.xml"))
    assert model.body("box").mass[0] == pytest.approx(result.solution.parameters["mass"], rel=1e-6)
    # the parameters can be fitted again, and the resolved experiment run again
    parameters = ParameterDict.load_from_disk(folder / "identified_parameters.yaml")
    assert parameters["stiffness"].value[0] == pytest.approx(result.solution.x[1])
    assert parameters["mass"].targets == ("body/box/mass",)
    assert load_experiment(folder / "experiment.yaml") == result.prepared.experiment


def test_a_report_that_cannot_be_drawn_loses_no_result(recorded, monkeypatch):
    def broken(*arguments, **named):
        raise ReportError("a figure has no data")

    monkeypatch.setattr("trueup.sysid.report.identification_report", broken)
    with pytest.raises(UnfinishedRunError, match=r"result is in .*undrawn.*no data"):
        run(recorded, experiment(recorded, 1, name="undrawn"))
    folder = recorded / "runs/undrawn"
    saved = json.loads((folder / "solution.json").read_text())
    assert saved["status"] == "converged"
    assert saved["failed"] == {"the report": "a figure has no data"}
    for name in ("model.xml", "identified_parameters.yaml", "signals.npz"):
        assert (folder / name).is_file()
    assert not (folder / "report.html").exists()


def test_estimated_initial_states_are_found(tmp_path):
    """A swing that begins in motion, read from noisy signals."""
    model = mujoco.MjModel.from_xml_string(MODEL.format(**TRUE, payload=""))
    t = np.arange(800) * 0.002
    force = 4 * np.sin(2 * np.pi * 1.3 * t)
    sensors = rollout(model, mujoco.MjData(model), np.array([0.0, 0.08, -0.9]), force[:, None])[1][
        0
    ]
    rng = np.random.default_rng(0)
    noisy = sensors + rng.normal(size=sensors.shape) * NOISE
    np.savetxt(
        tmp_path / "run_0.csv",
        np.column_stack([t + 100.0, noisy, force]),
        delimiter=",",
        header="t,pos,vel,force",
        comments="",
    )
    content = experiment(tmp_path, 1, name="moving")
    content["recordings"][0]["initial"] = "estimated"
    found = run(tmp_path, content).solution.parameters
    assert found["initial_slide_qpos_run_0"] == pytest.approx(0.08, abs=1e-3)
    assert found["initial_slide_qvel_run_0"] == pytest.approx(-0.9, abs=0.02)
    assert found["mass"] == pytest.approx(1.0, rel=0.02)


def test_an_estimated_start_on_its_bound_says_nothing_against_the_robot(tmp_path, monkeypatch):
    record(tmp_path / "run_0.csv", seed=5)
    content = experiment(tmp_path, 1, name="rest", held_out={"fraction": 0.3})
    content["recordings"][0]["initial"] = "estimated"
    spans = "trueup.sysid.experiment.initial_unknowns._spans"
    monkeypatch.setattr(spans, lambda *_: (1e-5, 1e-4))  # a fraction of the noise
    result = run(tmp_path, content)
    rows = {r["name"]: r for r in result.summary["parameters"]}
    on_bound = [name for name, row in rows.items() if row["at_bound"]]
    assert on_bound and all(name.startswith("initial_slide_") for name in on_bound)
    assert rows["mass"]["value"] == pytest.approx(1.0, rel=0.03)
    assert result.summary["verdict"]["grade"] != "do not use"
    said = [i for i in result.summary["insights"] if on_bound[0] in str(i)]
    assert any("an estimated initial state" in i["sentence"] for i in said)
    assert not any(i["severity"] == "problem" for i in said)
    # a bound of the robot's own unknown counts as before
    content["parameters"]["damping"]["bounds"] = [0, 3]
    content["parameters"]["damping"]["start"] = 1.0
    content["name"] = "bounded"
    verdict = run(tmp_path, content).summary["verdict"]
    assert verdict["grade"] == "do not use" and "initial_slide" not in str(verdict)


def test_delays_gains_and_biases_of_sensors_are_found(tmp_path):
    record(tmp_path / "run_0.csv", seed=8)
    table = np.loadtxt(tmp_path / "run_0.csv", delimiter=",", skiprows=1)
    t = table[:, 0]
    table[:, 1] = 1.2 * np.interp(t - 0.0123, t, table[:, 1]) + 0.05
    np.savetxt(tmp_path / "run_0.csv", table, delimiter=",", header="t,pos,vel,force", comments="")
    content = experiment(tmp_path, 1, name="sensors")
    content["parameters"] |= {
        "lag": {"start": 0.0, "bounds": [0.0, 0.05], "unit": "s"},
        "gain": {"start": 1.0, "bounds": [0.5, 2.0]},
        "offset": {"start": 0.0, "bounds": [-1.0, 1.0]},
    }
    content["measurement"] |= {
        "delays": {"position": "lag"},
        "gains": {"position": "gain"},
        "biases": {"pos*": "offset"},
    }
    result = run(tmp_path, content)
    found = result.solution.parameters
    assert found["lag"] == pytest.approx(0.0123, abs=5e-4)
    assert found["gain"] == pytest.approx(1.2, rel=0.01)
    assert found["offset"] == pytest.approx(0.05, abs=1e-3)
    assert found["mass"] == pytest.approx(1.0, rel=0.02)


def test_a_time_limit_holds_within_one_batch(recorded):
    # one batch: 500 candidates x 100,000 steps, half a minute
    model = MODEL.format(mass=2.0, stiffness=60.0, damping=2.0, payload="")
    (recorded / "slow.xml").write_text(model.replace('timestep="0.002"', 'timestep="0.00002"'))
    content = experiment(
        recorded,
        1,
        name="slow",
        model={"file": "slow.xml"},
        search={"method": "cmaes", "population": 500, "time_limit": 1.0},
        output={"report": False},
    )
    result = run(recorded, content)
    assert result.solution.status is Status.TIME_LIMIT
    assert 1.0 < result.solution.stats["seconds"] < 3.0
    assert result.solution.parameters["mass"] == pytest.approx(2.0)
    stored = json.loads((result.directory / "solution.json").read_text())
    assert 0 < stored["cost"] < 1e30 and stored["verdict"]["grade"] == "do not use"
