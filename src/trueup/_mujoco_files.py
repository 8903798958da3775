"""Installed distributions of MuJoCo, which may overwrite each other.

Up to 3.17 the distribution ``mujoco`` contains everything. From 4.0 on the compiled modules are in
``mujoco-core``, which installs into the same folder: with 3.17 and ``mujoco-core`` 4.0.1 in one
environment, the files are those of the last one installed, the metadata lists both, and
uninstalling one removes files of the other. pip does not detect this, as neither requires the
other.
"""

import functools
import importlib.util
import sys
from collections.abc import Callable

from trueup.errors import InstallationError

#: Distributions that install the package ``mujoco``, in the order of look-up.
DISTRIBUTIONS = ("mujoco", "mujoco-core")


#: Releases with wrong results, and their defects. A range in pyproject.toml excludes one of
#: ``mujoco``, but does not apply to ``mujoco-core`` alone.
FAULTY = {
    "4.0.0": "its Newton solver has a wrong Hessian where the Jacobian of the constraints is sparse"
}


def installed_version(distribution: str) -> str | None:
    """Return the version of a distribution, None if it is not installed."""
    import importlib.metadata

    return _version(distribution, importlib.metadata.version, tuple(sys.path))


@functools.cache
def _version(distribution: str, look_up: Callable[[str], str], path: tuple[str, ...]) -> str | None:
    """Version found by a look-up on a search path: it parses the whole metadata each time."""
    import importlib.metadata

    try:
        return look_up(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def mujoco_version() -> str | None:
    """Return the version of MuJoCo, without importing it; None if it is not installed."""
    return next(filter(None, map(installed_version, DISTRIBUTIONS)), None)


def check_mujoco() -> None:
    """Check for mixed files of two versions of MuJoCo, and for a faulty release.

    Raises:
        InstallationError: ``mujoco`` and ``mujoco-core`` of different versions are installed, the
            uninstallation of one has removed files of the other, or the release is faulty.
    """
    whole, core = map(installed_version, DISTRIBUTIONS)
    if whole is not None and core is not None and whole != core:
        raise InstallationError(
            f"mujoco {whole} and mujoco-core {core} are both installed, and overwrite each "
            "other's files. Remove both and install one: "
            "pip uninstall -y mujoco mujoco-core, then "
            f'pip install "mujoco-core=={core}" or pip install "mujoco=={whole}"'
        )
    version = whole or core
    if version in FAULTY:
        raise InstallationError(
            f"MuJoCo {version} is installed, which gives wrong results: {FAULTY[version]}. Remove "
            "it "
            "and install another: pip uninstall -y mujoco mujoco-core, then "
            'pip install "mujoco-core>4.0.0" or pip install "mujoco<4"'
        )
    if "mujoco" in sys.modules:
        return
    found = importlib.util.find_spec("mujoco")
    name = "mujoco" if core is None else "mujoco-core"
    if version is not None and (found is None or found.origin is None):
        raise InstallationError(
            f"{name} {version} is installed, but its files are missing (uninstalling mujoco "
            "removes those of mujoco-core, and vice versa). Reinstall them: "
            f'pip install --force-reinstall --no-deps "{name}=={version}"'
        )
