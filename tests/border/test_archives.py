"""Finished runs that may be read and not written: archives, and runs of another user or version."""

import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from privileges import permissions_hold
from work import KINDS, refused, tree

from trueup.cli import main

ANOTHER_USER = 65534

linux = pytest.mark.skipif(sys.platform != "linux", reason="permissions of Linux")


def set_permissions(folder, file_mode, folder_mode, owner=None):
    """Permissions, and owner, of everything below a folder."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(folder_mode if path.is_dir() else file_mode)
        if owner is not None and not os.geteuid():
            os.chown(path, owner, owner)


@pytest.fixture
def archive(run, request):
    """A finished run of a kind that can be read and not written, of this user or another."""

    def made(kind, owner=None):
        folder, directory = run(kind)
        set_permissions(directory, 0o444, 0o555, owner)
        request.addfinalizer(lambda: set_permissions(directory, 0o644, 0o755))
        return folder, directory

    return made


@linux
@pytest.mark.parametrize(
    ("kind", "owner"),
    # one check reads permissions of every kind: whose they are is tried with two
    [*((kind, ANOTHER_USER) for kind in KINDS), ("study", None), ("network", None)],
)
def test_a_run_that_cannot_be_written_is_shown_reported_and_compared(
    kind, owner, archive, tmp_path, capfd
):
    folder, directory = archive(kind, owner)
    before = tree(directory)
    page = tmp_path / "page.html"
    with permissions_hold():
        assert main(["report", str(directory), "-o", str(page)]) in (0, 3)
        assert main(["study", "list", str(directory.parent)]) == 0
        assert main(["compare", str(directory), str(directory)]) in (0, 3)
        if kind not in ("network", "motion"):
            assert main(["study", "show", str(directory)]) in (0, 3)
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    assert page.stat().st_size > 1000
    assert tree(directory) == before
    # what would write says so, and changes nothing
    with permissions_hold():
        said = refused(["report", str(directory)], folder, capfd)
        assert "Permission denied" in said and directory.name in said
        said = refused(["study", "resume", str(directory)], folder, capfd)
        assert directory.name in said
    assert tree(directory) == before


KILLED = """\
import os, sqlite3, sys
study = sqlite3.connect(sys.argv[1], isolation_level=None)
study.execute("PRAGMA cache_size = 1")  # so that the file is written before the commit
study.execute("BEGIN IMMEDIATE")
study.execute("DELETE FROM evaluations")
study.execute("CREATE TABLE filler (text)")
study.executemany("INSERT INTO filler VALUES (?)", [("x" * 2000,)] * 100)
os._exit(1)
"""


def contents(directory: Path) -> dict[str, bytes]:
    """Content of each file; SQLite sets the owner, and so a time, of a journal that root reads."""
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file()}


@linux
def test_a_run_killed_in_a_transaction_is_read_where_nothing_can_be_written(
    run, request, tmp_path, capfd
):
    _, directory = run("study")
    assert main(["study", "export", str(directory), "-o", str(tmp_path / "before.csv")]) == 0
    killed = subprocess.run([sys.executable, "-c", KILLED, str(directory / "study.sqlite")])
    assert killed.returncode == 1
    assert (directory / "study.sqlite-journal").stat().st_size > 0
    set_permissions(directory, 0o444, 0o555)
    request.addfinalizer(lambda: set_permissions(directory, 0o644, 0o755))
    before = contents(directory)
    with permissions_hold():
        for words in (
            ["report", str(directory), "-o", str(tmp_path / "page.html")],
            ["study", "show", str(directory)],
            ["study", "export", str(directory), "-o", str(tmp_path / "after.csv")],
        ):
            assert main(words) == 0, capfd.readouterr().err
    assert contents(directory) == before
    assert (tmp_path / "after.csv").read_text() == (tmp_path / "before.csv").read_text()


@linux
def test_files_of_a_run_have_the_permissions_that_the_user_chose(place):
    former = os.umask(0o007)
    try:
        folder, work = place("study")
        assert main(work.command(folder)) in (0, 3)
    finally:
        os.umask(former)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (folder / work.run).rglob("*")}
    assert set(modes.values()) == {0o660}, modes


READING = (
    ("report", "{run}", "-o", "{page}"),
    ("compare", "{run}", "{run}"),
    ("study", "show", "{run}"),
)
RESUMING = (("study", "resume", "{run}"),)


def with_version(name, version):
    """Set the version of a file of a run; without one where it is None."""

    def edit(directory):
        path = directory / name
        if name == "study.sqlite":
            with closing(sqlite3.connect(path)) as study:
                study.execute(f"PRAGMA user_version = {version}")
            return
        content = yaml.safe_load(path.read_text())  # JSON too
        content.pop("format_version", None)
        if version is not None:
            content["format_version"] = version
        text = yaml.safe_dump(content, sort_keys=False)
        path.write_text(text if path.suffix == ".yaml" else json.dumps(content))

    return edit


VERSIONS = ("run.json", "experiment.yaml", "provenance.json", "solution.json", "study.sqlite")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", VERSIONS)
def test_a_run_of_a_newer_version_is_read_or_refused_in_a_sentence(
    kind, name, run, tmp_path, capfd
):
    folder, directory = run(kind)
    if not (directory / name).is_file():
        return  # a network has no history of a search
    with_version(name, 99)(directory)
    for words in (*READING, *RESUMING):
        given = [w.format(run=directory, page=tmp_path / "page.html") for w in words]
        before = tree(folder)
        code = main(given)
        said = capfd.readouterr().err
        assert "Traceback" not in said and "damaged" not in said
        assert code in (0, 2, 3)
        if code == 2 and "not a search" not in said:
            assert re.search(r"newer version of trueup.*format is 99.*Install a newer", said)
            assert tree(folder) == before
        if words in RESUMING:
            assert code == 2 or name == "solution.json"
    assert main(["study", "list", str(directory.parent)]) == 0


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "sysid"])  # it has version 1
def test_a_run_of_an_older_version_is_compared_and_not_resumed(kind, run, capfd):
    folder, directory = run(kind)
    for name in ("experiment.yaml", "provenance.json"):
        with_version(name, 1)(directory)
    assert main(["compare", str(directory), str(directory)]) in (0, 3)
    capfd.readouterr()
    refused(["study", "resume", str(directory)], folder, capfd, named=("older version", "format"))
    with_version("solution.json", None)(directory)
    assert main(["compare", str(directory), str(directory)]) in (0, 3)


@pytest.mark.parametrize("name", ["run.json", "experiment.yaml", "provenance.json"])
@pytest.mark.parametrize("version", ["2", -1, 1.5, True, [1]])
def test_a_version_that_is_none_is_named(name, version, run, capfd):
    folder, directory = run("study")
    with_version(name, version)(directory)
    refused(["study", "resume", str(directory)], folder, capfd, named=("format version", name[:3]))
