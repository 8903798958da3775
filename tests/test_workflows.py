"""The workflows, hooks and templates agree with the project: targets, versions, pins."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def workflow(path: Path) -> dict:
    # YAML 1.1 reads the key "on" as true
    return {str(key): value for key, value in yaml.safe_load(path.read_text()).items()}


def steps() -> list[dict]:
    jobs = [job for path in WORKFLOWS for job in workflow(path)["jobs"].values()]
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_asks_for_little_and_ends(path):
    content = workflow(path)
    assert content["permissions"] == {"contents": "read"}
    assert content["concurrency"]["group"]
    for name, job in content["jobs"].items():
        assert job["timeout-minutes"] <= 60, name
        more = job.get("permissions", {})
        assert not more or (more == {"id-token": "write"} and job["environment"] == "pypi"), name
    assert "secrets." not in path.read_text()


def test_actions_are_pinned_by_their_major_version():
    used = [step["uses"] for step in steps() if "uses" in step]
    assert used
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", action), action


def test_jobs_run_targets_that_exist_on_folders_that_exist():
    targets = set(re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = [step["run"] for step in steps() if "make " in step.get("run", "")]
    named = {re.match(r"make (\w+)", command)[1] for command in commands}
    assert named == {"lint", "docs", "test", "warp", "mujoco4", "smoke"} <= targets
    for command in commands:
        for folder in re.findall(r"tests/[\w/]+", command):
            assert (ROOT / folder).is_dir(), folder
        for file in re.findall(r"CONSTRAINTS=(\S+)", command):
            assert (ROOT / file).is_file(), file


def test_the_matrix_has_the_versions_that_the_project_declares():
    (path,) = (path for path in WORKFLOWS if path.stem == "tests")
    matrix = workflow(path)["jobs"]["tests"]["strategy"]["matrix"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert matrix["python"] == declared
    assert matrix["include"] == [{"os": "macos-latest", "python": declared[-1]}]
    assert project["requires-python"] == f">={declared[0]}"


def test_hooks_have_the_version_of_ruff_that_lint_runs():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    (revision,) = (repo["rev"] for repo in hooks if repo["repo"].endswith("ruff-pre-commit"))
    assert f"\nruff=={revision.removeprefix('v')}\n" in (ROOT / "constraints.txt").read_text()


@pytest.mark.parametrize("name", ["bug", "feature", "wrong_verdict"])
def test_an_issue_template_asks_for_what_is_needed_to_repeat_it(name):
    template = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE" / f"{name}.yml").read_text())
    assert template["name"] and template["description"]
    text = str(template["body"])
    if name != "feature":
        assert "trueup --version" in text
        assert "recording" in text.lower() and "model" in text.lower()
    names = [field["id"] for field in template["body"]]
    assert len(set(names)) == len(names)
