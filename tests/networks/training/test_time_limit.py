"""Time limits of a training, by a clock that gradient steps advance."""

import json
import time

import numpy as np
import pytest
from training_recordings import made_series

from trueup.networks import SyntheticSettings, synthesize
from trueup.networks.training import (
    ModelSettings,
    TrainSettings,
    cross_validation,
    load_configuration,
    network_choice,
    run,
    run_files,
    split_training,
    train_network,
)
from trueup.networks.training.lightning_module import NetworkTraining
from trueup.networks.training.run_recordings import read_recordings
from trueup.networks.training.schedule import TIME_LIMIT, TimeLimit, epochs_within
from trueup.networks.training.settings import ModelType
from trueup.networks.training.train import run_training


class SteppedClock:
    """Seconds that only gradient steps and validations take."""

    def __init__(self, step: float, validation: float = 0.0):
        self.now, self.step, self.validation = 100.0, step, validation
        self.steps = 0

    def install(self, monkeypatch):
        own_step, own_validation = NetworkTraining.training_step, NetworkTraining.validation_step

        def training_step(module, *given):
            self.now += self.step
            self.steps += 1
            return own_step(module, *given)

        def validation_step(module, *given):
            self.now += self.validation
            return own_validation(module, *given)

        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(NetworkTraining, "training_step", training_step)
        monkeypatch.setattr(NetworkTraining, "validation_step", validation_step)
        return self


SERIES = [made_series(seed, samples=300) for seed in range(3)]
MODEL = ModelSettings(
    model_type=ModelType("gru"), gru_hidden_dim=4, gru_num_layers=1, learning_rate=1e-2
)


def trained(epochs: int, seconds: float | None, **settings):
    train = TrainSettings(max_epochs=epochs, accelerator="cpu", burn_in=10, **settings)
    given = {"model": MODEL, "train": train, "batch_size": 4, "sequence_length": 50}
    return train_network(SERIES[:2], SERIES[2:], **given, seconds=seconds)


def test_a_slower_machine_trains_fewer_epochs_with_the_whole_schedule(monkeypatch):
    clock = SteppedClock(1.0).install(monkeypatch)
    planned = trained(12, None)
    steps = clock.steps
    assert planned.stopped == "max_epochs" and len(planned.history) == 12
    # twice as slow as the plan, which the limit was made for
    clock.step = 2.0
    began = clock.now
    result = trained(12, float(steps))
    assert result.stopped == TIME_LIMIT
    assert clock.now - began <= steps + 1e-9
    assert result.seconds == clock.now - began
    assert 5 <= len(result.history) < 12
    rates = [entry["learning_rate"] for entry in result.history]
    assert rates[-1] < 0.25 * max(rates)  # the last chunk of the cosine, not its middle
    assert result.best_epoch >= 0


def test_a_faster_machine_trains_until_the_limit_or_the_largest_number(monkeypatch):
    clock = SteppedClock(1.0).install(monkeypatch)
    began = clock.now
    result = trained(2, 100.0)  # a guess of two epochs
    assert result.stopped == TIME_LIMIT
    assert 80.0 <= clock.now - began <= 100.0
    assert result.history[-1]["learning_rate"] < 0.1 * result.history[2]["learning_rate"]
    train = TrainSettings(max_epochs=2, accelerator="cpu", burn_in=10)
    given = {"model": MODEL, "train": train, "batch_size": 4, "sequence_length": 50}
    few = train_network(SERIES[:2], SERIES[2:], **given, seconds=100.0, most_epochs=5)
    assert few.stopped == "max_epochs" and len(few.history) == 5


def test_an_epoch_in_progress_ends_at_the_limit_and_its_network_counts(monkeypatch):
    clock = SteppedClock(1.0).install(monkeypatch)
    began = clock.now
    result = trained(50, 2.5)
    assert clock.now - began == 3.0
    assert result.history == () and result.best_epoch == 0
    untrained = trained(50, 0.5).network
    assert any(
        (result.network.weights[name] != weights).any()
        for name, weights in untrained.weights.items()
    )


def test_epochs_within_a_limit_end_with_a_validation():
    assert epochs_within(10, [5.0], 100, None, 5, 50.0) == 100
    assert epochs_within(10, [5.0], 10, None, 5, 50.0) == 15
    assert epochs_within(10, [5.0, 10.0], 20, None, 5, 50.0) == 50
    assert epochs_within(10, [5.0, 10.0], 20, None, 5, 49.0) == 45
    assert epochs_within(10, [5.0, 10.0], 20, 30, 5, 50.0) == 30
    assert epochs_within(10, [5.0, 10.0], 30, 30, 5, 9.0) == 10


def test_what_a_part_did_not_use_is_divided_among_the_others(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    limit = TimeLimit.of(100.0)
    assert limit.part(0.4, 0, 4) == 10.0
    now[0] = 4.0
    assert limit.part(0.4, 1, 4) == 12.0
    now[0] = 44.0
    assert limit.part(0.4, 3, 4) == -4.0


def test_the_network_keeps_its_share_within_the_limit(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    limit, share = TimeLimit.of(100.0), network_choice.time_for_training
    now[0] = 30.0
    assert (share(limit, 1.0), share(limit, 20.0)) == (60.0, 50.0)
    now[0] = 54.0  # an end of the choice in time: more than a third of the limit
    assert share(limit, 1.0) == share(limit, 20.0) == 42.0
    now[0] = 75.0
    assert share(limit, 1.0) == 25.0
    now[0] = 130.0
    assert share(limit, 1.0) == 0.0


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("time_limit") / "data"
    settings = SyntheticSettings(inertias=(0.05, 0.06), duration=3.0, signals=("sine", "multisine"))
    synthesize(settings, folder)
    return folder


@pytest.mark.parametrize("step", [0.06, 0.3])
def test_choice_and_training_share_the_time_and_the_network_keeps_its_third(
    data, tmp_path, monkeypatch, step
):
    clock = SteppedClock(step, validation=step).install(monkeypatch)
    words = [f"data.data_base_dir={data}", "train.time=30s", "train.accelerator=cpu"]
    words += ["data.sequence_duration_s=0.3", "train.burn_in=10"]
    began = clock.now
    run_training(load_configuration(words), tmp_path / "run", verbose=False)
    finished = json.loads((tmp_path / "run" / run_files.FINISHED).read_text())
    assert clock.now - began <= 1.1 * 30
    assert finished["seconds"] >= 0.9 * 10.0
    assert finished["epochs"] >= 1
    choice = json.loads((tmp_path / "run" / network_choice.CHOICE).read_text())
    assert choice["seconds"] >= 10.0
    assert np.all([np.isfinite(each["error"]) for each in choice["tried"]])


def asked_for(data, folder, *more):
    """A training of 30 s: its duration, its record, choice and scores."""
    words = [f"data.data_base_dir={data}", "train.time=30s", "train.accelerator=cpu"]
    words += ["data.sequence_duration_s=0.3", "train.burn_in=10", *more]
    words += ["train.early_stopping.active=false"]
    began = time.perf_counter()
    run_training(load_configuration(words), folder, verbose=False)
    names = (run_files.FINISHED, network_choice.CHOICE, run_files.METRICS)
    return time.perf_counter() - began, *(json.loads((folder / name).read_text()) for name in names)


def test_recordings_are_held_out_where_the_trials_use_their_time(data, tmp_path, monkeypatch):
    SteppedClock(0.02, validation=0.02).install(monkeypatch)
    seconds, finished, choice, metrics = asked_for(data, tmp_path / "run")
    assert len(choice["tried"]) >= 2
    assert len(choice["left_out"]["recordings"]) == 4
    assert set(metrics["choice"]["left_out_errors"]) == set(choice["left_out_errors"])
    assert finished["seconds"] >= 10.0 and seconds <= 33.0


@pytest.mark.parametrize("baselines", [3.0, 15.0])
def test_slow_baselines_take_no_time_from_the_network(data, tmp_path, monkeypatch, baselines):
    # each recording held out, and the scores at the end, fit them again
    clock = SteppedClock(0.02, validation=0.02).install(monkeypatch)

    def slow(function):
        def slower(*given):
            clock.now += baselines
            return function(*given)

        return slower

    for module, name in (
        (network_choice, "simple_networks"),
        (cross_validation, "refitted"),
        (split_training, "linear_baseline"),
    ):
        monkeypatch.setattr(module, name, slow(getattr(module, name)))
    seconds, finished, choice, _ = asked_for(data, tmp_path / "run")
    assert finished["seconds"] >= 10.0
    # the last fit of the baselines may take what a limit cannot hold
    assert seconds <= 33.0 + max(0.0, baselines - 3.0)
    assert choice["left_out"] is None


@pytest.mark.parametrize("step", [3.0, 50.0])
@pytest.mark.parametrize("chosen", [True, False])
def test_a_time_shorter_than_an_epoch_ends_in_the_best_so_far(
    data, tmp_path, monkeypatch, step, chosen
):
    SteppedClock(step).install(monkeypatch)
    own = [] if chosen else ["model.model_type.name=gru", "model.gru_hidden_dim=4"]
    seconds, finished, choice, metrics = asked_for(data, tmp_path / "run", *own)
    assert finished["epochs"] == metrics["completed_epochs"] == 0
    assert choice["tried"] == []
    if step == 3.0:
        assert seconds <= 33.0 and finished["seconds"] >= 10.0
    verdict = metrics["verdict"]
    assert verdict["grade"] == "do not use"
    assert "time was over before the first epoch" in verdict["reasons"][0]["sentence"]
    if chosen:
        assert metrics["choice"]["taken"].startswith("linear")
        assert metrics["r2"] > 0.5  # the linear model is no stub
        assert "the result is a linear model" in verdict["reasons"][0]["sentence"]
    else:
        assert metrics["choice"] is None
    assert (tmp_path / "run" / run_files.LINEAR).is_file()
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_time_that_reading_takes_up_ends_in_the_baselines(data, tmp_path, monkeypatch):
    clock = SteppedClock(1.0).install(monkeypatch)

    def slow(*given, **named):
        clock.now += 29.0
        return read_recordings(*given, **named)

    monkeypatch.setattr(run, "read_recordings", slow)
    seconds, finished, _, metrics = asked_for(data, tmp_path / "run")
    assert seconds <= 33.0 and finished["epochs"] == 0
    assert metrics["verdict"]["grade"] == "do not use"
