"""Virtual environment with mjlab, Newton and Isaac Lab's actuators, made once and reused.

Its folder is ``~/.cache/trueup/simulators`` or ``TRUEUP_SIMULATORS``, with about 2 GB. The
simulators' declared requirements are not installed: they need a GPU build of torch.
"""

import os
import subprocess
import sys
from pathlib import Path

# torch first and alone, so that nothing else chooses its version
STEPS = (
    ("torch==2.13.0",),
    ("--no-deps", "mjlab==1.6.0", "mujoco~=3.11.0", "mujoco-warp~=3.11.0", "warp-lang"),
    (
        "torch==2.13.0", "absl-py", "etils[epath]", "tyro", "typing_extensions", "docstring-parser",
        "rich", "prettytable", "scipy", "mediapy", "matplotlib", "pillow", "ipython", "tqdm",
        "imageio-ffmpeg", "glfw", "pyopengl", "numpy",
    ),
    ("torch==2.13.0", "toml", "gymnasium", "trimesh", "packaging", "pyyaml"),
    ("--no-deps", "isaaclab==2.3.2.post1"),
    ("--no-deps", "newton==1.8.0", "warp-nn==0.4.*"),
    ("numba", "cma", "pytest", "onnx", "onnxruntime"),
)  # fmt: skip
"""What is installed, in this order."""


def simulator_python() -> Path:
    """The interpreter of the environment, which is made where it is absent or out of date."""
    default = Path.home() / ".cache" / "trueup" / "simulators"
    folder = Path(os.environ.get("TRUEUP_SIMULATORS", default))
    python, stamp = folder / "bin" / "python", folder / "steps.txt"
    if stamp.is_file() and stamp.read_text() == repr(STEPS):
        return python
    print(f"making {folder}: some minutes and 2 GB", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    for step in STEPS:
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *step], check=True)
    stamp.write_text(repr(STEPS))
    return python
