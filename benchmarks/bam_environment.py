"""Shared: a virtual environment with Better Actuator Models, made once and reused."""

import subprocess
import sys
import tempfile
from pathlib import Path

PEER = "better-actuator-models"
DEFAULT_FOLDER = Path(tempfile.gettempdir()) / "trueup-benchmark-peer"


def peer_python(folder: Path, python: str = sys.executable, *further: str) -> Path:
    """Interpreter of the environment in a folder, with further packages.

    The peer needs Python 3.12; under another Python it is installed all the same. Its own
    requirements would bring Qt and a driver of buses.
    """
    interpreter = folder / "bin" / "python"
    packages = " ".join(["numpy", "colorama", *further])
    stamp = folder / "packages.txt"
    if stamp.is_file() and set(packages.split()) <= set(stamp.read_text().split()):
        return interpreter
    if not interpreter.exists():
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
    pip = [str(interpreter), "-m", "pip", "install", "-q"]
    subprocess.run([*pip, *packages.split()], check=True)
    subprocess.run([*pip, "--no-deps", "--ignore-requires-python", PEER], check=True)
    stamp.write_text(packages)
    return interpreter
