"""Values, times and lengths of logs that no sensor and no clock gives, in import and check."""

import driven_pendulum as pendulum
import pytest
import yaml
from work import refused

from trueup.cli import main


def log_with(folder, name, change):
    """The log of the pendulum with each of its rows changed; its name."""
    header, *rows = (folder / "run.csv").read_text().splitlines()
    changed = [",".join(change(k, row.split(","))) for k, row in enumerate(rows)]
    (folder / name).write_text("\n".join([header, *changed]) + "\n")
    return name


def times(factor, *columns):
    """Columns, counted from zero, times a factor."""

    def change(row, cells):
        return [repr(float(c) * factor) if k in columns else c for k, c in enumerate(cells)]

    return change


VALUES = {
    "torques": (times(1e300, 3), "torque"),
    "angles": (times(1e160, 1), "angle"),
    "speeds": (times(1e300, 2), "speed"),
    "all": (times(1e300, 1, 2, 3), "no sensor measures"),
    "one sample": (lambda k, cells: [*cells[:3], "1.7e308" if k == 100 else cells[3]], "torque"),
    "times": (times(1e300, 0), "give the unit of the time column"),
    "times of no length": (times(1e-300, 0), "give the unit of the time column"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_numbers_that_nothing_measures_are_refused(kind, tmp_path, capfd):
    pendulum.write(tmp_path)
    change, word = VALUES[kind]
    log = tmp_path / log_with(tmp_path, "far.csv", change)
    words = ["import", str(log), str(tmp_path / "pendulum.xml"), "-o", str(tmp_path / "new.yaml")]
    refused(words, tmp_path, capfd, named=(word, "far"))
    recording = {**pendulum.EXPERIMENT["recordings"][0], "file": "far.csv"}
    file = tmp_path / "experiment.yaml"
    file.write_text(yaml.safe_dump({**pendulum.EXPERIMENT, "recordings": [recording]}))
    refused(["check", str(file)], tmp_path, capfd, named=(word, "far"))


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("header", [True, False])
def test_a_log_of_few_rows_is_refused(rows, header, tmp_path, capfd):
    pendulum.write(tmp_path)
    first, *others = (tmp_path / "run.csv").read_text().splitlines()
    lines = [*([first] if header else []), *others[:rows]]
    (tmp_path / "few.csv").write_text("".join(f"{line}\n" for line in lines))
    words = ["import", "few.csv", "pendulum.xml", "-o", "new.yaml"]
    given = [str(tmp_path / w) if "." in w else w for w in words]
    for more in ([], ["--no-check"], ["--rate=200"]):
        refused([*given, *more], tmp_path, capfd, named=("few.csv",))


def test_a_column_that_is_not_used_may_hold_any_number(tmp_path, capfd):
    pendulum.write(tmp_path)
    header, *rows = (tmp_path / "run.csv").read_text().splitlines()
    lines = [f"{header},spare", *(f"{row},-1.7e308" for row in rows)]
    (tmp_path / "spare.csv").write_text("\n".join(lines) + "\n")
    log, model = str(tmp_path / "spare.csv"), str(tmp_path / "pendulum.xml")
    assert main(["import", log, model, "-o", str(tmp_path / "new.yaml"), "--no-check"]) in (0, 3)
    assert "Traceback" not in capfd.readouterr().err


def test_a_second_log_with_other_columns_is_refused(tmp_path, capfd):
    pendulum.write(tmp_path)
    header, *rows = (tmp_path / "run.csv").read_text().splitlines()
    names = header.replace("angle", "left_angle").replace("speed", "left_speed")
    (tmp_path / "other.csv").write_text("\n".join([names, *rows]) + "\n")
    logs = [str(tmp_path / name) for name in ("run.csv", "other.csv", "pendulum.xml")]
    refused(["import", *logs, "-o", str(tmp_path / "new.yaml")], tmp_path, capfd,
            named=("other.csv has no column", "--output", "rename"))  # fmt: skip
