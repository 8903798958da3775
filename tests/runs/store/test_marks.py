"""What is made all the same says so in every file, whatever its format."""

import json

import numpy as np
import yaml

from trueup import reports
from trueup.parameters import Parameter, ParameterDict
from trueup.runs import atomic

MARK = "made although arm.xml has changed -- since"


def test_each_format_holds_the_mark_where_it_has_room(tmp_path):
    texts = {
        "a.py": "#!/usr/bin/env python\nx = 1\n",
        "b.yaml": "x: 1\n",
        "c.csv": "t,q\n0,1\n",
        "d.xml": "<?xml version='1.0'?>\n<mujoco/>\n",
        "e.h": "#pragma once\n",
        "f.mot": "walk\nversion=1\nendheader\n",
        "g.json": '{"x": 1}',
    }
    for name, text in texts.items():
        with atomic.marked(MARK):
            atomic.write_text(tmp_path / name, text)
        found = (tmp_path / name).read_text()
        assert "made although arm.xml" in found, name
        atomic.write_text(tmp_path / name, text)
        assert (tmp_path / name).read_text() == text
    with atomic.marked(MARK):
        atomic.write_text(tmp_path / "a.py", texts["a.py"])
        atomic.write_text(tmp_path / "d.xml", texts["d.xml"])
        atomic.write_json(tmp_path / "g.json", {"x": 1})
        atomic.write_text(tmp_path / "b.yaml", texts["b.yaml"])
    assert (tmp_path / "a.py").read_text().startswith("#!/usr")
    assert (tmp_path / "d.xml").read_text().startswith("<?xml")
    assert json.loads((tmp_path / "g.json").read_text()) == {"x": 1, "made_although": MARK}
    assert yaml.safe_load((tmp_path / "b.yaml").read_text()) == {"x": 1}


def test_arrays_hold_it_and_others_have_it_beside_them(tmp_path):
    with atomic.marked(MARK):
        np.savez(tmp_path / "scratch.npz", x=np.arange(3))
        atomic.write_bytes(tmp_path / "a.npz", (tmp_path / "scratch.npz").read_bytes())
        atomic.write_bytes(tmp_path / "net.onnx", b"\x08\xff\x00")
        atomic.write_json(tmp_path / "list.json", [1, 2])
    with np.load(tmp_path / "a.npz", allow_pickle=False) as found:
        assert str(found["made_although"]) == MARK
        np.testing.assert_array_equal(found["x"], np.arange(3))
    assert (tmp_path / "net.onnx").read_bytes() == b"\x08\xff\x00"
    assert (tmp_path / "net.onnx.made_although.txt").read_text() == f"net.onnx: {MARK}\n"
    assert (tmp_path / "list.json.made_although.txt").exists()
    atomic.write_bytes(tmp_path / "net.onnx", b"\x08\xff\x00")  # made anew, as it should be
    assert not (tmp_path / "net.onnx.made_although.txt").exists()


def test_a_page_keeps_the_mark_that_it_was_made_with(tmp_path):
    with atomic.marked(MARK):
        page = reports.Page("Arm")
    page.save(tmp_path / "late.html")
    assert "This page was made although arm.xml" in (tmp_path / "late.html").read_text()
    reports.Page("Arm").save(tmp_path / "other.html")
    assert "made although" not in (tmp_path / "other.html").read_text()


def test_parameter_files_are_written_by_the_same_writer(tmp_path):
    secret = "from postgresql://anna:hunter2secret@db/robots"
    parameters = ParameterDict({"m": Parameter("m", 1.0, 0.0, 2.0, description=secret)})
    with atomic.marked(MARK):
        parameters.save_to_disk(tmp_path / "p.yaml")
    text = (tmp_path / "p.yaml").read_text()
    assert "hunter2" not in text and "postgresql://***@db/robots" in text
    assert text.startswith("# made although")
    assert ParameterDict.load_from_disk(tmp_path / "p.yaml")["m"].value == 1.0


def test_marks_of_several_runs_stand_together(tmp_path):
    with (
        atomic.marked("made although a"),
        atomic.marked("made although b"),
        atomic.marked("made although a"),
    ):
        atomic.write_json(tmp_path / "x.json", {})
    assert json.loads((tmp_path / "x.json").read_text())["made_although"] == (
        "made although a; made although b"
    )
