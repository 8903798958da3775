"""Supervised time steps per CPU second in training, compared with a loop over windows.

    python benchmarks/network_training_speed.py [--seconds 20] [--threads 1] [--samples 600]

The network is the default (GRU, two layers of 128). trueup trains with `train_network`, complete:
burn-in, validation over whole recordings, optimiser, Lightning. The peer is the usual loop over
windows of 100 samples with a stride of one, in shuffled batches of 256, each from a zero state and
supervised at its last sample; it gets its windows as one array, and its time includes only loss,
gradient and optimiser. Both run in this process on the same recordings; CPU time is that of the
whole process. The limit is a factor of 50.
"""

import argparse
import resource
import time

import numpy as np

from trueup.networks import FEATURE_NAMES, ActuatorSeries
from trueup.networks.training import ModelSettings, TrainSettings, train_network
from trueup.networks.training.settings import EarlyStopping

WINDOW, BATCH = 100, 256


def recordings(count: int = 9, samples: int = 6000) -> list[ActuatorSeries]:
    """Recordings of 60 s at 100 Hz; what stands in them does not matter for the speed."""
    random = np.random.default_rng(0)
    made = []
    for index in range(count):
        channels = {name: random.standard_normal(samples) for name in FEATURE_NAMES}
        made.append(
            ActuatorSeries(f"run {index}", "all", 100.0, channels, random.standard_normal(samples))
        )
    return made


def cpu_seconds() -> float:
    """CPU time of the process, all threads [s]."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def lanes_rate(series: list[ActuatorSeries], steps: int, threads: int) -> float:
    """Supervised steps per CPU second of `train_network`, which validates as it does by default."""
    training, validation = series[:-2], series[-2:]

    def run(number: int) -> tuple[int, float]:
        """Epochs done, and their CPU time [s]."""
        before = cpu_seconds()
        trained = train_network(
            training,
            validation,
            model=ModelSettings(),
            train=TrainSettings(
                max_steps=number,
                accelerator="cpu",
                threads=threads,
                early_stopping=EarlyStopping(active=False),
            ),
            batch_size=128,
            sequence_length=WINDOW,
        )
        return len(trained.history), cpu_seconds() - before

    run(1)  # loads the libraries
    epochs, spent = run(steps)
    return epochs * sum(len(each) for each in training) / spent


def windows_rate(series: list[ActuatorSeries], seconds: float, threads: int) -> float:
    """Supervised steps per CPU second of the loop over windows: one a window."""
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    stacked = [each.features(FEATURE_NAMES).astype(np.float32) for each in series]
    inputs = np.concatenate(
        [np.lib.stride_tricks.sliding_window_view(x, WINDOW, 0).transpose(0, 2, 1) for x in stacked]
    )
    torque = np.concatenate([each.torque[WINDOW - 1 :] for each in series]).astype(np.float32)
    recurrent = nn.GRU(len(FEATURE_NAMES), 128, num_layers=2, batch_first=True, dropout=0.1)
    head = nn.Linear(128, 1)
    weights = [*recurrent.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=1e-3, weight_decay=1e-6)
    order = np.random.default_rng(0).permutation(len(inputs))

    def step(rows: np.ndarray) -> None:
        hidden, _ = recurrent(torch.from_numpy(np.ascontiguousarray(inputs[rows])))
        loss = nn.functional.mse_loss(head(hidden[:, -1])[:, 0], torch.from_numpy(torque[rows]))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 5.0)
        optimizer.step()

    step(order[:BATCH])
    before, started, supervised = cpu_seconds(), time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        first = supervised % (len(order) - BATCH)
        step(order[first : first + BATCH])
        supervised += BATCH
    return supervised / (cpu_seconds() - before)


def main() -> None:
    """Measure both and print the ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="of the window loop")
    parser.add_argument("--steps", type=int, default=100, help="gradient steps of our training")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--samples", type=int, default=6000, help="of each recording, at 100 Hz")
    arguments = parser.parse_args()
    series = recordings(samples=arguments.samples)
    windows = windows_rate(series[:-2], arguments.seconds, arguments.threads)
    lanes = lanes_rate(series, arguments.steps, arguments.threads)
    print(f"window loop, stride 1, T = {WINDOW}: {windows:10.0f} supervised steps / CPU s")
    print(f"trueup, lanes with carried state:  {lanes:10.0f} supervised steps / CPU s")
    print(f"ratio {lanes / windows:.0f} (bar: 50)")


if __name__ == "__main__":
    main()
