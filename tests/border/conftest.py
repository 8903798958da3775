"""Inputs of each kind of work."""

import functools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from work import KINDS, Work

from trueup.cli import main


@pytest.fixture(scope="session")
def prepared(tmp_path_factory) -> Callable[[str], tuple[Path, Work]]:
    """The inputs of a kind of work, in a folder to copy from."""

    @functools.cache
    def made(kind: str) -> tuple[Path, Work]:
        folder = tmp_path_factory.mktemp(kind)
        return folder, KINDS[kind](folder)

    return made


@pytest.fixture
def place(tmp_path, prepared):
    """Copy the inputs of a kind of work into a folder of the test's own."""

    def copied(kind: str) -> tuple[Path, Work]:
        source, work = prepared(kind)
        folder = tmp_path / "place"
        shutil.copytree(source, folder)
        return folder, work

    return copied


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A folder with a finished run of a kind, to copy from."""

    @functools.cache
    def made(kind: str) -> tuple[Path, str]:
        folder = tmp_path_factory.mktemp(f"finished-{kind}")
        work = KINDS[kind](folder)
        assert main(work.command(folder)) in (0, 3)
        return folder, work.run

    return made


@pytest.fixture
def run(finished, tmp_path):
    """Copy a finished run of a kind, with its inputs: the folder and the run directory."""

    def copied(kind: str) -> tuple[Path, Path]:
        source, name = finished(kind)
        folder = tmp_path / "place"
        shutil.copytree(source, folder)
        return folder, folder / name

    return copied
