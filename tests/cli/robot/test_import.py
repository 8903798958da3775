"""``trueup import`` and ``trueup init``: one command, which checks what it writes."""

from pathlib import Path

import driven_pendulum as pendulum
import numpy as np
import pytest

from trueup.cli import main


def unrelated(files: pendulum.Files) -> None:
    """Replace the torque of the log by another one: the model cannot follow."""
    table = np.genfromtxt(files.recording, delimiter=",", names=True)
    names = table.dtype.names
    assert names is not None
    rng = np.random.default_rng(0)
    columns = [table[n] if n != "torque" else 8 * rng.normal(size=len(table)) for n in names]
    header = ",".join(names)
    rows = np.column_stack(columns)
    np.savetxt(files.recording, rows, delimiter=",", header=header, comments="")


ORDERS = [
    ("import", "{log}", "--model", "{model}"),
    ("import", "{model}", "{log}"),
    ("init", "{model}", "{log}"),
    ("init", "{log}", "-m", "{model}"),
]


def test_both_names_and_every_order_write_the_same_checked_file(files, tmp_path, command):
    places = {"log": files.recording, "model": files.model}
    written = set()
    for number, words in enumerate(ORDERS):
        target = tmp_path / str(number) / "mine.yaml"
        # what is checked is the file: of equal files, that of each name is checked once
        unchecked = ("--no-check",) if number in (0, 3) else ()
        given = [word.format(**places) for word in words]
        code, said = command(*given, "-o", target, *unchecked)
        assert code == 0
        assert said["controls"] == {"motor": "torque"}
        assert (said["check"] is None) == bool(unchecked)
        written.add(target.read_text())
        if not unchecked:
            assert said["check"]["conclusion"]["decision"] in ("go on", "go on, but")
            assert said["check"]["conclusion"]["next"] == ["identify"]
            conclusion = said["check"]["conclusion"]
    assert len(written) == 1
    assert command("check", target)[1]["conclusion"] == conclusion


def test_what_the_check_stops_is_written_with_exit_code_3(files, tmp_path, command, capsys):
    unrelated(files)
    target = tmp_path / "mine.yaml"
    words = ("import", files.recording, "--model", files.model, "-o", target)
    code, said = command(*words)
    assert code == 3
    assert said["check"]["conclusion"]["decision"] == "stop"
    assert target.exists()
    assert main([*map(str, words), "--overwrite"]) == 3
    shown = capsys.readouterr().out
    assert "Stop, because" in shown
    # the command that follows fits the conclusion
    assert f"trueup explain {target}" in shown
    assert "trueup identify" not in shown
    assert main(["check", str(target)]) == 3
    assert "trueup identify" not in capsys.readouterr().out


def test_a_file_that_can_be_used_is_followed_by_identify(files, tmp_path, capsys):
    target = tmp_path / "mine.yaml"
    assert main(["import", str(files.recording), str(files.model), "-o", str(target)]) == 0
    shown = capsys.readouterr().out
    assert f"Wrote {target}." in shown
    assert f"trueup identify {target}" in shown
    assert "trueup explain" not in shown


def test_data_that_cannot_be_used_are_refused_and_nothing_is_written(files, tmp_path, command):
    lines = files.recording.read_text().splitlines()
    cells = lines[300].split(",")
    lines[300] = ",".join(["nan" if k else cell for k, cell in enumerate(cells)])
    gone = [line for k, line in enumerate(lines) if not 400 < k < 700]
    files.recording.write_text("\n".join(gone) + "\n")
    target = tmp_path / "a" / "b" / "mine.yaml"
    words = ("import", files.recording, files.model, "-o", target)
    code, said = command(*words)
    assert code == 2
    assert "--no-check" in said["message"]
    assert not (tmp_path / "a").exists()
    code, said = command(*words, "--no-check")
    assert code == 0
    assert said["check"] is None
    assert target.exists()
    assert command("check", target)[0] == 2


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("{log}",), ("model is missing", "--model", "run.csv")),
        (("{model}",), ("log is missing", "pendulum.xml")),
        (("{log}", "{model}", "{other}"), ("are models", "pendulum.xml", "other.urdf")),
        (("{log}", "-m", "{log}"), ("run.csv",)),
        (("{other}", "{log}"), ("other.urdf", "is a xacro", "xacro other.urdf >")),
    ],
)
def test_wrong_files_are_one_sentence(words, named, files, tmp_path, command):
    other = tmp_path / "other.urdf"
    other.write_text('<robot name="a"><link name="${b}"/></robot>')
    places = {"log": files.recording, "model": files.model, "other": other}
    target = tmp_path / "mine.yaml"
    code, said = command("import", *(word.format(**places) for word in words), "-o", target)
    assert code == 2
    for word in named:
        assert word in said["message"]
    assert not target.exists()


def test_notes_on_a_model_are_those_of_the_check_and_of_the_fit(files, tmp_path, command):
    """What was left out of a URDF is said by every command that reads it."""
    urdf = tmp_path / "rod.urdf"
    urdf.write_text(
        """<robot name="p"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 -0.25"/>
        <mass value="1"/><inertia ixx="0.021" ixy="0" ixz="0" iyy="0.021" iyz="0" izz="2e-4"/>
        </inertial><collision><geometry><mesh filename="package://p/rod.stl"/></geometry>
        </collision></link><joint name="hinge" type="continuous"><parent link="base"/>
        <child link="rod"/><axis xyz="0 1 0"/></joint></robot>"""
    )
    log: Path = tmp_path / "log.csv"
    log.write_text(files.recording.read_text().replace("angle", "hinge_pos", 1))
    log.write_text(log.read_text().replace("speed", "hinge_vel", 1))
    target = tmp_path / "mine.yaml"
    code, said = command("import", log, urdf, "-o", target)
    assert code == 0, said["check"]["conclusion"]
    assert any("package://p/rod.stl" in point for point in said["open_points"])
    assert any("package://p/rod.stl" in note for note in said["check"]["notes"])
    code, said = command("identify", target, "--quiet", "-o", tmp_path / "run")
    assert code in (0, 3)
    found = {p["name"]: p for p in said["parameters"]}
    assert found["hinge_armature"]["value"] == pytest.approx(pendulum.TRUE["armature"], rel=0.1)
    assert found["hinge_damping"]["value"] == pytest.approx(pendulum.TRUE["damping"], rel=0.1)
