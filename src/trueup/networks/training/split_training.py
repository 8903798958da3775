"""Training on one split: members of an ensemble, linear baseline, test scores."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup._marks import KEY, marked
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.features import not_deployable
from trueup.networks.data.odd_torques import odd_torques
from trueup.networks.data.splits import DataSplit, file_of
from trueup.networks.evaluation.baseline_networks import base_alone
from trueup.networks.evaluation.closed_loop import RollOut, has_motion, joint_of, roll_out
from trueup.networks.evaluation.metrics import NetworkScores, predict_series, score
from trueup.networks.evaluation.model_rollout import roll_out_in_model
from trueup.networks.evaluation.network_verdict import late_gain, training_verdict
from trueup.networks.model.network import Network
from trueup.networks.model.network_file import read_network, save_network
from trueup.networks.runtime.deployment import Deployment
from trueup.networks.runtime.ensemble import MEMBERS, EnsembleTorque, NetworkEnsemble
from trueup.networks.training import run_files
from trueup.networks.training.configuration import TrainingConfiguration
from trueup.networks.training.cross_validation import best_of, mixtures
from trueup.networks.training.hooks import Interrupted, TrainingHooks
from trueup.networks.training.network_choice import (
    CHOICE,
    DEPLOYABLE_SHARE,
    Chosen,
    chosen_configuration,
    time_of_training,
    trial_network,
)
from trueup.networks.training.network_training import train_network
from trueup.networks.training.saved_files import read_seconds
from trueup.networks.training.schedule import TimeLimit
from trueup.networks.training.settings import ModelSettings
from trueup.networks.training.simple_networks import (
    TRAINED,
    better_of,
    linear_baseline,
    simple_networks,
    validation_errors,
)
from trueup.networks.training.tracking import SplitTrackers
from trueup.runs.store import atomic
from trueup.runs.store.event_log import EventLog


@dataclass(frozen=True, eq=False)
class SplitResult:
    """Result of training on a split."""

    name: str
    """``global``, or the held-out group."""
    network: Network
    """The member with the smallest validation error."""
    linear: Network
    """The linear baseline."""
    scores: NetworkScores
    """Scores on the test part, or on the validation part where there is no test part."""
    scored_on: str
    """Part of `scores`: ``test`` or ``validation``."""
    validation: NetworkScores
    """Scores on the validation part."""
    seconds: float
    """Wall time of training [s]."""
    folder: Path


def train_split(
    split: DataSplit,
    configuration: TrainingConfiguration,
    folder: Path,
    provenance: dict[str, Any],
    hooks: TrainingHooks,
    log: EventLog,
    limit: TimeLimit | None = None,
) -> SplitResult:
    """Train and score on one split; resumes from the content of the folder.

    Args:
        split: parts for training, validation and test.
        configuration: configuration of the training.
        folder: output folder of the split.
        provenance: provenance, saved with the networks.
        hooks: callbacks of the training.
        log: log for failures of a tracker.
        limit: time limit of the split; None where steps or epochs are the limit.

    Raises:
        Interrupted: a hook stopped the training.
    """
    folder.mkdir(parents=True, exist_ok=True)
    asked = configuration.model
    chosen = chosen_configuration(split, configuration, folder, limit, hooks)
    configuration, hooks = chosen.configuration, chosen.hooks
    count = configuration.model.ensemble_members
    config = {key: provenance[key] for key in ("configuration", "data")}
    trackers = SplitTrackers(configuration, split.name, folder, config, log)
    networks, spent_seconds = [], 0.0
    for member in range(count):
        within, own = folder, hooks
        if count > 1:
            within = member_folder(folder, member)
            own = hooks.part(f"member {member + 1} of {count}, ", member, count)
        own = trackers.following(own, member)
        network, spent = _member(split, configuration, within, member, provenance, own, chosen)
        networks.append(network)
        spent_seconds += spent
    result = _scored(split, configuration, asked, folder, networks, spent_seconds, chosen.simple)
    files = []
    if configuration.train.export_jit_model:
        run = folder if configuration.evaluation_mode == "global" else folder.parent
        files = [run_files.torchscript_file(run, folder, result.network.family)]
        _export(result.network, files[0])
    trackers.end(atomic.read_json(folder / run_files.METRICS), count, files)
    return result


def _member(
    split: DataSplit,
    configuration: TrainingConfiguration,
    folder: Path,
    member: int,
    provenance: dict[str, Any],
    hooks: TrainingHooks,
    chosen: Chosen,
) -> tuple[Network, float]:
    """Network and wall time [s] of a member, with its index counted from zero."""
    folder.mkdir(parents=True, exist_ok=True)
    finished = folder / run_files.FINISHED
    if finished.is_file():
        trained = folder / run_files.TRAINED_NETWORK
        file = trained if trained.is_file() else folder / run_files.NETWORK
        return read_network(file), read_seconds(finished)
    if hooks.stop():  # requested at the end of the previous member
        raise Interrupted
    seed = configuration.seed + member
    train = configuration.train
    result = train_network(
        split.training,
        split.validation,
        features=configuration.data.features,
        model=configuration.model,
        train=train,
        batch_size=configuration.data.batch_size,
        sequence_length=run_files.sequence_length(configuration, split.training[0].rate),
        seed=seed,
        directory=folder,
        resume=True,
        provenance={
            **provenance,
            "seed": seed,
            "split": split.name,
            "trained_on": _trained_on(split),
        },
        hooks=hooks,
        seconds=chosen.seconds,
        most_epochs=chosen.most_epochs,
    )
    run_files.write_description(folder, configuration, result.network, split.training)
    if result.interrupted:
        raise Interrupted
    monitor = train.checkpointing.monitor
    scores = [entry[monitor] for entry in result.history if entry.get(monitor) is not None]
    if train.checkpointing.mode == "max":
        scores = [1.0 - score for score in scores]  # 1 - R2, which decreases
    atomic.write_json(
        finished,
        {
            "best_epoch": result.best_epoch,
            "epochs": len(result.history),
            "stopped": result.stopped,
            "late_gain": late_gain(scores),
            "seconds": result.seconds,
            "seed": seed,
        },
    )
    return result.network, result.seconds


def _recordings(split: DataSplit) -> list[ActuatorSeries]:
    """The longest part of each recording of a split, in order."""
    longest: dict[str, ActuatorSeries] = {}
    for each in (*split.training, *split.validation, *split.test):
        name = f"{file_of(each)}/{each.name}"
        if name not in longest or len(each) > len(longest[name]):
            longest[name] = each
    return list(longest.values())


def _trained_on(split: DataSplit) -> list[str]:
    """Hashes of the files of the training and validation parts."""
    return sorted({each.sha256 for each in (*split.training, *split.validation)})


def _scored(
    split: DataSplit,
    configuration: TrainingConfiguration,
    asked: ModelSettings,
    folder: Path,
    networks: list[Network],
    seconds: float,
    simple: dict[str, Network] | None,
) -> SplitResult:
    validated = [score(network, split.validation) for network in networks]
    best = int(np.argmin([each.total.rmse for each in validated]))
    network = networks[best]
    choice = None
    if asked.is_chosen:
        trained_network = network
        choice, network = _selected(split, configuration, asked, folder, network, simple)
        if network is not trained_network and len(networks) == 1:
            # before its file is replaced: a run that is killed here chooses again, from the same
            save_network(trained_network, folder / run_files.TRAINED_NETWORK)
    trained = choice is None or choice["taken"].startswith(TRAINED)
    if len(networks) > 1 or choice is not None:
        save_network(network, folder / run_files.NETWORK)
        run_files.write_description(folder, configuration, network, split.training)
    features = configuration.data.features
    limit = network.torque_limit if trained else None
    linear = linear_baseline(split, features, asked.base, limit)
    linear = replace(linear, provenance={"split": split.name, "trained_on": _trained_on(split)})
    save_network(linear, folder / run_files.LINEAR)
    judged, scored_on = (split.test, "test") if split.test else (split.validation, "validation")
    mean = float(np.concatenate([each.torque for each in split.training]).mean())
    others = {"linear": linear}
    if asked.base is not None:
        others["base"] = base_alone(asked.base, network.rate)
    scores = score(network, judged, others, mean)
    content: dict[str, Any] = {
        **scores.to_dict(),
        "split": split.name,
        "scored_on": scored_on,
        "split_by": configuration.data.split_by if split.name == "global" else "group",
        "tested_by": split.tested_by,
        "choice": choice,
        "ended": _end_of_training(folder, len(networks), best) if trained else None,
        "completed_epochs": _completed_epochs(folder, len(networks), best),
        "linear_limit": linear.torque_limit,
        "contradictions": [each.to_dict() for each in odd_torques(_recordings(split), features)],
        "validation": score(network, split.validation).to_dict(),
        "training_seconds": seconds,
    }
    measured = not_deployable(configuration.data.features)
    if measured:
        content["not_deployable"] = list(measured)
        content["deployable"] = _deployable_scores(measured, split, configuration, folder, judged)
    motions = _closed_loop(configuration, network, judged)
    if motions:
        content["closed_loop"] = [motion.to_dict() for motion in motions]
        content["angle_rmse"] = float(
            np.sqrt(
                np.average(
                    [motion.scores.mse for motion in motions],
                    weights=[motion.scores.samples for motion in motions],
                )
            )
        )
    estimates = {"linear": [predict_series(linear, each) for each in judged]}
    if len(networks) > 1:
        ensemble = NetworkEnsemble(networks)
        torque = [ensemble.predict(each.features(ensemble.inputs)) for each in judged]
        combined = score([each.mean for each in torque], judged, others, mean)
        content["member"] = best + 1
        content["ensemble"] = {**combined.to_dict(), "spread": _spread(torque)}
        estimates["ensemble_mean"] = [each.mean for each in torque]
        estimates["ensemble_spread"] = [each.spread for each in torque]
    if configuration.train.callbacks.test_prediction_plotter:
        run_files.write_predictions(folder, judged, scores, estimates)
    content["verdict"] = training_verdict(content).to_dict()
    atomic.write_json(folder / run_files.METRICS, content)
    return SplitResult(
        split.name, network, linear, scores, scored_on, validated[best], seconds, folder
    )


def _selected(
    split: DataSplit,
    configuration: TrainingConfiguration,
    asked: ModelSettings,
    folder: Path,
    network: Network,
    simple: dict[str, Network] | None,
) -> tuple[dict[str, Any], Network]:
    """The trained network, or a simpler one with a similar error.

    The errors are those on recordings held out in turn, or else on the validation part.
    """
    if simple is None:  # of a resumed run
        simple = simple_networks(split, configuration.data.features, asked.base, asked.torque_limit)
    chosen = atomic.read_json(folder / CHOICE)
    held_out = chosen.get("left_out_errors")
    if held_out:
        weighting = configuration.train.group_weighting
        named = {**simple, **mixtures(network, split.training, weighting)}
        errors = validation_errors(named, split)
        name = best_of(held_out)
        best = named[name]
    else:
        name, best, errors = better_of(network, simple, split)
    choice = {"taken": name, "validation_errors": errors, "tried": chosen["tried"]}
    if held_out:
        choice["left_out_errors"] = held_out
        choice["left_out"] = chosen.get("left_out")
    if name != TRAINED:
        own = {"split": split.name, "trained_on": _trained_on(split), "choice": name}
        best = replace(best, provenance={**network.provenance, **own})
    return choice, best


def _deployable_scores(
    measured: Sequence[str],
    split: DataSplit,
    configuration: TrainingConfiguration,
    folder: Path,
    judged: Sequence[ActuatorSeries],
) -> dict[str, Any] | None:
    """Settled scores with only the features that simulators supply; None where there are none.

    Family and sizes are those of the network; the training has the length of a trial, and the best
    of it and the baselines is scored.
    """
    features = tuple(name for name in configuration.data.features if name not in measured)
    if not features:
        return None
    data = replace(configuration.data, features=features)
    own = replace(configuration, data=data)
    seconds = time_of_training(folder)
    if seconds is not None:
        seconds *= DEPLOYABLE_SHARE
    network = trial_network(split, own, folder / "deployable", seconds)
    simple = simple_networks(split, features, own.model.base, own.model.torque_limit)
    name, network, _ = better_of(network, simple, split)
    return {"features": list(features), "taken": name, **asdict(score(network, judged).settled)}


def _end_of_training(folder: Path, members: int, member: int) -> dict[str, Any] | None:
    """End of the training of a member; None in runs of older versions."""
    place = folder if members == 1 else member_folder(folder, member)
    record = atomic.read_json(place / run_files.FINISHED)
    names = ("best_epoch", "epochs", "stopped", "late_gain")
    return {name: record[name] for name in names} if "late_gain" in record else None


def _completed_epochs(folder: Path, members: int, member: int) -> int:
    """Number of completed epochs of the training of a member, also where another network is taken.

    Runs of older versions always completed one.
    """
    place = folder if members == 1 else member_folder(folder, member)
    return int(atomic.read_json(place / run_files.FINISHED).get("epochs", 1))


def member_folder(folder: Path, member: int) -> Path:
    """Folder of a member of an ensemble within that of its split, with the index from zero."""
    return folder / MEMBERS / f"{member + 1:02d}"


def _closed_loop(
    configuration: TrainingConfiguration, network: Network, series: Sequence[ActuatorSeries]
) -> list[RollOut]:
    """Closed-loop scores on the joint of the settings; empty where they describe none."""
    rollout = configuration.rollout
    if rollout.model_file is not None and rollout.joint is not None:
        return roll_out_in_model(network, series, rollout.model_file, rollout.joint)
    joints = [(each, joint_of(each, configuration.data)) for each in series]
    if any(joint is None or not has_motion(each) for each, joint in joints):
        return []
    return [roll_out(network, each, joint) for each, joint in joints if joint is not None]


def _export(network: Network, file: Path) -> None:
    from trueup.networks.runtime.torchscript import write_torchscript

    file.parent.mkdir(parents=True, exist_ok=True)
    with marked(network.provenance.get(KEY)):
        write_torchscript(Deployment(network), file)


def _spread(torque: list[EnsembleTorque]) -> dict[str, float]:
    """Uncertainty of the ensemble: RMS spread, and samples outside the range of training."""
    spread = np.concatenate([each.spread for each in torque])
    outside = np.concatenate([each.out_of_range for each in torque])
    return {"rms": float(np.sqrt(np.mean(spread**2))), "out_of_range": float(outside.mean())}
