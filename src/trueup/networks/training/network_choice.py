"""Choice of the network on the validation part: family, skip, base, and number of epochs.

Each candidate is trained for a short time; the best is trained for the rest. The baselines (a
constant, a linear model, the base by itself) are compared on the same error, and are selected where
training improves on them by less than `ENOUGH`. Where validation uses intervals within recordings,
this comparison is on whole recordings held out in turn, see `cross_validation`.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.networks.data.features import not_deployable
from trueup.networks.data.splits import DataSplit
from trueup.networks.evaluation.metrics import score
from trueup.networks.model.network import Network
from trueup.networks.model.network_file import read_network, save_network
from trueup.networks.plain_settings import to_values
from trueup.networks.training import run_files
from trueup.networks.training.configuration import TrainingConfiguration
from trueup.networks.training.cross_validation import (
    CROSS_VALIDATION_SHARE,
    HeldOutErrors,
    folds_of,
    held_out_errors,
)
from trueup.networks.training.hooks import Interrupted, TrainingHooks
from trueup.networks.training.network_training import TrainedNetwork, by_group, train_network
from trueup.networks.training.schedule import PLANNED, TimeLimit
from trueup.networks.training.settings import ModelSettings, ModelType, TrainSettings
from trueup.networks.training.simple_networks import relative_error, simple_networks, start_of
from trueup.runs.store import atomic

CHOICE = "choice.json"
"""File of a split with the tried candidates and the selected configuration."""

TRIAL_SHARE = 0.35
"""Fraction of the time or of the steps for the trials of candidates."""
USED_SHARE = 0.9
"""Fraction of the time for training; reading, scoring and the report take the rest."""

_TIMED_EPOCHS = 3
_LONGEST_MEASUREMENT = 0.45
"""Fraction of the time after which the duration of an epoch is not measured any longer."""
_LEAST_TRAINING = 0.42
"""Fraction of the time that the selected network has at least, whatever the choice has used but
within the limit: it trains for a third of it even where its epochs are shorter than measured."""
DEPLOYABLE_SHARE = 0.1
"""Time of the training without measured features, relative to that of the network."""

_CORRECTION = {"learning_rate": 2e-3, "weight_decay": 1.0}
"""Weight decay of layers that correct a linear model of the same inputs."""

_MANY_SAMPLES = 30_000
_DIFFERENT_SCALES = 2.0


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate after its short training."""

    name: str
    model: ModelSettings
    error: float
    """Validation error, see `relative_error`; infinite after divergence, NaN without a training."""
    pace: float
    """Time per epoch [s]."""


class _OutOfTime(Exception):  # noqa: N818 - an end, not an error
    """The time of the choice is over before each recording was held out."""


@dataclass(frozen=True)
class Chosen:
    """Decisions of a choice: the network, and the time of its training."""

    configuration: TrainingConfiguration
    """The configuration with the selected network and number of epochs."""
    hooks: TrainingHooks
    """The hooks for the remaining progress."""
    seconds: float | None
    """Time limit of the training of each member [s]; None where steps or epochs are the limit."""
    most_epochs: int | None = None
    """Largest number of epochs within that time; None: none."""
    simple: dict[str, Network] | None = None
    """Baselines with the base of the configuration; None where they are not known yet."""


def chosen_configuration(
    split: DataSplit,
    configuration: TrainingConfiguration,
    folder: Path,
    limit: TimeLimit | None,
    hooks: TrainingHooks,
) -> Chosen:
    """The selected network, and the time and number of epochs of its training.

    An existing choice in the folder is reused, so that a resumed run trains the same network.

    Args:
        split: parts for training and validation.
        configuration: configuration of the run.
        folder: output folder of the split, for ``choice.json``.
        limit: time limit of the split; None where steps or epochs are the limit.
        hooks: callbacks of the training.

    Raises:
        Interrupted: a hook stopped the training.
        FitError: the training of every candidate diverged.
    """
    model, train = configuration.model, configuration.train
    if configuration.debug:
        train, limit = replace(train, max_epochs=1, max_steps=None), None
    folds = folds_of(split) if model.is_chosen and not configuration.debug else []
    share = choice_share(folds) if model.is_chosen else 0.0
    rest = _remaining_hooks(hooks, share)
    file = folder / CHOICE
    if file.is_file():
        content = atomic.read_json(file)
        if model.is_chosen:
            model = ModelSettings.from_dict(content["model"])
        train = TrainSettings.from_dict(content["train"])
        configuration = replace(configuration, model=model, train=train)
        return Chosen(configuration, rest, content.get("seconds"), content.get("most_epochs"))
    pace, trials, simple, around = None, [], {}, 0.0
    if model.is_chosen:
        train = _for_split(train, split)
        began = time.perf_counter()
        simple = simple_networks(split, configuration.data.features, None, model.torque_limit)
        around = time.perf_counter() - began
        trials = _trials(split, configuration, train, limit, hooks, start_of(split, simple))
        best = min(trials, key=lambda trial: trial.error)
        if np.isinf(best.error):
            raise FitError("training of every candidate diverged: check the recordings")
        model, pace = best.model, best.pace
    held_out = None
    if folds:
        if configuration.model.base is not None:
            of = (configuration.data.features, configuration.model.base)
            simple = simple_networks(split, *of, configuration.model.torque_limit)
        held_out = _held_out_errors(
            folds, configuration, model, train, limit, pace, around, hooks, simple
        )
    known = simple if trials and (folds or configuration.model.base is None) else None
    seconds = None
    if limit is not None:
        if pace is None:
            pace = _pace(split, configuration, model, train, limit, limit.seconds / 10)
        seconds = time_for_training(limit, around)
        if not_deployable(configuration.data.features):
            seconds /= 1.0 + DEPLOYABLE_SHARE
        seconds /= model.ensemble_members
        train = _fitting(model, train, seconds, pace)
    elif not trials:
        return Chosen(replace(configuration, train=train), rest, None)
    content = {
        "model": to_values(model),
        "train": to_values(train),
        "seconds": seconds,
        "most_epochs": configuration.train.max_epochs,
        "tried": [
            {"name": t.name, "error": t.error, "epoch_seconds": t.pace}
            for t in trials
            if not np.isnan(t.error)
        ],
        "left_out_errors": None if held_out is None else held_out.relative(),
        "left_out": None if held_out is None else asdict(held_out),
    }
    atomic.write_json(file, content)
    most = configuration.train.max_epochs
    return Chosen(replace(configuration, model=model, train=train), rest, seconds, most, known)


def choice_share(folds: Sequence[DataSplit]) -> float:
    """Fraction of the time for the choice, before the selected network is trained."""
    return TRIAL_SHARE + (CROSS_VALIDATION_SHARE if folds else 0.0)


def time_for_training(limit: TimeLimit, closing: float) -> float:
    """Time for the training of the selected network [s]; 0 where none is left.

    Args:
        limit: time limit of the split.
        closing: time that scoring takes, or less [s].
    """
    closing = max(closing, (1.0 - USED_SHARE) * limit.seconds)
    wanted = max(limit.left() - closing, _LEAST_TRAINING * limit.seconds)
    return max(0.0, min(wanted, limit.left()))


def _held_out_errors(
    folds: Sequence[DataSplit],
    configuration: TrainingConfiguration,
    model: ModelSettings,
    train: TrainSettings,
    limit: TimeLimit | None,
    pace: float | None,
    around: float,
    hooks: TrainingHooks,
    simple: dict[str, Network],
) -> HeldOutErrors | None:
    """Errors on recordings held out in turn, from short trainings of the selected network.

    None where the time limit does not leave an epoch for each, with the baselines of each, which
    take ``around`` [s] or less the first time.
    """
    end = USED_SHARE * (TRIAL_SHARE + CROSS_VALIDATION_SHARE)
    ends: list[float] = []

    def trained(fold: DataSplit, number: int) -> Network:
        own = _trial_hooks(
            hooks.part(f"without {fold.name}, ", number, len(folds)),
            TRIAL_SHARE,
            CROSS_VALIDATION_SHARE,
        )
        if hooks.stop():
            raise Interrupted
        settings, seconds = _trial_settings(train), None
        if limit is not None and pace is not None:
            since = time.perf_counter() - ends[-1] if ends else around
            seconds = limit.part(end, number, len(folds)) - since
            if seconds < pace:
                raise _OutOfTime
            settings = _fitting(model, train, seconds, pace)
        result = _train(fold, configuration, model, settings, own, seconds)
        ends.append(time.perf_counter())
        if result.interrupted:
            raise Interrupted
        return result.network

    try:
        return held_out_errors(folds, trained, simple, train.group_weighting)
    except _OutOfTime:
        return None


def _trial_hooks(hooks: TrainingHooks, begin: float, share: float) -> TrainingHooks:
    """Hooks of a training for the choice, with its part of the progress."""
    return replace(
        hooks,
        started=lambda *_: None,
        epoch=lambda _: None,
        progress=lambda text, done, on=hooks.progress: on(text, begin + share * done),
    )


def candidates(
    model: ModelSettings, rate: float, samples: int, linear: Network | None = None
) -> list[tuple[str, ModelSettings]]:
    """Candidate networks by name; settings that differ from their defaults are kept.

    Args:
        model: model settings of the run.
        rate: sample rate of the recordings [Hz].
        samples: number of samples of the training part.
        linear: linear network that defines their history and torque limit.
    """
    width = 64 if samples > _MANY_SAMPLES else 32
    history = int(np.clip(round(0.16 * rate), 8, 64)) if linear is None else linear.history
    common = {
        "gru_hidden_dim": width,
        "gru_num_layers": 1,
        "gru_dropout": 0.0,
        "learning_rate": 4e-3,
        "weight_decay": 1e-2,
        "torque_limit": None if linear is None else linear.torque_limit,
    }
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("gru", {"linear_skip": True}),
        ("mlp", {"linear_skip": True, "gru_num_layers": 2, "history": history, **_CORRECTION}),
        ("gru", {"linear_skip": False}),
        ("lstm", {"linear_skip": False}),
    ]
    found = {}
    for over_base in (True, False) if model.use_residual else (False,):
        for family, own in kinds:
            if family not in model.model_type.families:
                continue
            if model.use_residual and not over_base and family == "lstm":
                continue
            settings = _kept(model, {**common, **own})
            if not over_base:
                settings = _without_base(settings)
            settings = replace(settings, model_type=ModelType(family))
            name = family + (" with a linear skip" if settings.linear_skip else "")
            name += " over the base" if over_base else ""
            found[name] = settings
    return list(found.items())


def time_of_training(folder: Path) -> float | None:
    """Time limit of a training [s] that the choice in a folder sets; None without one."""
    file = folder / CHOICE
    return atomic.read_json(file).get("seconds") if file.is_file() else None


def trial_network(
    split: DataSplit,
    configuration: TrainingConfiguration,
    folder: Path,
    seconds: float | None = None,
) -> Network:
    """The network of a configuration after a trial training of limited time, saved in a folder."""
    file = folder / run_files.NETWORK
    if file.is_file():
        return read_network(file)
    settings = _trial_settings(configuration.train)
    result = _train(split, configuration, configuration.model, settings, TrainingHooks(), seconds)
    folder.mkdir(parents=True, exist_ok=True)
    save_network(result.network, file)
    return result.network


def _trials(
    split: DataSplit,
    configuration: TrainingConfiguration,
    train: TrainSettings,
    limit: TimeLimit | None,
    hooks: TrainingHooks,
    linear: Network,
) -> list[Trial]:
    """The candidates after a short training each; those for which no time is left are not tried.

    Where no time is left for any, the first one with an unknown error.
    """
    samples, model = sum(len(each) for each in split.training), configuration.model
    rate = split.training[0].rate
    tried = candidates(model, rate, samples, linear)
    found = []
    for index, (name, model) in enumerate(tried):
        words = f"trying {index + 1} of {len(tried)} ({name}), "
        own = _trial_hooks(hooks.part(words, index, len(tried)), 0.0, TRIAL_SHARE)
        if hooks.stop():
            raise Interrupted
        settings, pace, seconds = _trial_settings(train), None, None
        try:
            if limit is not None:
                end = USED_SHARE * TRIAL_SHARE
                seconds = limit.part(end, index, len(tried))
                if index and seconds <= min(each.pace for each in found):
                    break
                measured = _pace(split, configuration, model, train, limit, seconds)
                seconds = limit.part(end, index, len(tried))
                if not index and seconds <= measured:
                    return [Trial(name, model, np.nan, measured)]
                if np.isinf(measured):
                    break
                settings = _fitting(model, train, seconds, measured)
            began = time.perf_counter()
            result = _train(split, configuration, model, settings, own, seconds)
            pace = (time.perf_counter() - began) / max(1, len(result.history))
        except FitError:
            found.append(Trial(name, model, np.inf, pace or np.inf))
            continue
        if result.interrupted:
            raise Interrupted
        error = relative_error(score(result.network, split.validation), split)
        found.append(Trial(name, model, error, pace))
    return found


def _fitting(
    model: ModelSettings, train: TrainSettings, seconds: float, pace: float
) -> TrainSettings:
    """The settings with the number of epochs that fit into a time [s] at a pace [s/epoch]."""
    epochs = max(1, int(PLANNED * seconds / pace))
    if train.max_epochs is not None:
        epochs = min(epochs, train.max_epochs)
    return replace(train, max_epochs=epochs)


def _pace(
    split: DataSplit,
    configuration: TrainingConfiguration,
    model: ModelSettings,
    train: TrainSettings,
    limit: TimeLimit,
    seconds: float,
) -> float:
    """Time per epoch with validation [s], without the first, which loads libraries.

    Infinite where the time limit is shorter than an epoch.

    Args:
        split: parts of the recordings.
        configuration: configuration of the run.
        model: settings of the network.
        train: settings of the training.
        limit: time limit of the split, of which the final training keeps a third.
        seconds: time after which no further epoch is measured [s].
    """
    ends: list[float] = []
    longest = limit.left(_LONGEST_MEASUREMENT)
    if longest <= 0:
        return np.inf
    began = time.perf_counter()
    _train(
        split,
        configuration,
        model,
        replace(train, max_epochs=_TIMED_EPOCHS, max_steps=None),
        TrainingHooks(
            progress=lambda *_: ends.append(time.perf_counter()),
            stop=lambda: bool(ends) and time.perf_counter() - began > seconds,
        ),
        longest,
        _TIMED_EPOCHS,
    )
    if not ends:
        return np.inf
    if len(ends) == 1:
        return ends[0] - began
    return max((ends[-1] - ends[0]) / (len(ends) - 1), 1e-4)


def _train(
    split: DataSplit,
    configuration: TrainingConfiguration,
    model: ModelSettings,
    train: TrainSettings,
    hooks: TrainingHooks,
    seconds: float | None = None,
    most_epochs: int | None = None,
) -> TrainedNetwork:
    return train_network(
        split.training,
        split.validation,
        features=configuration.data.features,
        model=model,
        train=train,
        batch_size=configuration.data.batch_size,
        sequence_length=run_files.sequence_length(configuration, split.training[0].rate),
        seed=configuration.seed,
        hooks=hooks,
        seconds=seconds,
        most_epochs=most_epochs or configuration.train.max_epochs,
    )


def _trial_settings(train: TrainSettings) -> TrainSettings:
    """The settings with the steps or epochs of a trial."""

    def part(count: int | None) -> int | None:
        return None if count is None else max(1, round(TRIAL_SHARE * count))

    return replace(train, max_epochs=part(train.max_epochs), max_steps=part(train.max_steps))


def _for_split(train: TrainSettings, split: DataSplit) -> TrainSettings:
    """The settings with the score of the choice as the default monitor.

    Groups are weighted where their torque differs; intervals count after settling.
    """
    scales = [float(torque.std()) for torque in by_group(split.training).values()]
    usual = TrainSettings()
    if train.checkpointing != usual.checkpointing or train.group_weighting:
        return train
    differ = max(scales) >= _DIFFERENT_SCALES * max(min(scales), 1e-9)
    settled = "" if split.validates_whole else "settled_"
    monitor = f"val_{settled}{'group_' if differ else ''}rmse_epoch"
    return replace(
        train,
        group_weighting=0.5 if differ else 0.0,
        checkpointing=replace(train.checkpointing, monitor=monitor),
        early_stopping=replace(train.early_stopping, monitor=monitor),
    )


def _kept(model: ModelSettings, given: dict[str, Any]) -> ModelSettings:
    """Settings with the given values in place of defaults."""
    usual = {item.name: item.default for item in fields(ModelSettings)}
    changed = {n: v for n, v in given.items() if getattr(model, n) == usual[n]}
    return replace(model, **changed)


def _without_base(model: ModelSettings) -> ModelSettings:
    usual = ModelSettings()
    of_base = ("servo_", "k_spring", "spring_stiffness", "theta0", "base_")
    names = [n for n in to_values(usual) if n.startswith(of_base)]
    names += [n for n in to_values(usual) if n.endswith(("_phys", "_phys_training"))]
    return replace(
        model, use_residual=False, learn_base=False, **{n: getattr(usual, n) for n in names}
    )


def _remaining_hooks(hooks: TrainingHooks, share: float) -> TrainingHooks:
    """Hooks after the trials, with progress starting at ``share``."""
    return replace(
        hooks, progress=lambda words, done: hooks.progress(words, share + (1.0 - share) * done)
    )
