"""CPU time to a given error on files left out: trueup's training and a plain loop over windows.

    python benchmarks/network_equal_time.py [--epochs 60] [--seeds 1]

A simulated joint with friction, delay, torque and speed limits, 100 Hz, split by file. Both train
the same network (GRU, one layer of 64) on the same files, with AdamW, a warm-up and half a cosine,
on one thread. trueup trains with `train_network`, complete: lanes with a carried state, burn-in,
validation over the files left out at every tenth epoch, and Lightning. The peer draws shuffled
windows of 100 samples with any start, each from a zero state and supervised at every sample; it has
the CPU time of trueup's training, its own scoring excluded, and is trained at each learning rate
and batch size: the best one counts for each error. Errors are settled ones over the whole files
left out, from a cold start, in fractions of that of the linear model. Bar: a ratio of 1 or more.
"""

import argparse
import itertools
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from network_quality import PLAIN, QUIET, synthetic_candidate
from trueup.networks import (
    DataSettings,
    DataSplit,
    SyntheticSettings,
    fit_linear_chosen,
    read_series,
    score,
    split_global,
    synthesize,
)
from trueup.networks.evaluation.metrics import SETTLING
from trueup.networks.training import TrainingHooks, train_network

HIDDEN, WINDOW = 64, 100
LEVELS = (0.7, 0.5, 0.4, 0.3, 0.25, 0.2)
"""Errors to reach, in fractions of that of the linear model."""
WARM_UP = 100
"""Gradient steps of the warm-up of both."""
SCORED = 20
"""Number of times at which the peer is scored in its training."""

Course = list[tuple[float, float]]
"""CPU time [s] and error on the files left out [N m], in the order of training."""


def recordings(folder: Path) -> DataSplit:
    """Recordings of the simulated joint; whole files are left out."""
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
    return split_global(read_series(data), by="file")


def lanes_course(split: DataSplit, epochs: int, seed: int) -> tuple[Course, float]:
    """Errors of `train_network` over its time, and its whole time [s]."""
    chosen = synthetic_candidate(HIDDEN, 16, features=PLAIN)
    course: Course = []
    began = 0.0

    def at_epoch(entry: dict) -> None:
        if entry.get("val_settled_rmse_epoch") is not None:
            course.append((time.process_time() - began, entry["val_settled_rmse_epoch"]))

    began = time.process_time()
    train_network(
        split.training,
        split.test,
        features=PLAIN,
        model=chosen.model,
        train=replace(chosen.train, max_epochs=epochs),
        batch_size=chosen.batch,
        sequence_length=chosen.chunk,
        seed=seed,
        hooks=TrainingHooks(epoch=at_epoch),
    )
    return course, time.process_time() - began


def windows_course(split: DataSplit, seconds: float, rate: float, size: int, seed: int) -> Course:
    """Errors of the loop over windows with a learning rate and batch size, in a CPU time [s]."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    inputs = np.concatenate([each.features(PLAIN) for each in split.training])
    outputs = np.concatenate([each.torque for each in split.training])
    mean, deviation = inputs.mean(axis=0), inputs.std(axis=0)
    centre, scale = outputs.mean(), outputs.std()
    x = torch.tensor((inputs - mean) / deviation).float()
    y = torch.tensor((outputs - centre) / scale).float()
    lengths = [len(each) for each in split.training]
    firsts = np.cumsum(lengths) - lengths
    starts = np.concatenate(
        [first + np.arange(n - WINDOW + 1) for first, n in zip(firsts, lengths, strict=True)]
    )
    recurrent = nn.GRU(len(PLAIN), HIDDEN, batch_first=True)
    head = nn.Linear(HIDDEN, 1)
    weights = [*recurrent.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=rate, weight_decay=1e-6)
    left_out = [torch.tensor((e.features(PLAIN) - mean) / deviation).float() for e in split.test]
    rows = [slice(round(SETTLING * each.rate), None) for each in split.test]
    measured = np.concatenate([e.torque[r] for e, r in zip(split.test, rows, strict=True)])

    def error() -> float:
        with torch.no_grad():
            found = [head(recurrent(each[None])[0])[0, :, 0].numpy() for each in left_out]
        predicted = np.concatenate([f[r] for f, r in zip(found, rows, strict=True)])
        return float(np.sqrt(np.mean((centre + scale * predicted - measured) ** 2)))

    course: Course = []
    order, taken, steps, spent = random.permutation(starts), 0, 0, 0.0
    steps_in_window = np.arange(WINDOW)
    while spent < seconds:
        began = time.process_time()
        if taken + size > len(order):
            order, taken = random.permutation(starts), 0
        batch = torch.from_numpy(order[taken : taken + size, None] + steps_in_window)
        taken, steps = taken + size, steps + 1
        for group in optimizer.param_groups:
            falling = 0.5 * (1.0 + np.cos(np.pi * spent / seconds))
            group["lr"] = rate * min(1.0, steps / WARM_UP) * falling
        loss = nn.functional.mse_loss(head(recurrent(x[batch])[0])[..., 0], y[batch])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 5.0)
        optimizer.step()
        spent += time.process_time() - began
        if spent >= seconds * (len(course) + 1) / SCORED:
            course.append((spent, error()))
    return course


def time_to(course: Course, level: float) -> float:
    """CPU time until an error is reached [s]; infinite where it is not."""
    return next((spent for spent, error in course if error <= level), float("inf"))


def compare(split: DataSplit, epochs: int, tried: list[tuple[float, int]], seed: int) -> None:
    """Train both and print the times to each error."""
    linear = fit_linear_chosen(split.training, split.validation, PLAIN)
    whole = score(linear, split.test).settled.rmse
    lanes_course(split, 1, seed)  # loads the libraries
    lanes, seconds = lanes_course(split, epochs, seed)
    best = min(error for _, error in lanes)
    peers = {each: windows_course(split, seconds, *each, seed) for each in tried}
    print(
        f"seed {seed}: linear model of {linear.history} samples {whole:.4f} N m; {seconds:.0f} s "
        f"of CPU each; least error: trueup {best:.4f}, windows",
        ", ".join(
            f"{min(error for _, error in course):.4f} (rate {rate:g}, batch {size})"
            for (rate, size), course in peers.items()
        ),
    )
    for share in LEVELS:
        own = time_to(lanes, share * whole)
        other = min(time_to(course, share * whole) for course in peers.values())
        if np.isinf(own) and np.isinf(other):
            print(f"  {share:4.2f} of linear: reached by neither")
            continue
        print(
            f"  {share:4.2f} of linear: trueup {own:6.1f} s, windows {other:6.1f} s, ratio "
            f"{other / own:.2f}",
            flush=True,
        )


def main() -> None:
    """Compare the two for each seed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--epochs", type=int, default=60, help="of trueup's training")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rates", type=float, nargs="+", default=[2e-3, 5e-3])
    parser.add_argument("--batches", type=int, nargs="+", default=[16, 64])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        split = recordings(Path(folder))
    tried = list(itertools.product(arguments.rates, arguments.batches))
    for seed in range(arguments.seeds):
        compare(split, arguments.epochs, tried, seed)


if __name__ == "__main__":
    main()
