"""``experiment.yaml`` of a run: its header, and the content of its spec."""

from typing import Any

import yaml

from trueup._version import __version__
from trueup.errors import RunDirectoryError
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.yaml_file import read_mapping

IDENTIFICATION = "identification"
"""Kind of older files without ``kind``."""


def write_experiment(
    directory: RunDirectory, kind: str, version: int, content: dict[str, Any]
) -> None:
    """Write ``experiment.yaml`` atomically."""
    head = {"kind": kind, "format_version": version, "trueup": __version__}
    text = yaml.safe_dump({**head, **content}, sort_keys=False, default_flow_style=None, width=100)
    atomic.write_text(directory.experiment, text)


def read_experiment(directory: RunDirectory) -> tuple[str, dict[str, Any]]:
    """Kind and content of ``experiment.yaml``.

    Raises:
      RunDirectoryError: the file is missing or damaged, or has no kind.
    """
    if not directory.experiment.is_file():
        raise RunDirectoryError(
            f"{directory.path} has no experiment.yaml: the run ended before its first step. "
            "Repeat the command that started it, with --resume"
        )
    content = read_mapping(directory.experiment)
    kind = content.get("kind")
    if kind is None and "model" in content and "recordings" in content:
        kind = IDENTIFICATION
    if not isinstance(kind, str):
        raise RunDirectoryError(f"{directory.experiment} is damaged: it has no key 'kind'")
    return kind, content
