"""Training: what is scored is what is deployed, repeatable, resumable, honest about its data."""

import pickle
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch
from training_recordings import made_series

from trueup.errors import FitError, RunDirectoryError, SignalError
from trueup.networks import NetworkRuntime, load_network, predict_series, score
from trueup.networks.evaluation.baseline_networks import fit_linear
from trueup.networks.model.torch_network import TorchNetwork
from trueup.networks.training import (
    ModelSettings,
    TrainingHooks,
    TrainSettings,
    train_network,
)
from trueup.networks.training.lanes import Lanes
from trueup.networks.training.lightning_module import NetworkTraining, validation_scores
from trueup.networks.training.network_training import sample_weights, template_network
from trueup.networks.training.settings import (
    Checkpointing,
    EarlyStopping,
    ModelType,
)

FEATURES = ("current_angle_rad", "target_angle_rad", "current_ang_vel_rad_s")
TRAINING = [made_series(seed) for seed in range(4)]
VALIDATION = [made_series(10, samples=400)]


def small(family: str = "lstm", **settings) -> ModelSettings:
    given = {"gru_hidden_dim": 8, "gru_num_layers": 1, "learning_rate": 1e-2, **settings}
    return ModelSettings(model_type=ModelType(family), **given)


def short(epochs: int = 3, **settings) -> TrainSettings:
    return TrainSettings(max_epochs=epochs, accelerator="cpu", **settings)


def train(model=None, settings=None, length=50, training=TRAINING, **more):
    return train_network(
        training,
        VALIDATION,
        model=model or small(),
        train=settings or short(),
        batch_size=8,
        sequence_length=length,
        **more,
    )


def test_a_network_learns_what_a_linear_model_cannot():
    trained = train(small(gru_hidden_dim=16), short(30, mirror_share=0.5, burn_in=50))
    linear = fit_linear(TRAINING, FEATURES, 2)
    assert trained.history[-1]["val_rmse_epoch"] < trained.history[0]["val_rmse_epoch"]
    held_out = [made_series(20), made_series(21)]
    assert score(trained.network, held_out).total.rmse < score(linear, held_out).total.rmse


def test_only_epochs_with_a_validation_have_its_scores():
    trained = train(settings=short(4, check_val_every_n_epoch=2))
    scored = [entry["epoch"] for entry in trained.history if "val_rmse_epoch" in entry]
    assert scored == [1, 3]


@pytest.mark.parametrize("family", ["gru", "lstm"])
@pytest.mark.parametrize("length", [2, 20, 200])
def test_what_is_scored_is_what_is_deployed_for_any_length_of_chunk(family, length):
    # trained on windows from a zero state, a network of two steps is worse than its mean when it
    # is stepped with its state carried; here the score is that of the stepped network
    trained = train(small(family), short(1, burn_in=20), length=length)
    held_out = made_series(30, samples=400)
    inputs = held_out.features(trained.network.inputs)
    deployed = NetworkRuntime(trained.network).rollout(inputs)
    evaluated = TorchNetwork.from_network(trained.network).rollout(inputs)
    assert np.abs(deployed - evaluated).max() <= 1e-5 * np.ptp(held_out.torque)
    validated = VALIDATION[0]
    stepped = NetworkRuntime(trained.network).rollout(validated.features(trained.network.inputs))
    rmse = float(np.sqrt(np.mean((stepped - validated.torque) ** 2)))
    assert trained.history[0]["val_rmse_epoch"] == pytest.approx(rmse, rel=1e-4)


def test_chunks_of_two_steps_deploy_better_than_the_mean():
    trained = train(small(), short(3, burn_in=50), length=2, training=TRAINING[:2])
    held_out = [made_series(40)]
    assert score(trained.network, held_out).total.r2 > 0.5


def test_the_same_seed_gives_the_same_network_and_another_seed_another():
    first, second, other = (train(seed=seed, settings=short(2)) for seed in (1, 1, 2))
    assert first.history == second.history
    for name, value in first.network.weights.items():
        np.testing.assert_array_equal(value, second.network.weights[name])
    assert other.history != first.history


@pytest.mark.parametrize("family", ["lstm", "mlp"])
def test_a_resumed_training_equals_the_uninterrupted_one(family, tmp_path):
    model = small(family, gru_num_layers=2, gru_dropout=0.3)
    settings = short(4, checkpointing=Checkpointing(every_seconds=0.0), input_noise=0.05)
    whole = train(model, settings, directory=tmp_path / "whole")
    chunks = []

    def stop() -> bool:
        chunks.append(1)
        return len(chunks) == 20

    stopped = train(model, settings, directory=tmp_path / "cut", hooks=TrainingHooks(stop=stop))
    assert stopped.interrupted
    assert 0 < len(stopped.history) < 4
    best = load_network(tmp_path / "cut" / "network.safetensors")  # the best is kept
    for name, value in stopped.network.weights.items():
        np.testing.assert_array_equal(best.weights[name], value)
    resumed = train(model, settings, directory=tmp_path / "cut", resume=True)
    assert resumed.history == whole.history
    assert resumed.best_epoch == whole.best_epoch
    for name, value in whole.network.weights.items():
        np.testing.assert_array_equal(value, resumed.network.weights[name])
    files = [(tmp_path / run / "history.jsonl").read_text() for run in ("whole", "cut")]
    assert files[0] == files[1]


@pytest.mark.parametrize("wish", ["stop", "stop_at_once"])
def test_a_training_stopped_at_any_chunk_goes_on_as_if_it_had_not_been(wish, tmp_path):
    keep = Checkpointing(save_top_k=2, filename="e{epoch}")  # and the default every 30 s
    settings = short(5, checkpointing=keep)
    whole = train(settings=settings, directory=tmp_path / "whole")
    asked = []

    def stop() -> bool:
        epochs = tmp_path / "cut" / "history.jsonl"
        asked.append(epochs.is_file() and len(epochs.read_text().splitlines()) == 2)
        return asked[-1]

    hooks = TrainingHooks(**{wish: stop})
    stopped = train(settings=settings, directory=tmp_path / "cut", hooks=hooks)
    assert stopped.interrupted
    # a wish to stop lets the epoch end; one to stop at once does not
    assert len(stopped.history) == (3 if wish == "stop" else 2)
    best = min(entry["val_rmse_epoch"] for entry in stopped.history)
    scored = score(load_network(tmp_path / "cut" / "network.safetensors"), VALIDATION)
    assert scored.total.rmse == pytest.approx(best, rel=1e-4)
    checkpoint = torch.load(tmp_path / "cut" / "checkpoints" / "last.ckpt", weights_only=True)
    assert checkpoint["epoch"] == (2 if wish == "stop" else 0)
    resumed = train(settings=settings, directory=tmp_path / "cut", resume=True)
    assert resumed.history == whole.history
    for name in ("history.jsonl", "network.safetensors"):
        first, second = ((tmp_path / run / name).read_bytes() for run in ("whole", "cut"))
        assert first == second
    kept = [
        sorted(p.name for p in (tmp_path / r / "checkpoints").iterdir()) for r in ("whole", "cut")
    ]
    assert kept[0] == kept[1]


def test_a_wish_to_stop_in_the_last_epoch_ends_the_training(tmp_path):
    hooks = TrainingHooks(stop=lambda: True)
    assert not train(settings=short(1), directory=tmp_path, hooks=hooks).interrupted


@pytest.mark.parametrize("at, done", [(1, False), (3, True)])
def test_a_sigterm_that_lightning_sees_first_stops_a_training(at, done, tmp_path):
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)

    def epoch(entry):
        if entry["epoch"] == at:
            signal.raise_signal(signal.SIGTERM)

    try:
        hooks = TrainingHooks(epoch=epoch)
        stopped = train(settings=short(4), directory=tmp_path, hooks=hooks)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert stopped.interrupted != done  # the last epoch leaves nothing to go on with
    assert len(stopped.history) == at + 1
    assert stopped.history == train(settings=short(4)).history[: at + 1]


def test_a_training_without_a_checkpoint_leaves_nothing_of_the_one_before(tmp_path):
    keep = Checkpointing(save_top_k=3, filename="e{epoch}")
    train(settings=short(3, checkpointing=keep), directory=tmp_path)
    (tmp_path / "checkpoints" / "last.ckpt").unlink()
    train(settings=short(1, checkpointing=keep), directory=tmp_path, resume=True)
    assert sorted(p.name for p in (tmp_path / "checkpoints").glob("*.safetensors")) == [
        "e0.safetensors"
    ]


def test_a_training_that_stopped_early_stays_so_when_it_is_resumed(tmp_path):
    settings = short(9, early_stopping=EarlyStopping(patience=2, min_delta=1e6))
    trained = train(settings=settings, directory=tmp_path)
    assert len(trained.history) < 9
    again = train(settings=settings, directory=tmp_path, resume=True)
    assert again.history == trained.history
    assert (again.stopped, again.best_epoch) == (trained.stopped, trained.best_epoch)
    for name, value in trained.network.weights.items():
        np.testing.assert_array_equal(again.network.weights[name], value)


class Planted:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_checkpoint_that_is_none_is_refused_and_never_run(tmp_path):
    train(settings=short(1), directory=tmp_path)
    checkpoint = tmp_path / "checkpoints" / "last.ckpt"
    whole = checkpoint.read_bytes()
    hacked = tmp_path / "hacked"

    def saved(content) -> bytes:
        torch.save(content, checkpoint)
        return checkpoint.read_bytes()

    contents = (
        b"garbage",
        b"",
        np.random.default_rng(0).bytes(4000),
        pickle.dumps(Planted(hacked)),
        whole[:300],
        whole[: len(whole) // 2],
        saved([1, 2]),
        saved({"state_dict": {}}),
        saved(Planted(hacked)),
    )
    for content in contents:
        checkpoint.write_bytes(content)
        with pytest.raises(RunDirectoryError, match=r"last\.ckpt cannot be resumed") as raised:
            train(settings=short(3), directory=tmp_path, resume=True)
        assert "weights_only" not in str(raised.value)
    assert not hacked.exists()


def test_a_checkpoint_holds_numbers_only_and_another_network_cannot_take_it(tmp_path):
    train(settings=short(1), directory=tmp_path)
    checkpoint = tmp_path / "checkpoints" / "last.ckpt"
    assert torch.load(checkpoint, weights_only=True)["epoch"] == 0
    with pytest.raises(RunDirectoryError, match="another network"):
        train(small(gru_hidden_dim=9), short(3), directory=tmp_path, resume=True)
    checkpoint.write_bytes(checkpoint.read_bytes()[:300])
    with pytest.raises(RunDirectoryError, match="damaged"):
        train(settings=short(3), directory=tmp_path, resume=True)


def test_training_leaves_nothing_behind(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    train(settings=short(1, threads=2))
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
    assert torch.equal(state, torch.random.get_rng_state())
    assert torch.get_num_threads() == threads
    assert not torch.are_deterministic_algorithms_enabled()


def test_early_stopping_waits_as_told_and_the_best_epochs_are_kept(tmp_path):
    never = EarlyStopping(patience=2, min_delta=1e6)
    trained = train(settings=short(9, early_stopping=never))
    assert len(trained.history) == 3
    assert "2 validations" in trained.stopped
    enough = EarlyStopping(stopping_threshold=1e6)
    assert len(train(settings=short(9, early_stopping=enough)).history) == 1
    keep = Checkpointing(save_top_k=2, filename="e{epoch}_{val_rmse_epoch:.3f}")
    trained = train(settings=short(4, checkpointing=keep), directory=tmp_path)
    scores = [entry["val_rmse_epoch"] for entry in trained.history]
    best = sorted(range(4), key=lambda epoch: scores[epoch])[:2]
    found = {path.name for path in (tmp_path / "checkpoints").glob("*.safetensors")}
    assert found == {f"e{epoch}_{scores[epoch]:.3f}.safetensors" for epoch in best}
    assert trained.best_epoch == best[0]


def test_the_residual_has_statistics_of_its_own():
    model = small(use_residual=True, kp_phys=10.0)
    network = template_network(TRAINING, FEATURES, model, 0)
    base = network.base
    assert base is not None
    left = np.concatenate([s.torque - base.torque(s.features(base.features)) for s in TRAINING])
    assert network.normalization.output_mean == pytest.approx(left.mean())
    assert network.normalization.output_deviation == pytest.approx(left.std())
    trained = train(model)
    assert trained.network.base == base
    learned = train(small(use_residual=True, learn_base=True)).network.base
    assert learned is not None and learned.kp != 0.0


def module_of(model: ModelSettings, **settings) -> NetworkTraining:
    network = template_network(TRAINING, FEATURES, model, 0)
    return NetworkTraining(
        TorchNetwork(network),
        model,
        5,
        0,
        np.concatenate([s.features(FEATURES) for s in TRAINING]),
        np.concatenate([s.torque for s in TRAINING]),
        sample_weights(TRAINING, network, 0.0),
        [(s.features(FEATURES), s.torque) for s in VALIDATION],
        ["low"],
        {"low": 1.0},
        **settings,
    )


def test_the_difference_loss_runs_over_time_and_never_over_the_lanes():
    chunk = next(Lanes([len(s) for s in TRAINING], 8, 50).chunks(0))
    order = np.random.default_rng(0).permutation(len(chunk.samples))
    shuffled = replace(
        chunk,
        samples=chunk.samples[order],
        supervised=chunk.supervised[order],
    )
    model = small(loss_diff_weight=0.7)
    losses = [float(module_of(model).training_step(c, 0).detach()) for c in (chunk, shuffled)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)  # lanes are not neighbours
    module = module_of(model)
    with torch.no_grad():
        x = module.data_inputs[torch.as_tensor(chunk.samples)]
        torque, _ = module.network.unlimited(x)
        error = torque - module.data_torque[torch.as_tensor(chunk.samples)]
        error = error / module.network.output_deviation
    mask = torch.as_tensor(chunk.supervised)
    change = (error.diff(dim=1).square() * mask[:, 1:]).sum()
    expected = ((error.square() * mask).sum() + 0.7 * change) / chunk.nominal
    assert losses[0] == pytest.approx(float(expected), rel=1e-5)


def test_steps_beyond_the_end_of_a_lane_have_no_say():
    module = module_of(small())
    chunks = list(Lanes([len(s) for s in TRAINING], 8, 50).chunks(0))
    partly = next(c for c in chunks if not c.supervised.all())
    other = partly.samples.copy()
    other[~partly.supervised] = 0
    first = [
        module.training_step(replace(partly, samples=s, starts=True), 0)
        for s in (partly.samples, other)
    ]
    assert float(first[0].detach()) == pytest.approx(float(first[1].detach()), rel=1e-6)


def test_a_mirrored_lane_is_the_motion_the_other_way_round():
    module = module_of(small())
    chunk = next(Lanes([len(s) for s in TRAINING], 8, 50).chunks(0))
    samples = torch.as_tensor(chunk.samples)
    turned = np.ones(len(chunk.samples), bool)
    np.testing.assert_array_equal(
        module._inputs(samples, turned, False), -module.data_inputs[samples]
    )
    loss = module.training_step(replace(chunk, mirrored=turned), 0)
    with torch.no_grad():
        torque, _ = module.network.unlimited(-module.data_inputs[samples])
        error = (torque + module.data_torque[samples]) / module.network.output_deviation
    expected = (error.square() * torch.as_tensor(chunk.supervised)).sum() / chunk.nominal
    assert float(loss.detach()) == pytest.approx(float(expected), rel=1e-5)


def test_groups_of_small_torque_count_alike_where_asked_for():
    both = [made_series(1), made_series(2, group="high", scale=30.0)]
    network = template_network(both, FEATURES, small(), 0)
    plain, fair = (sample_weights(both, network, share) for share in (0.0, 1.0))
    assert (plain == 1.0).all()
    mean = network.normalization.output_mean
    power = [
        fair[part].mean() * np.mean((series.torque - mean) ** 2)
        for part, series in zip((slice(600), slice(600, None)), both, strict=True)
    ]
    assert power[0] == pytest.approx(power[1], rel=0.05)
    assert fair.mean() == pytest.approx(1.0)


def test_the_score_of_groups_does_not_depend_on_their_torque():
    torque = [np.array([1.0, -1.0]), np.array([100.0, -100.0])]
    predicted = [0.5 * torque[0], 0.5 * torque[1]]
    scores = validation_scores(predicted, torque, ["a", "b"], {"a": 1.0, "b": 100.0})
    assert scores["val_group_rmse_epoch"] == pytest.approx(0.5)


def test_the_settled_score_leaves_out_the_start_of_each_recording():
    torque = [np.zeros(4), np.zeros(2)]
    predicted = [np.array([8.0, 8.0, 1.0, 1.0]), np.array([1.0, 1.0])]
    scores = validation_scores(predicted, torque, ["a", "a"], {}, 2)
    assert scores["val_settled_rmse_epoch"] == pytest.approx(1.0)
    assert scores["val_rmse_epoch"] == pytest.approx(np.sqrt(132.0 / 6.0))


@pytest.mark.parametrize(("family", "history"), [("gru", 1), ("lstm", 1), ("mlp", 3)])
def test_a_linear_skip_starts_at_the_least_squares_solution(family, history):
    start = template_network(TRAINING, FEATURES, small(family, linear_skip=True), 0)
    linear, held_out = fit_linear(TRAINING, FEATURES, history), made_series(30)
    found, wanted = (predict_series(network, held_out) for network in (start, linear))
    assert start.has_skip
    assert np.abs(found - wanted).max() <= 1e-5 * np.ptp(wanted)


def test_a_linear_start_that_training_does_not_better_is_kept():
    trained = train(small("gru", linear_skip=True, learning_rate=1.0), short(2))
    linear = fit_linear(TRAINING, FEATURES, 1)
    assert trained.best_epoch == -1
    found, wanted = (score(n, VALIDATION).total.rmse for n in (trained.network, linear))
    assert found == pytest.approx(wanted, rel=1e-4)
    assert min(entry["val_rmse_epoch"] for entry in trained.history) > found


def test_a_linear_skip_is_trained_with_the_layers():
    trained = train(small("mlp", linear_skip=True, gru_hidden_dim=16), short(10))
    linear = fit_linear(TRAINING, FEATURES, 3)
    assert trained.best_epoch >= 0
    found, beside = (score(n, VALIDATION).total.rmse for n in (trained.network, linear))
    assert found < 0.95 * beside


def test_a_training_that_diverges_says_so():
    with pytest.raises(FitError, match="learning_rate"):
        train(small("mlp", learning_rate=1e30), short(5, gradient_clip_val=None))


def test_a_precision_that_the_processor_lacks_is_refused_in_words(monkeypatch):
    def lacking(*arguments):
        raise RuntimeError("could not create a primitive")

    monkeypatch.setattr(TorchNetwork, "unlimited", lacking)
    with pytest.raises(FitError, match="bf16-mixed here: could not create a primitive"):
        train(settings=short(1, precision="bf16-mixed"))
    with pytest.raises(RuntimeError, match="could not create a primitive"):
        train(settings=short(1))


def test_recordings_of_different_rates_or_none_are_refused():
    fast = replace(TRAINING[0], rate=200.0, name="fast")
    with pytest.raises(SignalError, match=r"fast.*data\.rate"):
        train(training=[*TRAINING, fast])
    with pytest.raises(SignalError, match="validation"):
        train_network(TRAINING, [])
    with pytest.raises(SignalError, match="training"):
        train_network([], VALIDATION)
