"""Training of one network, with its epoch chosen on whole validation recordings."""

import contextlib
import logging
import pickle
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import FitError, MissingExtraError, RunDirectoryError, SignalError, listing
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.features import FEATURE_NAMES
from trueup.networks.data.normalization import Normalization
from trueup.networks.evaluation.baseline_networks import fit_limited, fit_linear
from trueup.networks.model.network import RECURRENT, SKIP, Network, last_layer
from trueup.networks.training.hooks import TrainingHooks
from trueup.networks.training.lanes import Lanes
from trueup.networks.training.schedule import chunk_samples, lane_count, scheduled
from trueup.networks.training.settings import SETTLED, ModelSettings, TrainSettings
from trueup.runs.store import atomic

_UNREADABLE = (
    RuntimeError,
    LookupError,
    OSError,
    EOFError,
    ValueError,
    TypeError,
    AttributeError,
    pickle.UnpicklingError,
)
"""Errors raised by a damaged checkpoint or one of another network."""


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """Result of a training."""

    network: Network
    """The network of the best epoch."""
    best_epoch: int
    """Best epoch, counted from zero; -1: the network before training, its linear skip alone."""
    history: tuple[dict[str, Any], ...]
    """Loss, validation scores and learning rate of each epoch."""
    stopped: str
    """Reason for the end of training: ``max_epochs``, or a text."""
    seconds: float
    """Wall time of the training, over all sessions [s]."""
    interrupted: bool = False
    """Whether it was interrupted before its end."""


def train_network(
    training: Sequence[ActuatorSeries],
    validation: Sequence[ActuatorSeries],
    *,
    features: tuple[str, ...] = FEATURE_NAMES,
    model: ModelSettings | None = None,
    train: TrainSettings | None = None,
    batch_size: int | None = None,
    sequence_length: int | None = None,
    seed: int = 42,
    directory: Path | None = None,
    resume: bool = False,
    provenance: dict[str, Any] | None = None,
    hooks: TrainingHooks | None = None,
    seconds: float | None = None,
    most_epochs: int | None = None,
) -> TrainedNetwork:
    """Train a network many-to-many on chunks, with a persistent hidden state.

    The recordings are divided into lanes, run as a batch (`Lanes`); each chunk starts in the final
    state of the previous one, and every step is supervised once per epoch. The selected epoch has
    the best score over whole validation recordings from a cold start.

    Args:
        training: training recordings, all of one rate.
        validation: recordings for the choice of the epoch.
        features: inputs of the network, in order.
        model: settings of the network and its optimiser.
        train: settings of the training.
        batch_size: number of lanes in a batch; None: from the recordings, see `schedule`.
        sequence_length: number of unrolled steps; None: from the rate.
        seed: seed of weights, lanes and dropout.
        directory: folder for ``network.safetensors``, ``history.jsonl`` and ``checkpoints``.
        resume: resume from the checkpoint in the directory, if there is one.
        provenance: provenance, saved with the network.
        hooks: callbacks of the training, which may stop it.
        seconds: time limit [s], over all sessions of a resumed training; None: none. The number of
            epochs is what fits, ``max_epochs`` only a first guess; the network is the best of them.
        most_epochs: largest number of epochs within the time limit; None: none.

    Raises:
        SignalError: recordings of different rates, or none for a part.
        ColumnError: a feature is not recorded.
        FitError: training diverged, or the checkpoint belongs to another network.
        MissingExtraError: torch or lightning is not installed.
    """
    model, train = model or ModelSettings(), train or TrainSettings()
    if not validation:
        raise SignalError("no recording remains for validation, which early stopping requires")
    _one_rate((*training, *validation))
    try:
        import lightning.pytorch as lightning
        from lightning.pytorch.utilities.exceptions import SIGTERMException
    except ImportError as error:
        raise MissingExtraError("training", "network", error.name or "lightning") from error
    from trueup.networks.model.torch_network import TorchNetwork
    from trueup.networks.training.checkpoint_callback import LAST, CheckpointCallback, StopTraining
    from trueup.networks.training.checkpoint_files import AtomicCheckpoints
    from trueup.networks.training.lightning_module import LaneBatches, NetworkTraining

    started = time.perf_counter()
    network = template_network(training, features, model, seed, train.group_weighting)
    lengths = [len(series) for series in training]
    chunk = sequence_length or chunk_samples(network.rate)
    # samples excluded from the score are not trained on: an unfilled history does not determine the
    # torque
    settled = network.family not in RECURRENT and train.checkpointing.monitor in SETTLED
    unfilled = network.history - 1 if settled else 0
    lanes = Lanes(
        lengths,
        batch_size or lane_count(lengths, chunk),
        chunk,
        max(train.burn_in, network.history - 1),
        0.0 if settled else train.cold_start_share,
        train.mirror_share,
        seed,
    )
    model, train = scheduled(model, train, lanes)
    assert train.max_epochs is not None
    module = NetworkTraining(
        TorchNetwork(network, model.gru_dropout if network.family in RECURRENT else 0.0),
        model,
        train.max_epochs,
        seed,
        np.concatenate([series.features(network.inputs) for series in training]),
        np.concatenate([series.torque for series in training]),
        sample_weights(training, network, train.group_weighting, unfilled),
        [(series.features(network.inputs), series.torque) for series in validation],
        [series.group for series in validation],
        {group: float(torque.std()) for group, torque in by_group(training).items()},
        train.input_noise,
    )
    if seconds is not None:
        seconds -= time.perf_counter() - started  # libraries are loaded, lanes made
    most = train.max_epochs if train.max_steps is not None else most_epochs
    callback = CheckpointCallback(
        train, directory, provenance or {}, hooks or TrainingHooks(), seconds, most
    )
    checkpoint = None
    if directory is not None:
        (directory / "checkpoints").mkdir(parents=True, exist_ok=True)
        atomic.remove_partial(directory / "checkpoints")
        checkpoint = directory / "checkpoints" / LAST
        if not (resume and checkpoint.is_file()):
            checkpoint = None
            _clear(directory)
    with _quiet(), _torch_settings(train.threads):
        trainer = lightning.Trainer(
            accelerator=train.accelerator,
            devices=1,
            precision=train.precision,  # type: ignore[arg-type]
            max_epochs=train.max_epochs,
            gradient_clip_val=train.gradient_clip_val,
            gradient_clip_algorithm=train.gradient_clip_algorithm,
            deterministic=train.deterministic_trainer,
            check_val_every_n_epoch=train.check_val_every_n_epoch,
            callbacks=[callback],
            plugins=[AtomicCheckpoints()],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            use_distributed_sampler=False,
            default_root_dir=directory,
        )
        interrupted = False
        try:
            trainer.fit(
                module,
                train_dataloaders=LaneBatches(lanes, lambda: _epochs_done(trainer)),
                val_dataloaders=[0],
                ckpt_path=checkpoint,
                weights_only=True,
            )
        except StopTraining:
            interrupted = not callback.reason
        except SIGTERMException:
            # Lightning handles SIGTERM too, possibly first: its exception is a SystemExit with
            # code 0, with which the command would report success
            interrupted = not callback.reason and len(callback.history) < train.max_epochs
        except RunDirectoryError:  # a file cannot be written
            raise
        except _UNREADABLE as error:
            if checkpoint is None or trainer.global_step:
                if isinstance(error, RuntimeError) and train.precision != "32-true":
                    raise FitError(
                        f"torch cannot train a {model.family!r} network with train.precision="
                        f"{train.precision} here: {_first_line(error)}. Set train.precision to "
                        "32-true"
                    ) from error
                raise
            reason = _first_line(error)
            if isinstance(error, pickle.UnpicklingError):
                # the message of torch advises to execute code in the file
                reason = "it contains objects other than numbers and text"
            raise RunDirectoryError(
                f"{checkpoint} cannot be resumed: {reason}. It is damaged or belongs "
                "to another network; start again with --overwrite"
            ) from error
    if callback.best is None:
        callback.best = module.network.to_network(provenance)
    return TrainedNetwork(
        network=callback.best,
        best_epoch=callback.best_epoch,
        history=tuple(callback.history),
        stopped=callback.reason or ("interrupted" if interrupted else "max_epochs"),
        seconds=callback.elapsed,
        interrupted=interrupted,
    )


def template_network(
    training: Sequence[ActuatorSeries],
    features: tuple[str, ...],
    model: ModelSettings,
    seed: int,
    group_weighting: float = 0.0,
) -> Network:
    """The network before training: statistics of the training part, initial weights.

    With an analytic base the statistics of the output are those of the residual.

    Raises:
        SignalError: there is no recording, or rates differ.
        ColumnError: a feature is not recorded.
    """
    from trueup.networks.model.torch_network import initial_network

    if not training:
        raise SignalError("no recording remains for training")
    rate = _one_rate(training)
    inputs = [series.features(features) for series in training]
    base = model.base
    outputs = [series.torque for series in training]
    if base is not None:
        outputs = [
            series.torque - base.torque(series.features(base.features)) for series in training
        ]
    stacked = np.concatenate(inputs)
    template: dict[str, Any] = {
        "family": model.family,
        "normalization": Normalization.of(features, inputs, outputs),
        "rate": rate,
        "base": base,
        "torque_limit": model.torque_limit,
        "history": 1 if model.family in RECURRENT else model.history,
        "activation": model.activation,
        "feature_lowest": stacked.min(axis=0),
        "feature_highest": stacked.max(axis=0),
    }
    network = initial_network(template, model.gru_hidden_dim, model.gru_num_layers, seed)
    if model.linear_skip and model.family != "linear":
        network = with_linear_skip(network, training, group_weighting)
    return network


def with_linear_skip(
    network: Network, training: Sequence[ActuatorSeries], group_weighting: float
) -> Network:
    """The network with a linear initialisation: least-squares skip, zero output of the layers.

    Args:
        network: network without a skip.
        training: recordings for the fit of the skip.
        group_weighting: see `sample_weights`.
    """
    weights = sample_weights(training, network, group_weighting)
    ends = np.cumsum([len(series) for series in training])[:-1]
    parts = np.split(weights, ends)
    of = (training, network.features, network.history)
    if network.torque_limit is None:
        linear = fit_linear(*of, network.base, sample_weights=parts)
    else:
        linear = fit_limited(*of, network.torque_limit, network.base, parts)
    last = last_layer(network)
    zero = np.zeros_like(network.weights[f"{last}.weight"])
    changed = {
        f"{last}.weight": zero,
        f"{last}.bias": linear.weights["layers.0.bias"].astype(zero.dtype),
        SKIP: linear.weights["layers.0.weight"].astype(zero.dtype),
    }
    return replace(network, weights={**network.weights, **changed})


def sample_weights(
    training: Sequence[ActuatorSeries], network: Network, share: float, unfilled: int = 0
) -> np.ndarray:
    """Weight of each sample in the loss, of mean 1, shape (n,).

    Args:
        training: recordings.
        network: its statistics and base define the magnitude of the output of each group.
        share: 0: equal weights; 1: inverse to the mean square of the output of the group.
        unfilled: number of samples at the start of each recording with zero weight.
    """
    outputs = [series.torque for series in training]
    if (base := network.base) is not None:
        outputs = [
            o - base.torque(s.features(base.features))
            for o, s in zip(outputs, training, strict=True)
        ]
    mean, deviation = network.normalization.output_mean, network.normalization.output_deviation
    weights = {}
    for group in dict.fromkeys(series.group for series in training):
        members = [o for o, s in zip(outputs, training, strict=True) if s.group == group]
        power = float(np.mean((np.concatenate(members) - mean) ** 2)) / deviation**2
        weights[group] = max(power, 1e-6) ** -share
    counted = [np.arange(len(s)) >= min(unfilled, len(s) - 1) for s in training]
    stacked = np.concatenate(
        [weights[s.group] * count for s, count in zip(training, counted, strict=True)]
    )
    return stacked / stacked.mean()


def by_group(series: Sequence[ActuatorSeries]) -> dict[str, np.ndarray]:
    """Torque of each group, with its recordings concatenated."""
    groups = dict.fromkeys(each.group for each in series)
    return {
        group: np.concatenate([each.torque for each in series if each.group == group])
        for group in groups
    }


def _clear(directory: Path) -> None:
    """Remove files of epochs after the last checkpoint, which are repeated."""
    (directory / "history.jsonl").unlink(missing_ok=True)
    for kept in (directory / "checkpoints").glob("*.safetensors"):
        kept.unlink()


def _epochs_done(trainer: Any) -> int:
    """Completed epochs, also while a resumed trainer counts the last one as current."""
    return trainer.fit_loop.epoch_progress.current.processed


def _one_rate(series: Sequence[ActuatorSeries]) -> float:
    rates = {each.rate for each in series}
    lowest, highest = min(rates), max(rates)
    if highest > lowest * (1.0 + 1e-3):
        named = {each.rate: f"{each.name} at {each.rate:g} Hz" for each in series}
        raise SignalError(
            f"recordings have different rates: {listing(named.values())}. A network has one "
            "rate: resample them with data.rate"
        )
    return series[0].rate


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress notices of Lightning; progress and files contain the relevant information."""
    names = ("lightning.pytorch", "lightning.fabric", "lightning")
    loggers = [logging.getLogger(name) for name in names]
    former = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"lightning(\.|_)")
        warnings.filterwarnings("ignore", message=r".*lightning.*", category=DeprecationWarning)
        # warning about a file that is not a checkpoint, which raises an error here
        warnings.filterwarnings("ignore", message="Detected pickle protocol", category=UserWarning)
        try:
            yield
        finally:
            for logger, level in zip(loggers, former, strict=True):
                logger.setLevel(level)


@contextlib.contextmanager
def _torch_settings(threads: int) -> Iterator[None]:
    """Set the process-wide settings of torch, and restore them at the end."""
    import torch

    deterministic = torch.are_deterministic_algorithms_enabled()
    former = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng():
            yield
    finally:
        torch.use_deterministic_algorithms(deterministic)
        torch.set_num_threads(former)


def _first_line(error: BaseException) -> str:
    return (str(error) or repr(error)).strip().splitlines()[0]
