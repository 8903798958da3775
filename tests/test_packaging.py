"""What the files for conda and Docker require and copy is what the project has."""

import re
import tomllib
from pathlib import Path

import yaml

import trueup

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA_NAMES = {"mujoco": "mujoco-python"}  # conda-forge's "mujoco" has the viewer as well


def split(requirement: str) -> tuple[str, str]:
    """Name and version of a requirement of pip or conda."""
    name, version = re.match(r"([A-Za-z0-9_-]+)\s*(.*)", requirement).groups()
    return name, version


def test_the_recipe_of_conda_requires_what_the_project_requires():
    recipe = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text())
    wanted = {
        CONDA_NAMES.get(name, name): version
        for name, version in map(split, PROJECT["dependencies"])
    }
    wanted["python"] = PROJECT["requires-python"]
    assert dict(map(split, recipe["requirements"]["run"])) == wanted
    assert recipe["context"]["version"] == trueup.__version__
    entries = [f"{name} = {value}" for name, value in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == entries
    for name in recipe["about"]["license_file"]:
        assert (ROOT / name).is_file()


def test_the_image_copies_files_that_exist_and_installs_extras_that_exist():
    text = (ROOT / "packaging/Dockerfile").read_text()
    sources = [name for line in re.findall(r"^COPY (.+) \S+$", text, re.M) for name in line.split()]
    assert {"pyproject.toml", "src", "constraints.txt", PROJECT["readme"]} <= set(sources)
    assert set(PROJECT["license-files"]) <= set(sources)
    assert all((ROOT / name).exists() for name in sources)
    (extras,) = re.findall(r"^ARG EXTRAS=(\S+)$", text, re.M)
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


def test_the_page_on_installing_lists_every_extra_of_users():
    page = (ROOT / "docs/installing.md").read_text()
    listed = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert listed == set(PROJECT["optional-dependencies"]) - {"test", "docs"}
