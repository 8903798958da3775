"""Provenance says where a result comes from, and nothing about who made it."""

import getpass
import hashlib
import json
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trueup.errors import RunDirectoryError
from trueup.runs import provenance


def test_what_is_collected(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "run.csv").write_bytes(b"t,q\n")
    block = provenance.collect(
        np.int64(7), [tmp_path / "data" / "run.csv"], {"rate": np.float64(2)}, relative_to=tmp_path
    )
    assert block["seed"] == 7
    assert block["settings"] == {"rate": 2.0}
    assert block["inputs"] == [
        {
            "name": "data/run.csv",
            "sha256": hashlib.sha256(b"t,q\n").hexdigest(),
            "size": 4,
            "content": hashlib.sha256(b"t,q").hexdigest(),
        }
    ]
    assert block["versions"]["numpy"] == np.__version__
    assert set(block["versions"]) == {"trueup", "python", "numpy", "scipy", "mujoco", "numba"}
    assert block["started"].endswith("+00:00")
    assert block["platform"]["cpu_count"] >= 1
    assert json.loads(json.dumps(block)) == block


def test_nothing_tells_who_and_where(tmp_path, monkeypatch):
    home = tmp_path / "home" / "alice"
    (home / "lab").mkdir(parents=True)
    (home / "arm.xml").touch()
    (tmp_path / "lab").mkdir()
    monkeypatch.setenv("HOME", str(home))
    block = provenance.collect(
        1,
        [home / "arm.xml"],
        {
            "model": home / "arm.xml",
            "model_text": str(home / "arm.xml"),
            "note": f"see {home}/notes and /home/bob/notes, /Users/carol/x and /root/y",
            "storage": "postgresql://alice:hunter2@db.example/study",
            "nested": [{"api_key": "hunter2"}, {"wandb-token": "hunter2"}],
            "topic": "/joint_states/position",
            "monkey": 3,
            "authority": 4,
        },
        relative_to=tmp_path / "lab",
        arguments=[
            str(home / "bin" / "trueup"), "identify", str(home / "lab" / "e.yaml"),
            "--password", "hunter2", "--token=hunter2", f"--output={home}/lab/run",
            "--storage", "postgresql://alice:hunter2@db.example/study", "--seed=3", "--rate", "5",
        ],
    )  # fmt: skip
    text = json.dumps(block)
    for word in ("alice", "bob", "carol", "hunter2", "/root", str(tmp_path)):
        assert word not in text, word
    assert block["arguments"] == [
        "trueup", "identify", "e.yaml", "--password", "***", "--token=***", "--output=run",
        "--storage", "postgresql://***@db.example/study", "--seed=3", "--rate", "5",
    ]  # fmt: skip
    assert block["settings"]["topic"] == "/joint_states/position"
    assert block["settings"]["monkey"] == 3
    assert block["settings"]["authority"] == 4
    assert block["inputs"][0]["name"] == "arm.xml"


def test_host_and_user_of_this_machine_are_absent(tmp_path):
    block = provenance.collect(1, [], {}, arguments=["trueup"])
    text = json.dumps(block)
    assert platform.node() not in text
    assert str(Path.home()) not in text
    assert f'"{getpass.getuser()}"' not in text


def test_a_folder_is_hashed_by_names_and_contents(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.csv").write_text("1")
    first = provenance.sha256_of(tmp_path)
    (tmp_path / "a" / "1.csv").rename(tmp_path / "a" / "2.csv")
    second = provenance.sha256_of(tmp_path)
    (tmp_path / "a" / "2.csv").write_text("2")
    assert len({first, second, provenance.sha256_of(tmp_path)}) == 3


def test_a_missing_input_is_named(tmp_path):
    with pytest.raises(RunDirectoryError, match=r"missing\.csv"):
        provenance.collect(1, [tmp_path / "missing.csv"], {})


def test_an_absent_package_is_recorded_as_such():
    block = provenance.collect(None, [], {}, packages=["no-such-package-here"])
    assert block["versions"]["no-such-package-here"] is None
    assert block["seed"] is None


def test_nothing_heavy_is_imported():
    code = (
        "import sys; import trueup.runs as s; s.run_search; s.Store; s.RunDirectory; s.Progress\n"
        "s.provenance.collect(1, [], {})\n"
        "heavy = {'mujoco', 'numba', 'scipy', 'rich', 'pandas', 'plotly'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
