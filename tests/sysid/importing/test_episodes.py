"""Episodes of LeRobot data sets as recordings of one experiment."""

import json

import numpy as np
import pytest
from log_writers import JOINTS, motion_of_leg, write_leg

from trueup.cli import main
from trueup.sysid.experiment.file import load_experiment
from trueup.sysid.experiment.preparation import prepare

FEATURE = {"dtype": "float32", "shape": [3], "names": list(JOINTS)}


def data_set(folder, numbers=(0, 1, 2), version="v3.0"):
    """Episodes of one motion, each from time 0."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    motion = motion_of_leg(6.0)
    home = folder / "set"
    (home / "meta").mkdir(parents=True)
    (home / "data" / "chunk-000").mkdir(parents=True)
    info = {"codebase_version": version, "robot_type": "Unitree_Leg", "fps": 50,
            "features": {"observation.state": FEATURE, "action": FEATURE}}  # fmt: skip
    (home / "meta" / "info.json").write_text(json.dumps(info))
    parts = []
    for number, rows in zip(numbers, np.array_split(np.arange(0, 1200, 4), len(numbers)),
                            strict=True):  # fmt: skip
        parts.append(pyarrow.table({
            "timestamp": np.arange(len(rows)) / 50, "episode_index": np.full(len(rows), number),
            "observation.state": list(motion.q[rows].astype(np.float32)),
            "action": list(motion.cmd[rows].astype(np.float32)),
        }))  # fmt: skip
    if version == "v3.0":
        parquet.write_table(
            pyarrow.concat_tables(parts), home / "data" / "chunk-000" / "file-000.parquet"
        )
    else:
        for number, part in zip(numbers, parts, strict=True):
            name = f"episode_{number:06d}.parquet"
            parquet.write_table(part, home / "data" / "chunk-000" / name)
    return home


def run(folder, home, *more):
    model, target = write_leg(folder, servo=True), folder / "e.yaml"
    words = ["import", str(home), "-m", str(model), "-o", str(target), "--no-check", *more]
    return main([*words, "--overwrite"]), target


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_each_episode_is_a_recording_on_its_own_clock(version, tmp_path):
    code, target = run(tmp_path, data_set(tmp_path, (3, 4, 7), version))
    assert code == 0
    experiment = load_experiment(target)
    assert [r.episode for r in experiment.recordings] == [3, 4, 7]
    assert "unit: " not in target.read_text().partition("signals:")[2].partition("controls:")[0]
    loaded = prepare(experiment, tmp_path, needs_parameters=False).recordings
    assert [r.name for r in loaded] == [f"set_episode_{n}" for n in (3, 4, 7)]


def test_chosen_episodes_only(tmp_path):
    code, target = run(tmp_path, data_set(tmp_path), "--episode", "2", "0")
    assert code == 0
    assert [r.episode for r in load_experiment(target).recordings] == [2, 0]


def test_an_episode_that_does_not_exist_is_refused_with_what_exists(tmp_path, capsys):
    code, target = run(tmp_path, data_set(tmp_path, (3, 4, 7)), "--episode", "5")
    assert code == 2 and not target.exists()
    assert "has no episode 5: it has 3 episodes, 3 to 7" in capsys.readouterr().err


def test_many_episodes_have_to_be_chosen(tmp_path, capsys):
    code, target = run(tmp_path, data_set(tmp_path, tuple(range(60))))
    assert code == 2 and not target.exists()
    assert "has 60 episodes, 0 to 59: give those to import" in capsys.readouterr().err


def test_a_table_has_no_episodes(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("t,hip_pos\n0,1\n1,2\n2,3\n")
    assert run(tmp_path, tmp_path / "a.csv", "--episode", "1")[0] == 2
    assert "has no episodes" in capsys.readouterr().err
