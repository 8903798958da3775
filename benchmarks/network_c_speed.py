"""CPU time of a step of learned actuators exported as C.

    python benchmarks/network_c_speed.py [--steps 100000] [--flags=-O2]

Each network is exported, compiled by the compiler of this machine and stepped by a program in C, as
firmware would: no Python is within the time. The best of five runs counts. Networks are those that
`train` tries by default (a GRU and an LSTM of 32 and 64, an MLP of two layers over 16 samples and
over the longest history, 128; three features), one over the law of a servo, and the GRU of 2 x 128
of a training that names no size. Bar: 8 microseconds for each that the default tries.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from trueup.deploy import export_network
from trueup.networks import Network

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS / "networks"), str(TESTS / "actuators")]
from random_networks import random_network  # noqa: E402
from servo_bases import distinct_base  # noqa: E402

BAR = 8.0
"""Greatest CPU time of a step [microseconds]."""

PROGRAM = """\
#include <stdio.h>
#include <time.h>
#include "knee.h"
int main(void) {
    static double rows[64][knee_INPUTS];
    for (int k = 0; k < 64; k++)
        for (int i = 0; i < knee_INPUTS; i++) rows[k][i] = 0.01 * ((k * 7 + i * 13) % 64 - 32);
    knee_state state;
    double best = 1e9, sum = 0.0;
    for (int run = 0; run < 5; run++) {
        knee_reset(&state);
        struct timespec a, b;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
        for (long k = 0; k < STEPS; k++) sum += knee_step(&state, rows[k % 64]);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
        double each = ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / 1e3 / STEPS;
        if (each < best) best = each;
    }
    printf("%.4f %g\\n", best, sum);
    return 0;
}
"""


def step_time(network: Network, steps: int, flags: list[str]) -> float:
    """CPU time of a step [microseconds]."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise SystemExit("there is no C compiler: install cc, gcc or clang")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export_network(network, "c", folder / "knee.c")
        (folder / "main.c").write_text(PROGRAM.replace("STEPS", str(steps)))
        words = [compiler, "-std=gnu99", *flags, "main.c", "knee.c", "-o", "knee", "-lm"]
        subprocess.run(words, cwd=folder, check=True)
        told = subprocess.run([folder / "knee"], capture_output=True, text=True, check=True)
    return float(told.stdout.split()[0])


def networks() -> dict[str, tuple[Network, bool]]:
    """Networks by name, and whether the default tries one of their size."""
    servo = distinct_base("voltage", "m4")
    return {
        "GRU of 32": (random_network("gru", hidden=32, layers=1, skip=False), True),
        "GRU of 64": (random_network("gru", hidden=64, layers=1, skip=False), True),
        "GRU of 64 with a linear skip": (random_network("gru", hidden=64, layers=1), True),
        "LSTM of 32": (random_network("lstm", hidden=32, layers=1, skip=False), True),
        "LSTM of 64": (random_network("lstm", hidden=64, layers=1, skip=False), True),
        "MLP of 2 x 64 over 16 samples": (
            random_network("mlp", hidden=64, layers=2, history=16),
            True,
        ),
        "MLP of 2 x 64 over 128 samples": (
            random_network("mlp", hidden=64, layers=2, history=128),
            True,
        ),
        "GRU of 16 over a servo, M4": (
            random_network("gru", hidden=16, layers=1, skip=False, base=servo),
            True,
        ),
        "GRU of 2 x 128": (random_network("gru", hidden=128, layers=2, skip=False), False),
    }


def main() -> None:
    """Print the table; exit code 1 where the bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--flags", default="-O2", help="flags of the compiler")
    arguments = parser.parse_args()
    slowest = 0.0
    for name, (network, is_default) in networks().items():
        cost = step_time(network, arguments.steps, arguments.flags.split())
        print(f"{name:32} {cost:8.2f} us", flush=True)
        slowest = max(slowest, cost) if is_default else slowest
    print(f"slowest that the default tries {slowest:.2f} us (bar {BAR:g}), {arguments.flags}")
    if slowest > BAR:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
