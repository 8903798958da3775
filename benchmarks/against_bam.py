"""A servo fit compared with the fit of Better Actuator Models (BAM), on the same logs.

    python benchmarks/against_bam.py LOGS [--models m1 m6] [--trials 2000] [--held-out 400]
        [--peer-python python3.12] [--peer-environment FOLDER]

LOGS is a folder of raw logs of an XL330. BAM runs its own command, in an environment that the first
run creates with pip. Both fit the same friction model to the same resampled logs, with the current
limit that BAM's XL330 has; logs of the gain ``--held-out`` are fitted by neither. Both parameter
files are scored by BAM's own simulator. Printed for each: wall and CPU time, evaluations, and mean
absolute position error [mrad] on the fitted and on the held-out logs.
"""

import argparse
import dataclasses
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bam_environment import DEFAULT_FOLDER, peer_python
from trueup import actuators
from trueup.actuators import FitSettings, Servo

SCORE = r"""
import json, sys
import numpy as np
from bam.logs import Logs
from bam.model import load_model
from bam.simulate import Simulator

folder, parameters, held_out = sys.argv[1:]
fitted = Logs(folder)
others = fitted.split(float(held_out))
model = load_model(parameters)
scores = {"max_amps": model.actuator.max_current}
for name, logs in (("fitted", fitted), ("held_out", others)):
    batch = logs.make_batch()
    positions = Simulator(model).rollout_log(batch, simulate_control=True)[0]
    measured = np.array([entry["position"] for entry in batch["entries"]])
    scores[name] = float(np.mean(np.abs(np.array(positions) - measured)))
print(json.dumps(scores))
"""


def main() -> None:
    """Fit each model with both, and print both."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("logs", type=Path)
    parser.add_argument("--models", nargs="+", default=["m1", "m6"])
    parser.add_argument("--trials", type=int, default=2000, help="evaluations of BAM")
    parser.add_argument("--held-out", type=int, default=400, help="gain of the held-out logs")
    parser.add_argument("--peer-python", default=sys.executable)
    parser.add_argument("--peer-environment", type=Path, default=DEFAULT_FOLDER)
    given = parser.parse_args()
    further = ("optuna", "cmaes", "wandb")
    python = peer_python(given.peer_environment.resolve(), given.peer_python, *further)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        logs = folder / "logs"
        actuators.process(given.logs, logs, compat="bam")
        for model in given.models:
            theirs = folder / f"bam_{model}.json"
            seconds = peer_fit(python, model, logs, theirs, given)
            scores = peer_scores(python, logs, theirs, given.held_out)
            tell(f"BAM {model}, {given.trials} evaluations", seconds, scores)
            known = actuators.find_servo("xl330")
            servo = dataclasses.replace(known, max_amps=scores["max_amps"])
            own_fit(python, servo, model, logs, folder, given.held_out)


def peer_fit(python: Path, model: str, logs: Path, output: Path, given) -> tuple[float, float]:
    """Wall and CPU time [s] of BAM's own command, with one worker."""
    arguments = {
        "actuator": "xl330", "model": model, "logdir": logs, "output": output,
        "trials": given.trials, "validation_kp": given.held_out,
    }  # fmt: skip
    words = [w for key, value in arguments.items() for w in (f"--{key}", str(value))]
    wall, cpu = time.perf_counter(), children_cpu()
    subprocess.run(
        [str(python), "-m", "bam.fit", *words], check=True, stdout=subprocess.DEVNULL,
        cwd=output.parent, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    return time.perf_counter() - wall, children_cpu() - cpu


def children_cpu() -> float:
    """CPU time of ended child processes [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peer_scores(python: Path, logs: Path, parameters: Path, held_out: int) -> dict[str, float]:
    """Mean absolute errors [rad] of a parameter file in BAM's own simulator."""
    words = [str(python), "-c", SCORE, str(logs), str(parameters), str(held_out)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def own_fit(
    python: Path, servo: Servo, model: str, logs: Path, folder: Path, held_out: int
) -> None:
    """Fit in BAM's integration scheme, so that one simulator scores both, and print."""
    settings = FitSettings(scheme="bam", validation_kp=(held_out,))
    compiling = dataclasses.replace(settings, trials=10)
    actuators.fit(servo, model, logs, settings=compiling)
    output = folder / f"{model}.json"
    wall, cpu = time.perf_counter(), time.process_time()
    found = actuators.fit(servo, model, logs, settings=settings, output=output)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    scores = peer_scores(python, logs, output, held_out)
    count = found.solution.stats["evaluations"]
    tell(f"trueup {model}, {count} evaluations, intervals and report", seconds, scores)
    print(f"  {found.verdict.grade.value}", flush=True)


def tell(what: str, seconds: tuple[float, float], scores: dict[str, float]) -> None:
    """Print a row."""
    print(
        f"{what}: {seconds[0]:.1f} s, {seconds[1]:.1f} CPU s; fitted logs "
        f"{1e3 * scores['fitted']:.2f} mrad, held out {1e3 * scores['held_out']:.2f} mrad",
        flush=True,
    )


if __name__ == "__main__":
    main()
