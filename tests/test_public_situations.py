"""The list of situations from public threads is whole, and each has a function that rebuilds it."""

import ast
from pathlib import Path

import yaml

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "public_situations"


def listed() -> list[dict]:
    return yaml.safe_load((FOLDER / "situations.yaml").read_text())


def test_forty_situations_of_forty_threads():
    entries = listed()
    assert len(entries) == 40
    assert len({e["id"] for e in entries}) == len({e["link"] for e in entries}) == 40


def test_each_says_what_is_there_wanted_and_right():
    for entry in listed():
        assert set(entry["has"]) == {"robot", "model", "log"}, entry["id"]
        assert entry["link"].startswith("https://"), entry["id"]
        assert entry["wanted"] and entry["right"] and entry["came"], entry["id"]
        assert entry["outcome"] in ("right", "half", "wrong"), entry["id"]


def test_each_is_rebuilt_by_one_function():
    names = [
        node.name
        for path in FOLDER.glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    ]
    for entry in listed():
        assert names.count(entry["id"]) == 1, entry["id"]
