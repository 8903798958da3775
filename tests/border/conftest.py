"""Inputs of each kind of work."""

import functools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from work import KINDS, Work


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
