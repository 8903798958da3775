"""An import mends what is certain about a log, says it, and refuses what is no measurement."""

import numpy as np
import pytest
from log_writers import JOINTS, Log, changed, motion_of_leg, table, write_leg

from trueup.errors import RecordingError
from trueup.sysid.experiment.file import load_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.importing.import_log import propose_import

TURN = 2 * np.pi


@pytest.fixture(scope="module")
def motion() -> Log:
    return motion_of_leg()


def written(folder, log, writer=table):
    """The import of a log, and what its file loads."""
    model, file = writer(log, folder)
    found = propose_import(model, [file], folder)
    (folder / "experiment.yaml").write_text(found.proposal.text)
    prepared = prepare(load_experiment(folder / "experiment.yaml"), folder)
    return found, prepared


def positions(prepared):
    """Positions of the recordings by joint, one recording after the other."""
    wholes = [t for part in (prepared.training, prepared.held_out) for g in part
              for t in g.measured_rollout]  # fmt: skip
    wholes.sort(key=lambda w: (w.name.split(" ")[0], w.sensordata.times[0]))
    mapping = wholes[0].sensordata.signal_mapping
    return np.concatenate(
        [np.column_stack([w.sensordata.data[:, mapping[f"{j}_qpos"][1]] for j in JOINTS])
         for w in wholes]
    )  # fmt: skip


def wheels(folder, log, wrap):
    """A table whose first joint turns several times, without a range."""
    q = log.q.copy()
    q[:, 0] *= 12.0
    q[:, 0] = wrap(q[:, 0])
    model, path = table(changed(log, q=q), folder)
    model.write_text(model.read_text().replace('range="-60 60"', ""))
    return model, path


@pytest.mark.parametrize(
    ("wrap", "key"),
    [
        (lambda q: np.mod(q + np.pi, TURN) - np.pi, "unwrap: true"),
        (lambda q: np.mod(q, TURN), "unwrap: true"),
        (lambda q: np.mod(q, 2 * TURN), "unwrap: 12.5663706144"),
    ],
)
def test_an_angle_that_wraps_is_continued_in_the_file(tmp_path, motion, wrap, key):
    still = np.zeros_like(motion.tau)
    log = changed(motion, v=np.gradient(motion.q, motion.times, axis=0), tau=still)
    found, prepared = written(tmp_path, log, lambda log, folder: wheels(folder, log, wrap))
    (line,) = [
        line for line in found.proposal.text.splitlines() if line.startswith("      hip_qpos: ")
    ]
    assert key in line
    off = positions(prepared)[:, 0] - 12.0 * motion.q[:, 0]
    assert np.ptp(off) < 1e-6
    assert any("hip_qpos is unwrapped" in note for note in prepared.notes)


@pytest.mark.parametrize("parts", [2, 3])
def test_runs_of_one_file_are_recordings(tmp_path, motion, parts):
    edges = np.linspace(0, len(motion.times), parts + 1).astype(int)[1:-1]
    times = motion.times.copy()
    for edge in edges:
        times[edge:] -= times[edge]
    found, prepared = written(tmp_path, changed(motion, times=times))
    assert [r.name for r in prepared.recordings] == [f"log_run{k + 1}" for k in range(parts)]
    assert any("starts again" in point and "rollover" in point for point in
               found.proposal.open_points)  # fmt: skip
    np.testing.assert_allclose(positions(prepared), motion.q, atol=1e-8)


def test_two_days_of_uptime_are_two_recordings(tmp_path, motion):
    times = np.where(np.arange(len(motion.times)) < 1000, motion.times, motion.times + 90_000.0)
    _, prepared = written(tmp_path, changed(motion, times=times))
    assert len(prepared.recordings) == 2
    np.testing.assert_allclose(positions(prepared), motion.q, atol=1e-8)


def test_a_counter_that_starts_again_is_continued(tmp_path, motion):
    def counted(log, folder):
        model, path = table(log, folder)
        path.write_text(path.read_text().replace("t,", "time_us,", 1))
        return model, path

    times = np.mod(np.round(1e6 * motion.times) + 2**32 - 4e6, 2**32)
    _, prepared = written(tmp_path, changed(motion, times=times), counted)
    assert len(prepared.recordings) == 1
    assert any("starts again after 4294967296 us, once" in note for note in prepared.notes)
    np.testing.assert_allclose(positions(prepared), motion.q, atol=1e-8)


def test_spikes_change_neither_units_nor_the_motion(tmp_path, motion):
    q = motion.q.copy()
    q[100::300, 1] = -12.4222
    _, prepared = written(tmp_path, changed(motion, q=q))
    np.testing.assert_allclose(positions(prepared), motion.q, atol=1e-3)
    assert any("thigh jumps away and back in 8 samples" in note for note in prepared.notes)


def test_rows_of_a_second_publisher_are_left_out(tmp_path, motion):
    def doubled(values):
        out = np.zeros((2 * len(values), *values.shape[1:]))
        out[::2] = values
        return out

    parts = {name: doubled(getattr(motion, name)) for name in ("q", "v", "tau", "cmd")}
    times = np.repeat(motion.times, 2) + np.tile([0.0, 1e-4], len(motion.times))
    _, prepared = written(tmp_path, Log(times, **parts))
    assert any("two publishers in turn" in note for note in prepared.notes)
    np.testing.assert_allclose(positions(prepared), motion.q, atol=1e-8)


def commanded(log, folder):
    """A table with commands of position servos."""
    names = ["t", *(f"{j}_{k}" for k in ("pos", "vel", "cmd") for j in JOINTS)]
    columns = np.column_stack([log.times, log.q, log.v, log.cmd])
    path = folder / "log.csv"
    np.savetxt(path, columns, delimiter=",", header=",".join(names), comments="")
    return write_leg(folder, servo=True), path


@pytest.mark.parametrize("rows", [0, 1])
def test_a_command_that_is_a_copy_is_refused(tmp_path, motion, rows):
    copied = np.vstack([motion.q[rows:], motion.q[len(motion.q) - rows :]])
    model, path = commanded(changed(motion, cmd=copied), tmp_path)
    with pytest.raises(RecordingError, match=r"hip_cmd is a copy of hip_pos"):
        propose_import(model, [path], tmp_path)


def test_torques_beyond_the_limit_of_the_model_are_said(tmp_path, motion):
    model, path = table(motion, tmp_path)
    text = model.read_text().replace('joint="thigh"/>', 'joint="thigh" forcerange="-2 2"/>')
    model.write_text(text)
    found = propose_import(model, [path], tmp_path)
    (point,) = [p for p in found.proposal.open_points if "forcerange" in p]
    assert "thigh_torque reaches" in point
    assert "the forcerange of the actuator thigh_m of -2 to 2" in point
