"""Cost of large data and long runs: rows, recordings, evaluations, and a day of gait search.

Run:  python benchmarks/large_runs.py [--parts check gait ...] [--results large_runs.jsonl]

Each part is a process of its own:

check       one recording of 10 million rows, checked
recordings  500 recordings of 1 s, identified, with a report
study       a study of a million evaluations, with a report
gait        24 h of gait search by simulated time: a generation advances the clocks of the run by
            10 s and its walks are numbers in place of simulations; store and logs are the real ones

A part that has its line in the results is not repeated. The table shows processor time, memory and
the bytes of what was written, each with its bar; exit code 1 if one is missed.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

MODEL = """<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body name="arm">
      <joint name="hinge" type="hinge" axis="0 1 0" damping="{damping}" armature="{armature}"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.02" mass="0.5"/>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="hinge"/></actuator>
  <sensor><jointpos name="angle" joint="hinge"/><jointvel name="speed" joint="hinge"/></sensor>
</mujoco>
"""
TRUE = {"damping": 0.05, "armature": 0.01}
GUESS = {"damping": 0.02, "armature": 0.02}
RATE = 500.0
"""Rows a second of a recording [Hz]."""


def motion(seconds: float, phase: float) -> np.ndarray:
    """Time, torque, angle and speed of the arm driven by two sines: one row a sample."""
    model = mujoco.MjModel.from_xml_string(MODEL.format(**TRUE))
    data = mujoco.MjData(model)
    times = np.arange(round(seconds * RATE)) / RATE
    torque = 0.6 * np.sin(5.0 * times + phase) + 0.4 * np.sin(13.0 * times + 2.0 * phase)
    rows = np.empty((len(times), 4))
    noise = np.random.default_rng(round(1000 * phase)).standard_normal((len(times), 2))
    for row, (at, tau) in enumerate(zip(times, torque, strict=True)):
        rows[row] = at, tau, data.qpos[0], data.qvel[0]
        data.ctrl[0] = tau
        mujoco.mj_step(model, data)
    rows[:, 2:] += noise * (1e-3, 1e-2)
    return rows


def written(path: Path, blocks: list[np.ndarray] | np.ndarray) -> None:
    """Write a recording as CSV."""
    with path.open("w") as file:
        file.write("time,motor,angle,speed\n")
        for block in blocks:
            np.savetxt(file, block, fmt="%.15g", delimiter=",")


def large(path: Path, rows: int) -> None:
    """A recording of so many rows: one motion of 200 s again and again, the time running on."""
    block = motion(200.0, 0.3)
    text = io.StringIO()
    np.savetxt(text, block[:, 1:], fmt="%.17g", delimiter=",")
    lines = text.getvalue().splitlines()
    with path.open("w") as file:
        file.write("time,motor,angle,speed\n")
        for start in range(0, rows, len(lines)):
            count = min(len(lines), rows - start)
            file.writelines(f"{(start + k) / RATE:.3f},{lines[k]}\n" for k in range(count))


def experiment(folder: Path, files: list[str]) -> Path:
    """An experiment file with armature and damping as unknowns."""
    (folder / "arm.xml").write_text(MODEL.format(**GUESS))
    content = {
        "model": "arm.xml",
        "recordings": [{"file": file, "controls": {"motor": "motor"}} for file in files],
        "parameters": {
            "armature": {"target": "joint/hinge/armature", "bounds": [0.001, 0.1], "scale": "log"},
            "damping": {"target": "joint/hinge/damping", "bounds": [0.005, 0.5], "scale": "log"},
        },
    }
    for recording in content["recordings"]:
        recording["signals"] = {"angle": "angle", "speed": "speed"}
    path = folder / "experiment.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


DAY = 24 * 3600.0
GENERATION = 10.0
"""Simulated time of a generation of walks [s]."""
BARS: dict[str, dict[str, float]] = {
    "check": {"cpu_s": 120, "memory_gb": 2},
    "recordings": {"cpu_s": 60, "memory_gb": 1, "report_mb": 10},
    "study": {"cpu_s": 300, "memory_gb": 2, "store_mb": 300, "log_mb": 1, "report_mb": 10},
    "gait": {"cpu_s": 900, "memory_gb": 2, "store_mb": 500, "log_mb": 5, "terms_mb": 200},
}
"""Most of each figure of a part."""


def prepared(part: str, folder: Path, options: argparse.Namespace) -> list[str]:
    """Make the inputs of a part; returns its command."""
    run = ["--output", str(folder / "run")]
    if part == "check":
        large(folder / "long.csv", options.rows)
        return ["-m", "trueup", "check", str(experiment(folder, ["long.csv"]))]
    if part == "recordings":
        count = options.recordings
        whole = motion(1.0 * count, 0.3).reshape(count, -1, 4)
        files = [f"run_{k:04d}.csv" for k in range(count)]
        for file, rows in zip(files, whole, strict=True):
            rows[:, 0] -= rows[0, 0]
            written(folder / file, [rows])
        return ["-m", "trueup", "identify", str(experiment(folder, files)), "--quiet", *run]
    if part == "study":
        words = ["study", "run", "rotated_rastrigin", "--method", "cmaes", "restarts=ipop"]
        words += ["population=16", "--evaluations", str(options.evaluations), "--quiet", *run]
        return ["-m", "trueup", *words]
    return [__file__, "--day", str(folder / "run"), str(options.hours)]


def day_of_gait(run: Path, hours: float) -> None:
    """Search a walk for hours of simulated time; what the child process of ``gait`` does."""
    from trueup import gait
    from trueup.gait.search import problem
    from trueup.runs import Budget

    real, begun = problem.evaluate, time.monotonic()
    names: dict[str, np.ndarray] = {}
    passed = 0.0
    chance = np.random.default_rng(0)

    def walked(scenario: Any, X: np.ndarray, *further: Any) -> tuple[np.ndarray, Any]:
        """Costs and terms of the shape of real ones, which cost next to nothing."""
        nonlocal passed
        if not names:
            names.update(real(scenario, X, *further)[1])
        passed += GENERATION
        cost = 500.0 + np.square(X - 1.0).mean(axis=1)
        return cost, {name: chance.standard_normal(len(X)) for name in names}

    problem.evaluate = walked
    clock = time.monotonic
    time.monotonic = time.perf_counter = lambda: clock() + passed
    limits = Budget(max_seconds=hours * 3600.0)
    generations = round(hours * 3600.0 / GENERATION)
    changes = {"sim_time": 0.2, "popsize": 16, "maxiter": generations, "seed": 0}
    gait.optimize("baseline", run, changes=changes, limits=limits, verbose=False)
    print(f"{passed / 3600:.1f} h simulated in {clock() - begun:.0f} s")


def measured(part: str, options: argparse.Namespace) -> dict[str, float]:
    """Figures of a part: processor time, largest memory, size of the files of its run."""
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryFile("w+") as said:
        folder, at = Path(name), time.monotonic()
        words = prepared(part, folder, options)
        process = subprocess.Popen([sys.executable, *words], stdout=said, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        shown = [line for line in said.read().replace("\r", "\n").splitlines() if line.strip()]
        print("\n".join(f"    {line[:110]}" for line in [*shown[:4], "...", *shown[-4:]]))
        if process.returncode not in (0, 3):
            raise SystemExit(f"{part}: exit code {process.returncode}")
        figures = {
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "memory_gb": usage.ru_maxrss / 2**20,
            "wall_s": time.monotonic() - at,
        }
        files = {"store": "study.sqlite", "log": "log.jsonl", "terms": "terms.jsonl"}
        for name, file in {**files, "report": "report.html"}.items():
            if (path := folder / "run" / file).is_file():
                figures[f"{name}_mb"] = path.stat().st_size / 1e6
    return figures


def main() -> None:
    """Measure and compare with the bars."""
    if sys.argv[1:2] == ["--day"]:
        day_of_gait(Path(sys.argv[2]), float(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=list(BARS), choices=list(BARS))
    parser.add_argument("--results", type=Path, default=Path("large_runs.jsonl"))
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--recordings", type=int, default=500)
    parser.add_argument("--evaluations", type=int, default=1_000_000)
    parser.add_argument("--hours", type=float, default=DAY / 3600.0)
    options = parser.parse_args()
    lines = options.results.read_text().splitlines() if options.results.is_file() else []
    found = {record.pop("part"): record for record in map(json.loads, lines)}
    for part in options.parts:
        if part not in found:
            found[part] = measured(part, options)
            with options.results.open("a") as file:
                file.write(json.dumps({"part": part, **found[part]}) + "\n")
    missed = False
    print(f"{'part':12s}{'figure':12s}{'found':>10s}{'bar':>8s}")
    for part in options.parts:
        for name, value in found[part].items():
            bar = BARS[part].get(name)
            beyond = bar is not None and value > bar
            missed |= beyond
            end = "" if bar is None else f"{bar:8.0f}{'  missed' if beyond else ''}"
            print(f"{part:12s}{name:12s}{value:10.2f}{end}")
    sys.exit(missed)


if __name__ == "__main__":
    main()
