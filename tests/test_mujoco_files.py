"""Distributions of MuJoCo that overwrite each other are refused before anything is computed."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from trueup import cli
from trueup.errors import InstallationError
from trueup.runs import provenance


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Function that puts the metadata of distributions in front of those that are installed."""

    def install(**versions: str) -> Path:
        for name, version in versions.items():
            folder = tmp_path / f"{name}-{version}.dist-info"
            folder.mkdir()
            (folder / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            )
        monkeypatch.syspath_prepend(tmp_path)
        return tmp_path

    return install


def refusal(arguments, capsys) -> str:
    capsys.readouterr()
    assert cli.main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    return shown.err


@pytest.mark.parametrize("versions", [("3.17.0", "4.0.1"), ("3.18.0", "4.1.0"), ("4.0.0", "4.0.1")])
def test_two_versions_in_one_environment_are_refused(installed, versions, tmp_path, capsys):
    installed(mujoco=versions[0], mujoco_core=versions[1])
    output = tmp_path / "demo"
    text = refusal(["demo", "--output", str(output)], capsys)
    assert f"mujoco {versions[0]} and mujoco-core {versions[1]}" in text
    assert "pip uninstall -y mujoco mujoco-core" in text
    assert not output.exists()


@pytest.mark.parametrize(("whole", "core"), [("4.0.0", "4.0.0"), (None, "4.0.0"), ("4.0.0", None)])
def test_a_release_with_wrong_results_is_refused(monkeypatch, tmp_path, capsys, whole, core):
    replace_versions(monkeypatch, {"mujoco": whole, "mujoco-core": core})
    text = refusal(["demo", "--output", str(tmp_path / "demo")], capsys)
    assert "MuJoCo 4.0.0" in text and "Hessian" in text and '"mujoco-core>4.0.0"' in text
    assert not (tmp_path / "demo").exists()


def test_the_two_parts_of_one_version_are_accepted(installed, capsys):
    installed(mujoco="4.0.2", mujoco_core="4.0.2")
    assert cli.main(["gait", "list"]) == 0


def test_help_and_version_are_shown_in_any_environment(installed, capsys):
    installed(mujoco="3.17.0", mujoco_core="4.0.1")
    assert cli.main(["--version"]) == 0
    assert cli.main(["identify", "--help"]) == 0


@pytest.mark.parametrize(
    "statement",
    [
        "import trueup.simulation",
        "from trueup.sysid import identify",
        "from trueup.gait import GaitProblem",
    ],
)
def test_python_gets_the_same_error(installed, statement):
    folder = installed(mujoco="3.17.0", mujoco_core="4.0.1")
    # what the dynamic loader says of such a mixture
    (folder / "mujoco").mkdir()
    (folder / "mujoco" / "__init__.py").write_text(
        "raise OSError('libmujoco.so.3.17.0: cannot open shared object file')\n"
    )
    source = str(Path(cli.__file__).parents[2])
    code = f"import sys; sys.path[:0] = [{str(folder)!r}, {source!r}]; {statement}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"{InstallationError.__module__}.InstallationError: mujoco 3.17.0 and")


@pytest.mark.parametrize(("whole", "core"), [(None, "4.0.1"), ("3.17.0", None)])
def test_files_that_an_uninstallation_removed_are_named(monkeypatch, capsys, whole, core):
    versions = {"mujoco": whole, "mujoco-core": core}
    replace_versions(monkeypatch, versions)
    monkeypatch.delitem(sys.modules, "mujoco", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    text = refusal(["study", "list"], capsys)
    name = "mujoco" if core is None else "mujoco-core"
    assert f'pip install --force-reinstall --no-deps "{name}=={versions[name]}"' in text


@pytest.mark.parametrize(
    ("whole", "core", "expected"),
    [("3.17.0", None, "3.17.0"), (None, "4.0.1", "4.0.1"), (None, None, None)],
)
def test_the_version_of_a_result_is_that_of_either_distribution(monkeypatch, whole, core, expected):
    replace_versions(monkeypatch, {"mujoco": whole, "mujoco-core": core})
    assert provenance.collect(0, [], {})["versions"]["mujoco"] == expected


def replace_versions(monkeypatch, versions):
    """Let the metadata of the distributions in ``versions`` say so; of others, what it is."""
    real = importlib.metadata.version

    def version(name):
        found = versions.get(name, "") if name in versions else real(name)
        if found is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr("importlib.metadata.version", version)
