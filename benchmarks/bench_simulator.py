"""CPU time of the servo bench simulator and its gradient, compared with Better Actuator Models.

Run:  python benchmarks/bench_simulator.py LOGS PARAMETERS.json [--peer-python python3.12]

LOGS is a folder of raw servo logs and PARAMETERS.json an M6 file of their servo. The peer runs in a
separate virtual environment (--peer-environment), which the first run creates with pip; it needs
Python 3.12, or is installed under the current Python. Times are CPU times of all threads of a
process: the best of several alternating rounds.
"""

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bam_environment import DEFAULT_FOLDER, PEER, peer_python
from trueup import actuators

PEER_SCRIPT = r"""
import json, platform, sys, time
from importlib.metadata import version

import numpy as np
from bam.logs import Logs
from bam.model import load_model
from bam.simulate import Simulator

logs, parameters = sys.argv[1:3]
batch = Logs(logs).make_batch()
measured = np.array([entry["position"] for entry in batch["entries"]])
model = load_model(parameters)


def objective():
    positions, _, _ = Simulator(model).rollout_log(batch, simulate_control=True)
    return float(np.mean(np.abs(np.array(positions) - measured)))


cost = objective()
limit = getattr(model.actuator, "max_current", None)
print(json.dumps({"version": version("better-actuator-models"), "max_amps": limit, "cost": cost,
                  "python": platform.python_version(), "numpy": np.__version__}), flush=True)
for line in sys.stdin:
    started = time.process_time()
    objective()
    print(json.dumps({"cpu": time.process_time() - started}), flush=True)
"""


class Peer:
    """The other package in a process of its own, which evaluates once for each line it reads."""

    def __init__(self, environment: Path, python: str, logs: Path, parameters: Path):
        interpreter = peer_python(environment, python)
        self.process = subprocess.Popen(
            [str(interpreter), "-c", PEER_SCRIPT, str(logs), str(parameters)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.about = self._read()

    def _read(self) -> dict:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the peer ended without an answer: see its error above")
        return json.loads(line)

    def evaluate(self) -> float:
        """CPU time of one evaluation [s]."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self._read()["cpu"]

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def cpu_time(function: Callable[[], object], evaluations: int) -> float:
    """CPU time of one of ``evaluations`` [s], over all threads of this process."""
    started = time.process_time()
    function()
    return (time.process_time() - started) / evaluations


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", type=Path)
    parser.add_argument("parameters", type=Path)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--batch", type=int, default=16, help="candidates of one call")
    parser.add_argument("--peer-python", default=sys.executable)
    parser.add_argument("--peer-environment", type=Path, default=DEFAULT_FOLDER)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        actuators.process(options.logs, folder, compat="bam")
        peer = Peer(options.peer_environment, options.peer_python, Path(folder), options.parameters)
        logs = actuators.read_logs(folder)
        compare(options, peer, logs)
        peer.close()


def cut(log: actuators.ServoLog, samples: int) -> actuators.ServoLog:
    """The first samples of a log."""
    fields = ("times", "position", "speed", "goal_position", "torque_enable", "load")
    parts = {
        name: getattr(log, name)[:samples] for name in fields if getattr(log, name) is not None
    }
    return dataclasses.replace(log, **parts, input_volts=None, temperature=None, columns={})


def compare(options: argparse.Namespace, peer: Peer, logs: list) -> None:
    """Take turns with the peer, and print both."""
    model = actuators.load_model(options.parameters)
    limit = peer.about["max_amps"]
    if limit is not None:  # the peer's firmware limits the current of this servo
        servo = dataclasses.replace(model.servo, max_amps=limit)
        model = dataclasses.replace(model, servo=servo)
    # the peer cuts all logs to the shortest one
    shortest = min(len(log) for log in logs)
    logs = [cut(log, shortest) for log in logs]
    bench = actuators.BenchSimulator(model, logs, scheme="bam")
    fine = actuators.BenchSimulator(model, logs)
    one = model.vector()[None, :]
    many = np.repeat(one, options.batch, axis=0)
    cost = float(bench.costs(one)[0])
    work = {
        "one candidate a call": (lambda: bench.costs(one), 1),
        f"{options.batch} candidates a call": (lambda: bench.costs(many), options.batch),
        f"with the gradient, {options.batch} a call": (
            lambda: bench.cost_gradients(many),
            options.batch,
        ),
        "semi-implicit, steps of 1 ms": (lambda: fine.costs(many), options.batch),
        "semi-implicit, with the gradient": (lambda: fine.cost_gradients(many), options.batch),
    }
    best = dict.fromkeys(work, np.inf)
    theirs = np.inf
    for function, _ in work.values():
        function()  # compiles
    for _ in range(options.rounds):
        theirs = min(theirs, peer.evaluate())
        for name, (function, evaluations) in work.items():
            best[name] = min(best[name], cpu_time(function, evaluations))
    about = peer.about
    print(f"{len(logs)} logs, {bench.data.samples} samples, {len(model.names)} parameters")
    print(f"{PEER} {about['version']}, Python {about['python']}, numpy {about['numpy']}")
    print(f"  objective {about['cost']:.12f} rad, {1e3 * theirs:.1f} ms CPU an evaluation")
    print(f"trueup, scheme bam: objective {cost:.12f} rad, apart by {cost - about['cost']:.1e}")
    for name, seconds in best.items():
        print(f"  {name}: {1e3 * seconds:.3f} ms CPU an evaluation, {theirs / seconds:.0f} times")
    plain, gradient, fine_plain, fine_gradient = list(best.values())[1:]
    print(f"gradient: {gradient / plain:.2f} evaluations' worth, {fine_gradient / fine_plain:.2f} "
          "with steps of 1 ms")  # fmt: skip


if __name__ == "__main__":
    main()
