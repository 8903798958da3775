"""Torque error of learned actuators on a recorded joint, and on synthetic data with a known floor.

    python benchmarks/network_quality.py DATA hej90 [--minutes 20] [--held-out PMS54]
    python benchmarks/network_quality.py DATA synthetic

``hej90``: DATA/hej90_bench holds recordings of a Maxon HEJ-90 joint. The first 85 % of each file
serve for training and validation, the last 15 % for the test, from a cold start. One model for all
groups: several candidates are trained in parallel on two cores; an ensemble of the candidate with
the best validation score is trained from several seeds, and its mean is scored once. For
comparison: the linear baseline, the controller's estimate and the published figures.
``--held-out`` trains the chosen candidate again without the files of that prefix, and scores it on
them; this takes about two thirds of the first time.

``synthetic``: generated recordings, for which the smallest possible error is known.
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
    NetworkEnsemble,
    NetworkScores,
    SyntheticSettings,
    read_series,
    score,
    split_global,
    split_lomo,
    synthesize,
)
from trueup.networks.evaluation.baseline_networks import HISTORIES, fit_linear, fit_linear_chosen
from trueup.networks.training import (
    ModelSettings,
    TrainedNetwork,
    TrainingHooks,
    TrainSettings,
    train_network,
)
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
"""In the files of torque commands no angle is followed: the joint turns on and on, and its angle
leaves every range of training."""

VALIDATION = ((0.30, 0.36), (0.70, 0.76))
"""Stretches of each file that validate; the others before the test train."""
TEST = 0.85

LATE = 1.2
"""A training is stopped where it takes this many times its share."""
USED = 0.85
"""Share of the time that is trained for; the rest is for starting, reading and scoring."""
HEATS = 0.35
"""Share of that in which all candidates are tried; members of the best are trained in the rest."""
MEMBERS = 8


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
    candidate("gru", 64, features=WITHOUT_ANGLE),
    candidate("gru", 96, features=WITHOUT_ANGLE),
    candidate("mlp", 64, 2, features=WITHOUT_ANGLE),
)


def train_for(
    chosen: Candidate,
    training: list[ActuatorSeries],
    validation: list[ActuatorSeries],
    seconds: float,
    seed: int = 0,
    pace: float | None = None,
) -> tuple[float, Network, int, float]:
    """Train a candidate for as many epochs as fit into the time.

    The learning rate falls to zero at the last epoch, so their number is fixed beforehand: by the
    pace [s an epoch] given, or by that of a few epochs. A training that takes much longer than that
    is stopped, and the best epoch kept.

    Returns:
        Validation score, network, epochs, pace.
    """
    started = time.perf_counter()
    every, ends = chosen.train.check_val_every_n_epoch, []

    def run(epochs: int, latest: float) -> Any:
        return train_network(
            training,
            validation,
            features=chosen.features,
            model=chosen.model,
            train=replace(chosen.train, max_epochs=epochs),
            batch_size=chosen.batch,
            sequence_length=chosen.chunk,
            seed=seed,
            hooks=TrainingHooks(
                progress=lambda words, done: ends.append(time.perf_counter()),
                stop=lambda: len(ends) > every and time.perf_counter() - started > latest,
            ),
        )

    measured = pace or 0.0
    if pace is None:
        # between epochs: libraries are loaded, and the trainer is set up, before the first
        run(2 * every + 1, 0.2 * seconds)
        measured = (ends[-1] - ends[0]) / max(len(ends) - 1, 1)
    left = seconds - (time.perf_counter() - started)
    ends.clear()
    trained = run(max(2 * every, int(left / max(measured, 1e-3))), LATE * seconds)
    name = chosen.train.checkpointing.monitor
    best = min((entry[name] for entry in trained.history if name in entry), default=math.inf)
    if len(ends) > 1:
        measured = (ends[-1] - ends[0]) / (len(ends) - 1)
    return best, trained.network, len(trained.history), measured


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


def heats(
    training: list[ActuatorSeries],
    validation: list[ActuatorSeries],
    seconds: float,
    pool: ProcessPoolExecutor,
    processes: int,
) -> tuple[Candidate, float]:
    """Train all candidates for a while; returns the best on validation, and its pace.

    Args:
        training: what they learn from.
        validation: what they are chosen by: `relative_error`, in which a tenth less counts alike in
            a group of small torque and in one of large.
        seconds: time of all together [s].
        pool: where they are trained.
        processes: trained side by side.
    """
    share = seconds / math.ceil(len(CANDIDATES) / processes)
    runs = [pool.submit(train_for, c, training, validation, share) for c in CANDIDATES]
    errors, paces = [], []
    for each, run in zip(CANDIDATES, runs, strict=True):
        _, network, epochs, pace = run.result()
        paces.append(pace)
        errors.append(relative_error(score(network, validation)))
        print(f"{each.name:12s} {epochs:5d} epochs, validation {errors[-1]:.4f}", flush=True)
    best = int(np.argmin(errors))
    return CANDIDATES[best], paces[best]


def ensemble(
    chosen: tuple[Candidate, float],
    training: list[ActuatorSeries],
    validation: list[ActuatorSeries],
    seconds: float,
    pool: ProcessPoolExecutor,
    processes: int,
) -> NetworkEnsemble:
    """Train members of a candidate from different seeds, at its pace; else as `heats`."""
    share = seconds / math.ceil(MEMBERS / processes)
    each, pace = chosen
    runs = [
        pool.submit(train_for, each, training, validation, share, seed, pace)
        for seed in range(MEMBERS)
    ]
    networks = []
    for number, run in enumerate(runs):
        best, network, epochs, _ = run.result()
        networks.append(network)
        print(f"member {number + 1}: {epochs} epochs, validation {best:.4f}", flush=True)
    return NetworkEnsemble(networks)


def ensemble_scores(
    members: NetworkEnsemble, series: list[ActuatorSeries], linear: Network
) -> NetworkScores:
    """Scores of the mean of an ensemble, each recording from a cold start."""
    torque = [members.predict(each.features(members.inputs)).mean for each in series]
    return score(torque, series, {"linear": linear})


def relative_error(scores: NetworkScores) -> float:
    """RMSE over the torque's deviation, geometric mean over the groups."""
    groups = scores.groups.values()
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
    reached = relative_error(score(linear, validation))
    print(f"linear       validation {reached:.4f} of the groups' deviation", flush=True)
    left = 60.0 * minutes * USED - (time.perf_counter() - started)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        parts, begun = (training, validation), time.perf_counter()
        chosen = heats(*parts, HEATS * left, pool, processes)
        print(f"chosen on validation: {chosen[0].name}", flush=True)
        members = ensemble(chosen, *parts, left - (time.perf_counter() - begun), pool, processes)
        scores = ensemble_scores(members, test, linear)
        print(f"\nmean of {MEMBERS} networks of the family chosen; cold start on the last 15 %\n")
        print_files(scores)
        report_groups(scores, score(linear, test), [score(m, test) for m in members.networks])
        taken = (time.perf_counter() - started) / 60
        print(f"{taken:.1f} minutes on {processes} processes (bar: 20)", flush=True)
        if held_out is not None:
            share = (1.0 - HEATS) * 60.0 * minutes * USED
            without_file(series, held_out, chosen, share, pool, processes)


def report_groups(
    scores: NetworkScores, linear: NetworkScores, members: list[NetworkScores]
) -> None:
    """RMSE of each group beside the published figure, the linear network and the controller's."""
    met = 0
    print()
    for group, published in PUBLISHED.items():
        rmse, beside = scores.groups[group].rmse, linear.groups[group].rmse
        own = reference_rmse(scores, group)
        alone = [each.groups[group].rmse for each in members]
        met += rmse <= published
        print(
            f"{GROUPS[group]:20s} {rmse:7.3f} (members {min(alone):.3f} to {max(alone):.3f}), "
            f"published {published:g}: {'at or below' if rmse <= published else 'ABOVE'}; linear "
            f"{beside:.3f}: {'below' if rmse < beside else 'NOT BELOW'}; the controller's own "
            f"estimate {own:.3f}"
        )
    print(f"{met} of {len(PUBLISHED)} groups at or below the published figure (bar: 3)")


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
    series: list[ActuatorSeries],
    name: str,
    chosen: tuple[Candidate, float],
    seconds: float,
    pool: ProcessPoolExecutor,
    processes: int,
) -> None:
    """Train without some files and score on the whole of them."""
    test = [each for each in series if each.name.startswith(name)]
    if not test:
        raise SystemExit(f"no file begins with {name!r}: {[each.name for each in series]}")
    split = [stretches(each, 1.0) for each in series if not each.name.startswith(name)]
    training = [part for parts in split for part in parts[0]]
    validation = [part for parts in split for part in parts[1]]
    print(f"\ntrained without {name}*, scored on the whole of it from a cold start", flush=True)
    members = ensemble(chosen, training, validation, seconds, pool, processes)
    print_files(ensemble_scores(members, test, best_linear(training, validation)))


PLAIN = ("current_angle_rad", "target_angle_rad", "current_ang_vel_rad_s")
FLOOR_EPOCHS, HARD_EPOCHS = 600, 300

QUIET: dict[str, Any] = {
    "torque_noise": 0.005,
    "encoder_noise": 1e-4,
    "gyro_noise": 1e-3,
    "accel_noise": 0.01,
}
"""Sensors of the nonlinear joint: good ones, so that the floor is far below what is learned."""


def best_from_cold(split: DataSplit, features: tuple[str, ...]) -> Network:
    """The linear network whose history serves whole validation recordings best."""
    fitted = [fit_linear(split.training, features, history) for history in HISTORIES]
    return min(fitted, key=lambda network: score(network, split.validation).total.rmse)


def synthetic_candidate(hidden: int, chunk: int, **features: Any) -> Candidate:
    """A GRU for recordings of 100 Hz."""
    model = ModelSettings(
        gru_hidden_dim=hidden, gru_num_layers=1, gru_dropout=0.0, learning_rate=5e-3
    )
    train = TrainSettings(
        accelerator="cpu",
        early_stopping=EarlyStopping(active=False),
        check_val_every_n_epoch=10,
        burn_in=50,
    )
    return Candidate(f"gru 1 x {hidden}", model, train, batch=64, chunk=chunk, **features)


def floor_candidates() -> list[Candidate]:
    """A GRU with and without a linear skip; half of its lanes start cold, as a file does."""
    candidates = []
    for skip in (True, False):
        each = synthetic_candidate(16, 16, features=PLAIN)
        model = replace(each.model, linear_skip=skip, weight_decay=1e-2)
        train = replace(each.train, cold_start_share=0.5)
        candidates.append(replace(each, model=model, train=train, batch=128))
    return candidates


def train_epochs(chosen: Candidate, split: DataSplit, epochs: int) -> TrainedNetwork:
    """Train for a number of epochs, so that the result does not depend on the machine's load."""
    return train_network(
        split.training,
        split.validation,
        features=chosen.features,
        model=chosen.model,
        train=replace(chosen.train, max_epochs=epochs),
        batch_size=chosen.batch,
        sequence_length=chosen.chunk,
        seed=0,
    )


def synthetic() -> None:
    """Noise floor, a nonlinear joint, and inertias that were never seen."""
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        noise_floor(Path(folder) / "plain")
        nonlinear_joint(Path(folder) / "hard")
        unseen_inertias(Path(folder) / "five")
    print(f"{time.process_time() - started:.0f} s of CPU")


def noise_floor(folder: Path, seed: int = 0) -> None:
    """The usual synthetic recordings, ten times, split by file: the test is whole files."""
    settings = SyntheticSettings(repeats=10)
    floor = synthesize(settings, folder, seed=seed).noise_floors["0.083kgm2"]
    split = split_global(read_series(DataSettings(data_base_dir=str(folder))), by="file")
    trained = [train_epochs(each, split, FLOOR_EPOCHS) for each in floor_candidates()]
    validated = [score(each.network, split.validation).total.rmse for each in trained]
    chosen = trained[int(np.argmin(validated))]
    print(f"usual synthetic data, I = 0.083, unfiltered: noise floor {floor:.4f} N m")

    def beside_floor(rmse: float) -> str:
        return f"{rmse:.4f} N m ({100 * (rmse / floor - 1):+.1f} %)"

    def line(network: Network) -> str:
        found = score(network, split.test)
        return (
            f"{beside_floor(found.total.rmse)} over whole files from a cold start, "
            f"{beside_floor(found.settled.rmse)} without the first half second"
        )

    print(
        f"  GRU {line(chosen.network)}; bar: +5 %; epoch {chosen.best_epoch + 1} of "
        f"{FLOOR_EPOCHS}, linear skip {chosen.network.has_skip}"
    )
    for each, rmse in zip(trained, validated, strict=True):
        print(f"    validation {rmse:.4f} N m, linear skip {each.network.has_skip}")
    cold = best_from_cold(split, PLAIN)
    settled = fit_linear_chosen(split.training, split.validation, PLAIN)
    for network in (cold,) if cold.history == settled.history else (cold, settled):
        print(f"  linear, {network.history} samples: {line(network)}")
    print(
        "  once under way a linear model does as well: these data are linear\n",
        flush=True,
    )


def nonlinear_joint(folder: Path) -> None:
    """Friction, delay, torque and speed limits; the motor's torque is what is learned."""
    settings = SyntheticSettings(
        signals=("multisine", "steps"),
        repeats=8,
        coulomb=0.5,
        delay=0.03,
        torque_limit=1.0,
        no_load_speed=8.0,
        **QUIET,
    )
    synthesize(settings, folder, seed=1)
    data = DataSettings(data_base_dir=str(folder), target_name="Motor_Torque")
    split = split_global(read_series(data), by="file")
    network = train_epochs(synthetic_candidate(64, 16, features=PLAIN), split, HARD_EPOCHS).network
    linear = fit_linear_chosen(split.training, split.validation, PLAIN)
    found, others = (score(n, split.test) for n in (network, linear))
    rmse, beside = found.settled.rmse, others.settled.rmse
    print("friction, delay, torque and speed limits; motor torque of whole files, settled:")
    print(
        f"  GRU {rmse:.4f} N m, linear {beside:.4f} ({linear.history} samples): "
        f"{beside / rmse:.1f} times (bar: 5)"
    )
    print(
        f"    with the first half second: {found.total.rmse:.4f} and {others.total.rmse:.4f}, "
        f"{others.total.rmse / found.total.rmse:.1f} times\n",
        flush=True,
    )


def unseen_inertias(folder: Path) -> None:
    """Each of five inertias held out; the motor's torque is what is learned."""
    settings = SyntheticSettings(
        inertias=(0.05, 0.083, 0.1, 0.125, 0.166), signals=("multisine", "chirp"), repeats=2
    )
    synthesize(settings, folder, seed=2)
    data = DataSettings(data_base_dir=str(folder), target_name="Motor_Torque")
    print("leave one of five inertias out, motor torque (bar: R2 0.98 each):")
    for fold in split_lomo(read_series(data), by="file"):
        network = train_epochs(synthetic_candidate(32, 16, features=PLAIN), fold, 150).network
        linear = fit_linear_chosen(fold.training, fold.validation, PLAIN)
        found, beside = (score(n, fold.test) for n in (network, linear))
        print(
            f"  {fold.name:12s} GRU {found.total.r2:.4f}, settled {found.settled.r2:.4f}; linear "
            f"{beside.total.r2:.4f}, settled {beside.settled.r2:.4f}",
            flush=True,
        )


def main() -> None:
    """Run one of the two."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("data", type=Path, help="folder of recordings; any for synthetic")
    parser.add_argument("what", choices=("hej90", "synthetic"))
    parser.add_argument("--minutes", type=float, default=20.0, help="of hej90")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--held-out", default=None, help="beginning of the names of files")
    arguments = parser.parse_args()
    if arguments.what == "hej90":
        hej90(arguments.data, arguments.minutes, arguments.processes, arguments.held_out)
    else:
        synthetic()


if __name__ == "__main__":
    main()
