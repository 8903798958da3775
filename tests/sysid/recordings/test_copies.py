"""A recording that is a copy of another one is refused, on whatever clock."""

import numpy as np
import pytest
from driven_arms import Plant, experiment, model_of, record

from trueup.errors import RecordingError
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare


def with_copy(folder, change):
    """An experiment that holds out a changed copy of its recording."""
    plant = Plant()
    record(folder, plant, seconds=3.0)
    (folder / "arm.xml").write_text(model_of(plant))
    with (folder / "arm.csv").open() as file:
        header = file.readline().strip()
    rows = np.loadtxt(folder / "arm.csv", delimiter=",", skiprows=1)
    np.savetxt(folder / "copy.csv", change(rows), delimiter=",", header=header, comments="",
               fmt="%.9g")  # fmt: skip
    text = experiment(plant, more="held_out: {recordings: [copy]}")
    line = next(line for line in text.splitlines() if "arm.csv" in line)
    return parse_experiment(text.replace(line, f"{line}\n{line.replace('arm.csv', 'copy.csv')}"))


def later(rows):
    return rows + np.eye(rows.shape[1])[0] * 100.0


def part_later(rows):
    return later(rows)[80:240]


@pytest.mark.parametrize("change", [later, part_later])
def test_a_copy_on_another_clock_is_refused(tmp_path, change):
    found = with_copy(tmp_path, change)
    with pytest.raises(RecordingError, match=r"'arm' and 'copy' hold the same .* samples"):
        prepare(found, tmp_path)


def test_another_measurement_of_the_same_motion_is_no_copy(tmp_path):
    def remeasured(rows):
        out = later(rows)
        out[:, 1:3] += 1e-4 * np.random.default_rng(0).normal(size=(len(out), 2))
        return out

    assert len(prepare(with_copy(tmp_path, remeasured), tmp_path).held_out) == 1
