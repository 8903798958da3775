"""Exported servos and learned actuators in mjlab, Newton and classes of Isaac Lab, on a CPU.

The first run makes a virtual environment (see ``environment.py``). Run::

    python benchmarks/simulator_contracts/run.py [NAME ...]

with names among ``mjlab``, ``isaac_lab``, ``networks``, ``newton``, ``modules``, ``draws``
and ``tests``; all by default. ``tests`` runs the project's tests of the torch code there.
"""

import os
import subprocess
import sys
from pathlib import Path

from environment import simulator_python

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CHECKS = {
    "mjlab": [str(HERE / "check_mjlab.py")],
    "isaac_lab": [str(HERE / "check_isaac_lab.py")],
    "networks": [str(HERE / "check_networks.py")],
    "newton": [str(HERE / "check_newton.py")],
    "modules": [str(HERE / "check_servo_modules.py")],
    "draws": [str(HERE / "check_servo_draws.py")],
    "tests": [
        "-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider",
        str(ROOT / "tests" / "deploy" / "mjlab"),
    ],
}  # fmt: skip


def main() -> None:
    """Run the checks that are named, or all."""
    python = simulator_python()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    for name in sys.argv[1:] or CHECKS:
        print(f"== {name}", flush=True)
        subprocess.run([str(python), *CHECKS[name]], check=True, env=environment)


if __name__ == "__main__":
    main()
