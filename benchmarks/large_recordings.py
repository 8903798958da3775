"""Cost of large recordings: one with 10 million rows checked, 1000 of 1 s identified.

Run:  python benchmarks/large_recordings.py [--rows 10000000] [--recordings 1000] [--only check]

Both run the command line in a process of their own. The bars: the check takes at most 120 CPU s and
2 GB and shows its progress; the identification at most 60 CPU s and 1 GB.
"""

import argparse
import io
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def measured(words: list[str], label: str) -> tuple[float, float]:
    """CPU time [s] and largest memory [GB] of a command; its last lines are printed."""
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "trueup", *words], stdout=said, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().replace("\r", "\n").splitlines()
    cpu, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20
    shown = [line for line in text if line.strip()]
    print("\n".join(f"    {line[:110]}" for line in [*shown[:4], "...", *shown[-4:]]))
    print(
        f"{label}: exit code {process.returncode}, {cpu:.0f} CPU s, {memory:.2f} GB, "
        f"{time.monotonic() - started:.0f} s",
        flush=True,
    )
    return cpu, memory


def main() -> None:
    """Measure and compare with the bars."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--recordings", type=int, default=1000)
    parser.add_argument("--only", choices=("check", "identify"))
    options = parser.parse_args()
    missed = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.only != "identify":
            large(folder / "long.csv", options.rows)
            size = (folder / "long.csv").stat().st_size / 1e6
            words = ["check", str(experiment(folder, ["long.csv"]))]
            cpu, memory = measured(words, f"check of {options.rows} rows ({size:.0f} MB)")
            missed += ["check"] if cpu > 120 or memory > 2 else []
            (folder / "long.csv").unlink()
        if options.only != "check":
            whole = motion(1.0 * options.recordings, 0.3).reshape(options.recordings, -1, 4)
            files = [f"run_{k:04d}.csv" for k in range(options.recordings)]
            for file, rows in zip(files, whole, strict=True):
                rows[:, 0] -= rows[0, 0]
                written(folder / file, [rows])
            words = ["identify", str(experiment(folder, files)), "--quiet"]
            words += ["--output", str(folder / "run")]
            cpu, memory = measured(words, f"identify of {options.recordings} recordings of 1 s")
            missed += ["identify"] if cpu > 60 or memory > 1 else []
    sys.exit(f"missed the bar: {', '.join(missed)}" if missed else 0)


if __name__ == "__main__":
    main()
