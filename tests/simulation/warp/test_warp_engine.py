"""The engine on MuJoCo Warp, on its CPU device, against the batch engine in double precision."""

import bisect
import pickle

import mujoco
import numpy as np
import pytest
from warp_models import (
    RECORD,
    collected,
    largest_difference,
    leg,
    needs_warp,
    segment,
)

from trueup.errors import SimulationError
from trueup.simulation.engine.batch import BatchEngine
from trueup.simulation.engine.segment import Segment
from trueup.simulation.targets.resolution import FieldWrite, resolve
from trueup.simulation.warp import engine as module
from trueup.simulation.warp.devices import find_device, warp_modules
from trueup.simulation.warp.engine import WarpEngine
from trueup.simulation.warp.worlds import Capacity

pytestmark = needs_warp


def _engine(model, segments, record=RECORD):
    return WarpEngine(model, segments, record, 1, device=find_device("warp-cpu"))


def _write(model, target, values):
    """Field writes of a target with one value per candidate."""
    values = np.asarray(values, float)[:, None]
    (fields,) = [resolve(target, model, 1, values.min(axis=0)).fields]
    return [(f, values[:, f.source] * f.factor) for f in fields]


ARMATURES = [0.01, 0.02, 0.03, 0.04, 0.05]
TARGETS = {
    "joint/hip/armature": [0.01, 0.02, 0.05],
    "body/lower/mass": [0.5, 0.8, 0.3],
    "joint/knee/damping": [0.05, 0.2, 0.01],
    "joint/hip/frictionloss": [0.05, 0.0, 0.2],
    "actuator/hip/kp": [20.0, 30.0, 10.0],
    "actuator/hip/kv": [0.5, 0.1, 0.9],
    "actuator/hip/delay": [0.011, 0.003, 0.02],
    "actuator/knee/timeconst": [0.02, 0.05, 0.01],
    "geom/foot/friction/0": [1.0, 0.3, 2.0],
    "option/gravity/2": [-9.81, -3.7, -1.6],
}


@pytest.fixture(scope="module")
def model():
    return leg()


@pytest.fixture(scope="module")
def segments(model):
    """Three lengths, in two buckets, the first one from a later clock."""
    return [
        segment(model, 57, (-0.3, 0.1), 400.0, "late"),
        segment(model, 8, (0.1, 0.5), 0.0, "short"),
        segment(model, 60, (0.3, -0.2), 0.0, "long"),
    ]


@pytest.fixture(scope="module")
def engine(model, segments):
    return _engine(model, segments)


@pytest.fixture(scope="module")
def brief(model):
    """Segments for what does not depend on the length: the foot rests on the floor in one."""
    return [segment(model, 30, (0.0, 0.0)), segment(model, 25, (0.3, -0.2))]


@pytest.fixture(scope="module")
def brief_records(model, brief):
    return collected(_engine(model, brief), 5, _write(model, "joint/hip/armature", ARMATURES))


def test_trajectories_agree_to_single_precision(model, segments, engine):
    wanted = collected(BatchEngine(model, segments, RECORD), 1)
    failures = {}
    found = collected(engine, 1, failures=failures)
    assert not failures
    assert {key: v.shape for key, v in found.items()} == {k: v.shape for k, v in wanted.items()}
    apart = largest_difference(wanted, found)
    assert apart["qpos"] < 1e-5
    assert apart["qvel"] < 1e-4
    assert apart["sensordata"] < 1e-4


def test_fields_of_each_candidate_act_as_in_a_model_of_its_own(model, segments, engine):
    """All targets at once, each candidate with its own values, against double precision."""
    writes = [w for target, values in TARGETS.items() for w in _write(model, target, values)]
    writes.append(
        (
            FieldWrite("state.qpos", np.array([1]), np.array([0]), sequence="short"),
            np.array([[0.5], [0.55], [0.6]]),
        )
    )
    wanted = collected(BatchEngine(model, segments, RECORD), 3, writes)
    found = collected(engine, 3, writes)
    apart = largest_difference(wanted, found)
    assert apart["qpos"] < 1e-5
    assert apart["sensordata"] < 1e-4
    # a candidate's values make a difference that is far above the tolerance
    moved = np.abs(wanted[2, "qpos"][0] - wanted[2, "qpos"][1]).max()
    assert moved > 1e-2


@pytest.fixture(scope="module")
def short(model):
    """An engine for models on the device, not for motions."""
    return _engine(model, [segment(model, 2)])


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_alone_changes_the_model_of_the_device(model, target, short):
    """Fields on the device, derived constants included, are those of a recompiled model."""
    values = TARGETS[target][:2]
    writes = _write(model, target, values)
    batch = BatchEngine(model, short.segments, RECORD)
    list(batch.run(2, writes))
    list(short.run(2, writes))
    worlds = list(short._kept.values())[-1]
    _, mjw = warp_modules()
    for candidate in range(2):
        own = mjw.put_model(batch.model_of(candidate))
        for name, array in worlds._rows.items():
            owner = own.opt if name.startswith("opt.") else own
            np.testing.assert_allclose(
                array.numpy()[candidate],
                getattr(owner, name.removeprefix("opt.")).numpy()[0],
                rtol=1e-6,
                atol=1e-9,
                err_msg=name,
            )


def test_compiled_models_of_candidates_are_simulated(model, segments, engine):
    """Candidates of a modifier in Python come as models, not as fields."""
    heavy = leg()
    heavy.body_mass[2] *= 1.5
    heavy.dof_armature[0] *= 2
    mujoco.mj_setConst(heavy, mujoco.MjData(heavy))
    wanted = collected(BatchEngine(model, segments, RECORD), 2, (), [model, heavy])
    found = collected(engine, 2, (), [model, heavy])
    assert largest_difference(wanted, found)["qpos"] < 1e-5


@pytest.mark.parametrize("gain", [3e4, 3e6, 3e9])
def test_one_world_that_diverges_leaves_the_others(model, gain):
    """A servo far too stiff for the time step is a failure of its candidate alone."""
    run = [segment(model, 40)]
    writes = _write(model, "actuator/knee/kp", [15.0, gain, 20.0])
    alone, other = {}, {}
    wanted = collected(BatchEngine(model, run, RECORD), 3, writes, failures=alone)
    found = collected(_engine(model, run), 3, writes, failures=other)
    assert set(alone) == set(other) == {1}
    assert "unstable" in other[1]
    for (_, name), values in found.items():
        assert np.isfinite(values).all()
        good = wanted[0, name][[0, 2]]
        assert np.abs(values[[0, 2]] - good).max() < 1e-4 * max(np.abs(good).max(), 1)


def test_divergence_after_the_end_of_a_segment_does_not_count(model):
    """A world of a short segment runs on in vain beside the longer ones of its bucket."""
    writes = _write(model, "actuator/knee/kp", [15.0, 3e4])

    def fails(*lengths):
        engine, failures = _engine(model, [segment(model, n) for n in lengths]), {}
        collected(engine, 2, writes, failures=failures)
        return bool(failures)

    steps = bisect.bisect_left(range(20), True, lo=2, key=fails)
    assert fails(steps) and not fails(steps - 1)
    # zero commands keep the stiff servo at its zero, so that only the first segment can diverge
    still = segment(model, 1, (0.0, 0.0)).initial_state
    calm = Segment(0.0, still, np.zeros((steps, 2)), "calm")
    engine, failures = _engine(model, [segment(model, steps - 1), calm]), {}
    assert [list(p) for p in engine._buckets] == [[0, 1]]
    collected(engine, 2, writes, failures=failures)
    assert not failures


def test_tables_that_are_too_small_grow_and_nothing_is_lost(model, brief, brief_records):
    small = _engine(model, brief)
    writes = _write(model, "joint/hip/armature", ARMATURES)
    list(small.run(5, writes))  # the comparison with the CPU is done
    small._capacity = Capacity(1, 2)
    small._kept.clear()
    found = collected(small, 5, writes)
    assert small._capacity.constraints > 2
    assert any("Tables grew" in note for note in small.notes)
    assert largest_difference(brief_records, found)["qpos"] < 1e-5


def test_candidates_that_do_not_fit_are_simulated_in_chunks(model, brief, brief_records):
    small = _engine(model, brief)
    small._most = 4  # two candidates in two segments
    found = collected(small, 5, _write(model, "joint/hip/armature", ARMATURES))
    assert any("3 chunks of 2 candidates" in note for note in small.notes)
    assert largest_difference(brief_records, found)["qpos"] < 1e-6


def test_blocks_of_time_continue_each_other(model, brief, brief_records, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 2)  # 16 steps at a time
    found = collected(_engine(model, brief), 5, _write(model, "joint/hip/armature", ARMATURES))
    # clocks begin anew with each block, and so round otherwise
    assert largest_difference(brief_records, found)["qpos"] < 1e-5


def test_new_controls_act(model, brief):
    own = _engine(model, brief)
    before = collected(own, 1)
    controls = [s.controls + 0.2 for s in brief]
    own.set_controls(controls)
    after = collected(own, 1)
    plain = BatchEngine(model, brief, RECORD)
    plain.set_controls(controls)
    assert largest_difference(collected(plain, 1), after)["qpos"] < 1e-5
    assert np.abs(after[1, "qpos"] - before[1, "qpos"]).max() > 1e-2


def test_memory_that_does_not_suffice_for_one_candidate_is_an_error(model, brief, monkeypatch):
    def full(*args, **options):
        raise MemoryError("Failed to allocate")

    monkeypatch.setattr(module, "Worlds", full)
    with pytest.raises(SimulationError, match="does not suffice for one candidate in 2 windows"):
        collected(_engine(model, brief), 3)


def test_an_engine_is_not_shared_out_over_processes(engine):
    with pytest.raises(SimulationError, match="device: cpu"):
        pickle.dumps(engine)
