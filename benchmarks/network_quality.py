"""How well networks learn torque: a recorded joint, and synthetic data with a known noise floor.

    python benchmarks/network_quality.py DATA hej90 [--minutes 20] [--held-out PMS54]
    python benchmarks/network_quality.py DATA synthetic [--minutes 10]

``hej90``: DATA/hej90_bench holds recordings of a Maxon HEJ-90 joint. The first 85 % of each file
train and validate, the last 15 % are the test, run from a cold start. One model for all groups:
several candidates are trained side by side on two cores, the best of them again for longer, and the
one that is best on the validation stretches is scored once. Beside it stand the linear baseline,
the controller's own estimate and the published figures. With ``--held-out`` the chosen candidate is
trained again without the files whose names begin so, and scored on the whole of them.

``synthetic``: recordings of the generator, where the smallest error possible is known.
"""

import argparse
import itertools
import math
import multiprocessing
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.networks import (
    ActuatorSeries,
    DataSettings,
    DataSplit,
    Network,
    NetworkScores,
    read_series,
    score,
    split_global,
    split_lomo,
)
from trueup.networks.linear_baseline import HISTORIES, fit_linear, fit_linear_chosen
from trueup.networks.training import ModelSettings, TrainSettings, train_network
from trueup.networks.training.settings import Checkpointing, EarlyStopping, ModelType

PUBLISHED = {"Nm": 0.37, "TMS": 4.56, "PMS": 8.08, "PLC": 51.3}
"""Best published RMSE on the last 15 % of the files of a group [N m]."""

GROUPS = {
    "Nm": "torque steps",
    "TMS": "torque multisine",
    "PMS": "position multisine",
    "PLC": "position chirp",
}

COLUMNS = {
    "current_angle_rad": "posAct",
    "target_angle_rad": "posDes",
    "current_ang_vel_rad_s": "velAct",
    "target_ang_vel_rad_s": "velDes",
    "commanded_torque_nm": "torDes",
    "current_a": "i",
    "torque": "torAct",
    "reference_torque": "torEst",
}

FEATURES = (
    "angle_error_rad",
    "current_ang_vel_rad_s",
    "target_ang_vel_rad_s",
    "commanded_torque_nm",
    "current_a",
)

WITHOUT_ANGLE = FEATURES[1:]
"""The joint turns on and on in some files, and leaves every range of angles."""

VALIDATION = ((0.30, 0.36), (0.70, 0.76))
"""Stretches of each file that validate; the others before the test train."""
TEST = 0.85

USED = 0.93
"""Share of the time that is trained for; the rest is for starting, reading and scoring."""
HEATS = 0.35
"""Share of that in which all candidates are tried; the best then train for the rest."""


@dataclass(frozen=True)
class Candidate:
    """A network that is tried, and how it is trained."""

    name: str
    model: ModelSettings
    train: TrainSettings
    features: tuple[str, ...] = FEATURES
    batch: int = 64
    chunk: int = 128


def candidate(family: str, hidden: int, layers: int = 1, **changes: Any) -> Candidate:
    """A candidate with the settings that all share."""
    train = {"group_weighting": 0.8, "mirror_share": 0.5, "input_noise": 0.01, "threads": 1}
    train |= changes.pop("train", {})
    model = ModelSettings(
        model_type=ModelType(family),
        gru_hidden_dim=hidden,
        gru_num_layers=layers,
        gru_dropout=0.0,
        learning_rate=5e-3,
        weight_decay=1e-3,
        history=60,
    )
    settings = TrainSettings(
        accelerator="cpu",
        early_stopping=EarlyStopping(active=False),
        checkpointing=Checkpointing(monitor="val_group_rmse_epoch"),
        check_val_every_n_epoch=3,
        **train,
    )
    return Candidate(f"{family} {layers} x {hidden}", model, settings, **changes)


CANDIDATES = (
    candidate("lstm", 64, features=WITHOUT_ANGLE),
    candidate("lstm", 96, features=WITHOUT_ANGLE),
    candidate("lstm", 48, 2, features=WITHOUT_ANGLE),
    candidate("lstm", 64, features=FEATURES),
    candidate("gru", 64, features=WITHOUT_ANGLE),
    candidate("mlp", 64, 2, features=WITHOUT_ANGLE),
)


def train_for(
    chosen: Candidate,
    training: list[ActuatorSeries],
    validation: list[ActuatorSeries],
    seconds: float,
    seed: int = 0,
) -> tuple[float, Network, int]:
    """Train a candidate for as many epochs as fit into the time; returns its validation score."""
    started = time.perf_counter()
    longest = 2 * chosen.train.check_val_every_n_epoch

    def run(epochs: int, ends: list[float]) -> Any:
        return train_network(
            training,
            validation,
            features=chosen.features,
            model=chosen.model,
            train=replace(chosen.train, max_epochs=epochs),
            batch_size=chosen.batch,
            sequence_length=chosen.chunk,
            seed=seed,
            progress=lambda words, done: ends.append(time.perf_counter()),
            stop=lambda: len(ends) > longest and time.perf_counter() - started > 1.3 * seconds,
        )

    # the pace between epochs: libraries are loaded, and the trainer is set up, before the first
    every, ends = chosen.train.check_val_every_n_epoch, []
    run(longest + 1, ends)
    pace = (ends[-1] - ends[every]) / every
    epochs = max(every, int((seconds - (time.perf_counter() - started)) / pace))
    trained = run(epochs, [])
    name = chosen.train.checkpointing.monitor
    best = min(entry[name] for entry in trained.history if name in entry)
    return best, trained.network, len(trained.history)


def hej90_series(data: Path) -> list[ActuatorSeries]:
    """Recordings of the joint at 1 kHz."""
    settings = DataSettings(
        data_base_dir=str(data / "hej90_bench"),
        columns=COLUMNS,
        time="t",
        rate=1000.0,
        repair=True,
        group_pattern="^(Nm|TMS|PMS|PLC)",
    )
    return read_series(settings)


def stretches(
    series: ActuatorSeries, end: float = TEST
) -> tuple[list[ActuatorSeries], list[ActuatorSeries]]:
    """Training and validation stretches of the part before ``end``."""
    edges = [0.0, *(edge for pair in VALIDATION for edge in pair), end]
    parts = [
        series.part(int(low * len(series)), int(high * len(series)))
        for low, high in itertools.pairwise(edges)
    ]
    return parts[::2], parts[1::2]


def best_linear(training: list[ActuatorSeries], validation: list[ActuatorSeries]) -> Network:
    """The linear network whose features and history serve the validation part best."""
    fitted = [
        fit_linear_chosen(training, validation, names, histories=(1, 8, 32, 64))
        for names in (FEATURES, WITHOUT_ANGLE)
    ]
    return min(fitted, key=lambda network: score(network, validation).total.rmse)


def race(
    training: list[ActuatorSeries],
    validation: list[ActuatorSeries],
    seconds: float,
    processes: int,
) -> tuple[Candidate, Network]:
    """Train all candidates for a while, the best of them for the rest; the best on validation.

    Args:
        training: what they learn from.
        validation: what they are chosen by: `relative_error`, in which a tenth less counts alike in
            a group of small torque and in one of large.
        seconds: time of all together [s].
        processes: trained side by side.
    """
    rounds = math.ceil(len(CANDIDATES) / processes)
    heats = [(CANDIDATES, HEATS * seconds / rounds), (None, (1.0 - HEATS) * seconds)]
    entries: list[tuple[float, Candidate, Network]] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        for entered, share in heats:
            entered = entered or [candidate for _, candidate, _ in entries[:processes]]
            runs = [pool.submit(train_for, c, training, validation, share) for c in entered]
            for chosen, run in zip(entered, runs, strict=True):
                _, network, epochs = run.result()
                reached = relative_error(network, validation)
                entries.append((reached, chosen, network))
                print(
                    f"{chosen.name:12s} {len(chosen.features)} features, {epochs:5d} epochs in "
                    f"{share:4.0f} s, validation {reached:.4f}",
                    flush=True,
                )
            entries.sort(key=lambda entry: entry[0])
    _, candidate, network = entries[0]
    return candidate, network


def relative_error(network: Network, validation: list[ActuatorSeries]) -> float:
    """RMSE over the torque's deviation, geometric mean over the groups."""
    groups = score(network, validation).groups.values()
    return math.exp(np.mean([0.5 * math.log(max(1.0 - each.r2, 1e-12)) for each in groups]))


def hej90(data: Path, minutes: float, processes: int, held_out: str | None) -> None:
    """Train the candidates, choose on validation, score once."""
    started = time.perf_counter()
    series = hej90_series(data)
    split = [stretches(each) for each in series]
    training = [part for parts in split for part in parts[0]]
    validation = [part for parts in split for part in parts[1]]
    test = [each.part(int(TEST * len(each)), len(each)) for each in series]
    linear = best_linear(training, validation)
    print(f"linear       validation {relative_error(linear, validation):.4f}", flush=True)
    left = 60.0 * minutes * USED - (time.perf_counter() - started)
    chosen, network = race(training, validation, left, processes)
    scores = score(network, test, {"linear": linear})
    print(f"\nchosen on validation: {chosen.name}; cold start on the last 15 %\n")
    print_files(scores)
    linear_scores, met = score(linear, test), 0
    print()
    for group, published in PUBLISHED.items():
        rmse, beside = scores.groups[group].rmse, linear_scores.groups[group].rmse
        own = reference_rmse(scores, group)
        met += rmse <= published
        print(
            f"{GROUPS[group]:20s} {rmse:7.3f}, published {published:g}: "
            f"{'at or below' if rmse <= published else 'ABOVE'}; linear {beside:.3f}: "
            f"{'below' if rmse < beside else 'NOT BELOW'}; the controller's own estimate {own:.3f}"
        )
    print(f"{met} of {len(PUBLISHED)} groups at or below the published figure (bar: 3)")
    minutes_taken = (time.perf_counter() - started) / 60
    print(f"{minutes_taken:.1f} minutes on {processes} processes (bar: 20)", flush=True)
    if held_out is not None:
        without_file(series, held_out, chosen, (1.0 - HEATS) * 60.0 * minutes * USED)


def print_files(scores: NetworkScores) -> None:
    """RMSE of each file beside the linear network and the controller's own estimate."""
    print(f"{'file':30s} {'network':>9s} {'linear':>9s} {'torEst':>9s}   RMSE [N m]")
    for each in scores.series:
        others = each.others
        print(
            f"{each.name:30s} {each.scores.rmse:9.3f} {others['linear'].rmse:9.3f} "
            f"{others['reference'].rmse:9.3f}"
        )


def reference_rmse(scores: NetworkScores, group: str) -> float:
    """RMSE of the controller's own estimate over the files of a group [N m]."""
    members = [each.others["reference"] for each in scores.series if each.group == group]
    squares = sum(each.mse * each.samples for each in members)
    return math.sqrt(squares / sum(each.samples for each in members))


def without_file(
    series: list[ActuatorSeries], name: str, chosen: Candidate, seconds: float
) -> None:
    """Train without some files and score on the whole of them."""
    test = [each for each in series if each.name.startswith(name)]
    split = [stretches(each, 1.0) for each in series if not each.name.startswith(name)]
    training = [part for parts in split for part in parts[0]]
    validation = [part for parts in split for part in parts[1]]
    _, network, epochs = train_for(chosen, training, validation, seconds)
    linear = best_linear(training, validation)
    print(f"\ntrained without {name}*, {epochs} epochs, scored on the whole of it, cold start")
    print_files(score(network, test, {"linear": linear}))


QUIET: dict[str, Any] = {
    "torque_noise": 0.005,
    "encoder_noise": 1e-4,
    "gyro_noise": 1e-3,
    "accel_noise": 0.01,
}
"""Sensors of the nonlinear joint: good ones, so that the floor is far below what is learned."""


def best_settled(split: DataSplit, features: tuple[str, ...]) -> Network:
    """The linear network whose history serves the validation part best once it is filled."""
    fitted = [fit_linear(split.training, features, history) for history in HISTORIES]
    return min(fitted, key=lambda network: score(network, split.validation).settled.rmse)


def synthetic(minutes: float) -> None:
    """Noise floor, a nonlinear joint, and inertias that were never seen."""
    from trueup.networks import SyntheticSettings, synthesize

    share = 60.0 * minutes / 7.0
    model = ModelSettings(gru_hidden_dim=64, gru_num_layers=1, gru_dropout=0.0, learning_rate=5e-3)
    train = TrainSettings(
        accelerator="cpu",
        early_stopping=EarlyStopping(active=False),
        check_val_every_n_epoch=2,
        burn_in=50,
    )
    base = Candidate(
        "gru 1 x 64",
        model,
        train,
        ("current_angle_rad", "target_angle_rad", "current_ang_vel_rad_s"),
        batch=32,
        chunk=50,
    )
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        plain = SyntheticSettings()
        made = synthesize(plain, root / "plain", seed=0)
        split = split_global(read_series(DataSettings(data_base_dir=str(root / "plain"))))
        floor = made.files[0].noise_floor
        _, network, _ = train_for(base, [*split.training], [*split.validation], share)
        linear = best_settled(split, base.features)
        # a linear model of two samples is far off at a cold start: both are scored settled
        rmse, beside = (score(n, split.test).settled.rmse for n in (network, linear))
        print(f"usual synthetic data, I = 0.083, unfiltered: noise floor {floor:.4f} N m")
        print(f"  GRU {rmse:.4f} N m, {100 * (rmse / floor - 1):+.1f} % of the floor (bar: +5 %)")
        print(f"  linear {beside:.4f} N m: a linear model does as well; the data are linear\n")

        hard = SyntheticSettings(
            signals=("multisine", "steps", "chirp"),
            repeats=3,
            coulomb=0.5,
            delay=0.03,
            torque_limit=2.0,
            no_load_speed=8.0,
            **QUIET,
        )
        synthesize(hard, root / "hard", seed=1)
        settings = DataSettings(data_base_dir=str(root / "hard"))
        split = split_global(read_series(settings))
        _, network, _ = train_for(base, [*split.training], [*split.validation], 2 * share)
        linear = best_settled(split, base.features)
        rmse, beside = (score(n, split.test).settled.rmse for n in (network, linear))
        print("friction, delay, torque and speed limits:")
        print(f"  GRU {rmse:.4f} N m, linear {beside:.4f}: {beside / rmse:.1f} times (bar: 5)\n")

        five = SyntheticSettings(
            inertias=(0.05, 0.083, 0.1, 0.125, 0.166), signals=("multisine", "chirp"), repeats=2
        )
        synthesize(five, root / "five", seed=2)
        names = (*base.features, "inertia_kg_m2")
        settings = DataSettings(data_base_dir=str(root / "five"), features=names)
        print("leave one of five inertias out, the inertia a feature (bar: R2 0.98 each):")
        for fold in split_lomo(read_series(settings)):
            chosen = replace(base, features=names)
            _, network, _ = train_for(chosen, [*fold.training], [*fold.validation], 4 * share / 5)
            linear = fit_linear_chosen(fold.training, fold.validation, names)
            r2, beside = (score(n, fold.test).total.r2 for n in (network, linear))
            print(f"  {fold.name:12s} GRU {r2:.4f}, linear {beside:.4f}")


def main() -> None:
    """Run one of the two."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("data", type=Path, help="folder of recordings; any for synthetic")
    parser.add_argument("what", choices=("hej90", "synthetic"))
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--held-out", default=None, help="beginning of the names of files")
    arguments = parser.parse_args()
    if arguments.what == "hej90":
        minutes = 20.0 if arguments.minutes is None else arguments.minutes
        hej90(arguments.data, minutes, arguments.processes, arguments.held_out)
    else:
        synthetic(10.0 if arguments.minutes is None else arguments.minutes)


if __name__ == "__main__":
    main()
