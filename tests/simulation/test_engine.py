"""The batch engine against single rollouts: blocks, lengths, failures, states, clocks."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from mujoco import rollout
from simulation_models import DELAYED, PENDULUM, everything

from trueup.parameters import Parameter, ParameterDict
from trueup.simulation.engine import batch as module
from trueup.simulation.engine import pace
from trueup.simulation.engine.batch import BatchEngine, Segment
from trueup.simulation.targets.variants import ModelVariants
from trueup.time_limit import TimeLimit, TimeUpError

FULL_PHYSICS = mujoco.mjtState.mjSTATE_FULLPHYSICS


def _state(model, rng, time=0.0):
    data = mujoco.MjData(model)
    data.qvel[:] = 0.2 * rng.normal(size=model.nv)
    data.time = time
    state = np.empty(mujoco.mj_stateSize(model, FULL_PHYSICS))
    mujoco.mj_getState(model, data, state, FULL_PHYSICS)
    return state


def _segments(model, lengths, seed=0):
    rng = np.random.default_rng(seed)
    return [
        Segment(0.0, _state(model, rng), 0.3 * rng.normal(size=(n, model.nu)), f"run {k}")
        for k, n in enumerate(lengths)
    ]


def _collect(engine, n, writes=(), models=None, failures=None):
    """Records of each segment: field -> (n, steps, width)."""
    parts = {}
    for block in engine.run(n, writes, models, failures):
        for position, segment in enumerate(block.segments):
            for field, values in block.records.items():
                parts.setdefault((int(segment), field), []).append(values[:, position])
    return {key: np.concatenate(values, axis=1) for key, values in parts.items()}


def _single(model, segment):
    """One rollout by MuJoCo's own function: state and sensors after every step."""
    state, sensors = rollout.rollout(
        model, mujoco.MjData(model), segment.initial_state, segment.controls[None]
    )
    return state[0], sensors[0]


@pytest.fixture(scope="module")
def case():
    """A model, 3 unknowns, 4 candidates and segments of different lengths."""
    spec = mujoco.MjSpec.from_string(everything())
    parameters = ParameterDict()
    parameters.add(Parameter("armature", 0.05, 0.01, 0.5, target="joint/slide/armature"))
    parameters.add(Parameter("mass", 1.5, 0.5, 3.0, target="body/cart/mass"))
    parameters.add(Parameter("kp", 8.0, 1.0, 20.0, target="actuator/servo/kp"))
    variants = ModelVariants(spec, parameters)
    X = np.random.default_rng(3).uniform([0.01, 0.5, 1], [0.5, 3, 20], (4, 3))
    return variants, X, _segments(variants.model, [70, 25, 70, 140, 1])


FIELDS = ("qpos", "qvel", "sensordata")


def test_candidates_and_segments_equal_single_rollouts_bit_for_bit(case):
    variants, X, segments = case
    engine = BatchEngine(variants.model, segments, FIELDS)
    records = _collect(engine, len(X), variants.field_writes(X))
    nq, nv = variants.model.nq, variants.model.nv
    for candidate in range(len(X)):
        for s, segment in enumerate(segments):
            # the model of the batch itself: rounding of a recompile is another matter
            model = engine.model_of(candidate * len(segments))
            state, sensors = _single(model, segment)
            np.testing.assert_array_equal(records[s, "qpos"][candidate], state[:, 1 : 1 + nq])
            np.testing.assert_array_equal(
                records[s, "qvel"][candidate], state[:, 1 + nq : 1 + nq + nv]
            )
            np.testing.assert_array_equal(records[s, "sensordata"][candidate], sensors)


def test_written_fields_move_as_a_recompiled_model(case):
    variants, X, segments = case
    records = _collect(
        BatchEngine(variants.model, segments, FIELDS), len(X), variants.field_writes(X)
    )
    for candidate, x in enumerate(X):
        state, _ = _single(variants.model_at(x), segments[3])
        found = records[3, "qpos"][candidate]
        np.testing.assert_allclose(
            found, state[:, 1 : 1 + variants.model.nq], rtol=1e-9, atol=1e-10
        )


def test_blocks_of_time_equal_one_block(case, monkeypatch):
    variants, X, segments = case
    whole = _collect(BatchEngine(variants.model, segments, FIELDS), 4, variants.field_writes(X))
    monkeypatch.setattr(module, "BLOCK_BYTES", 1)
    engine = BatchEngine(variants.model, segments, FIELDS)
    blocks = list(engine.run(4, variants.field_writes(X)))
    assert max(next(iter(b.records.values())).shape[2] for b in blocks) == 16
    pieces = _collect(engine, 4, variants.field_writes(X))
    for key, values in whole.items():
        np.testing.assert_array_equal(pieces[key], values)


def test_a_time_limit_cuts_a_batch_and_leaves_the_engine_as_it_was(case, monkeypatch):
    variants, X, segments = case
    engine = BatchEngine(variants.model, segments, FIELDS)
    monkeypatch.setattr(pace, "_PIECE", 0.0)  # a look at the clock before each step
    whole = _collect(engine, 4, variants.field_writes(X))
    now = iter(range(1000))
    with TimeLimit(30.0, lambda: next(now)) as limit, pytest.raises(TimeUpError) as caught:
        _collect(engine, 4, variants.field_writes(X))
    assert caught.value.limit is limit
    assert 30 <= next(now) <= 40  # of 140 steps
    again = _collect(engine, 4, variants.field_writes(X))
    for key, values in whole.items():
        np.testing.assert_array_equal(again[key], values)


@pytest.mark.parametrize("piece", [0.0, 1e-5])
def test_pieces_between_looks_at_the_clock_equal_the_whole(case, monkeypatch, piece):
    variants, X, segments = case
    whole = _collect(BatchEngine(variants.model, segments, FIELDS), 4, variants.field_writes(X))
    monkeypatch.setattr(pace, "_PIECE", piece)
    monkeypatch.setattr(pace, "_UNKNOWN", 7)
    pieces = _collect(BatchEngine(variants.model, segments, FIELDS), 4, variants.field_writes(X))
    for key, values in whole.items():
        np.testing.assert_array_equal(pieces[key], values)


def test_one_thread_and_two_are_equal(case):
    variants, X, segments = case
    one, two = (
        _collect(
            BatchEngine(variants.model, segments, FIELDS, threads), 4, variants.field_writes(X)
        )
        for threads in (1, 2)
    )
    for key, values in one.items():
        np.testing.assert_array_equal(two[key], values)


def test_runs_do_not_remember_former_ones(case):
    variants, X, segments = case
    engine = BatchEngine(variants.model, segments, FIELDS)
    plain = _collect(engine, 1)
    _collect(engine, 4, variants.field_writes(X))
    again = _collect(engine, 1)
    fewer = _collect(engine, 2, variants.field_writes(X[:2])[:1])
    direct = _collect(
        BatchEngine(variants.model, segments, FIELDS), 2, variants.field_writes(X[:2])[:1]
    )
    for key, values in plain.items():
        np.testing.assert_array_equal(again[key], values)
        np.testing.assert_array_equal(fewer[key], direct[key])


def test_compiled_models_equal_written_fields(case):
    variants, X, segments = case
    models = [variants.model_at(x) for x in X]
    compiled = _collect(BatchEngine(variants.model, segments, FIELDS), 4, models=models)
    written = _collect(BatchEngine(variants.model, segments, FIELDS), 4, variants.field_writes(X))
    for key, values in compiled.items():
        np.testing.assert_allclose(written[key], values, rtol=1e-8, atol=1e-9)


# --- failures ------------------------------------------------------------------------------------

_RUNAWAY = """
<mujoco>
  <option timestep="0.01" integrator="Euler"/>
  <worldbody>
    <body name="mass">
      <joint name="slide" type="slide" axis="1 0 0" stiffness="10"/>
      <geom size=".1" mass="1"/>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="slide"/></actuator>
  <sensor><jointpos name="position" joint="slide"/></sensor>
</mujoco>
"""


def _runaway(start=10.0):
    parameters = ParameterDict()
    parameters.add(Parameter("k", start, -1e9, 1e9, target="joint/slide/stiffness"))
    return ModelVariants(mujoco.MjSpec.from_string(_RUNAWAY), parameters)


def test_a_diverging_candidate_is_isolated_with_a_reason(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    variants = _runaway()
    rng = np.random.default_rng(0)
    segments = [
        Segment(0.0, _state(variants.model, rng), rng.normal(size=(n, 1))) for n in (300, 150)
    ]
    X = np.array([[10.0], [-1e7], [20.0], [1e8]])
    failures: dict[int, str] = {}
    engine = BatchEngine(variants.model, segments, ("qpos",))
    records = _collect(engine, 4, variants.field_writes(X), failures=failures)
    assert sorted(failures) == [1, 3]
    assert all(
        "instab" in reason.lower() or "huge" in reason.lower() for reason in failures.values()
    )
    alone = _collect(engine, 2, variants.field_writes(X[[0, 2]]))
    for key, values in alone.items():
        np.testing.assert_array_equal(records[key][[0, 2]], values)
        assert np.isfinite(records[key]).all()
    assert list(Path(tmp_path).iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_a_failure_of_one_run_is_forgotten_in_the_next():
    variants = _runaway()
    segment = Segment(0.0, _state(variants.model, np.random.default_rng(0)), np.ones((200, 1)))
    engine = BatchEngine(variants.model, [segment], ("qpos",))
    failures: dict[int, str] = {}
    _collect(engine, 1, variants.field_writes(np.array([[-1e7]])), failures=failures)
    assert 0 in failures
    failures.clear()
    _collect(engine, 1, variants.field_writes(np.array([[10.0]])), failures=failures)
    assert not failures


def test_an_error_of_mujoco_in_one_candidate_is_isolated():
    """An inertia that a simple body cannot hold raises in set_const."""
    spec = mujoco.MjSpec.from_string(everything())
    model = spec.compile()
    segments = _segments(model, [20])
    block = model.body("block").id
    write = module.FieldWrite("body_ipos", 3 * block + np.arange(3), np.arange(3))
    values = np.zeros((3, 3))
    values[1] = [0.01, 0.02, 0.0]
    failures: dict[int, str] = {}
    engine = BatchEngine(model, segments, ("qpos",))
    records = _collect(engine, 3, [(write, values)], failures=failures)
    assert list(failures) == [1]
    assert "simple" in failures[1]
    plain = _collect(BatchEngine(model, segments, ("qpos",)), 1)
    np.testing.assert_array_equal(records[0, "qpos"][0], plain[0, "qpos"][0])
    np.testing.assert_array_equal(records[0, "qpos"][2], plain[0, "qpos"][0])


# --- states and clocks ---------------------------------------------------------------------------


def test_initial_states_of_one_sequence_and_of_all():
    spec = mujoco.MjSpec.from_string(PENDULUM)
    parameters = ParameterDict()
    parameters.add(Parameter("all", 0.0, -9, 9, target="state/pivot/qvel"))
    parameters.add(Parameter("one", 0.0, -9, 9, target="state/pivot/qpos@run 1"))
    variants = ModelVariants(spec, parameters)
    segments = _segments(variants.model, [30, 30, 30])
    segments[2] = replace(segments[2], sequence="run 2#1", clock=0.06)  # a later window
    X = np.array([[1.0, 0.5], [-2.0, -0.25]])
    engine = BatchEngine(variants.model, segments, ("qpos",))
    records = _collect(engine, 2, variants.field_writes(X))
    for candidate, (speed, angle) in enumerate(X):
        for s, segment in enumerate(segments):
            start = segment.initial_state.copy()
            if s < 2:
                start[2] = speed
            if s == 1:
                start[1] = angle
            state, _ = _single(variants.model, Segment(0.0, start, segment.controls))
            np.testing.assert_array_equal(records[s, "qpos"][candidate], state[:, 1:2])


def _with_clock(model, time):
    """A state in the middle of a motion, with filled delay buffers, at a time."""
    from trueup.simulation.engine.initial_state import with_start_time

    data = mujoco.MjData(model)
    rng = np.random.default_rng(1)
    for _ in range(50):
        data.ctrl[:] = rng.normal(size=model.nu)
        mujoco.mj_step(model, data)
    state = np.empty(mujoco.mj_stateSize(model, FULL_PHYSICS))
    mujoco.mj_getState(model, data, state, FULL_PHYSICS)
    return with_start_time(model, state, time)


@pytest.mark.parametrize("clock", [100.0, 1.7e9])
def test_a_clock_that_does_not_start_at_zero_changes_nothing(clock):
    """Delay buffers hold times: at 1.7e9 s a double resolves 0.2 microseconds."""
    model = mujoco.MjModel.from_xml_string(DELAYED)
    controls = np.random.default_rng(2).normal(size=(100, 1))
    early, late = (
        _collect(
            BatchEngine(model, [Segment(t, _with_clock(model, t), controls)], ("sensordata",)), 1
        )[0, "sensordata"]
        for t in (0.0, clock)
    )
    tolerance = 1e-12 if clock < 1e3 else 1e-6  # what the given stamps themselves resolve
    np.testing.assert_allclose(late, early, atol=tolerance)
    fresh = _collect(
        BatchEngine(model, [Segment(clock, _state(model, np.random.default_rng(0)), controls)],
                    ("sensordata",)), 1)[0, "sensordata"]  # fmt: skip
    plain = _collect(
        BatchEngine(model, [Segment(0.0, _state(model, np.random.default_rng(0)), controls)],
                    ("sensordata",)), 1)[0, "sensordata"]  # fmt: skip
    np.testing.assert_array_equal(fresh, plain)


def test_a_window_goes_on_as_the_whole_does():
    """A start in the middle, delay buffers included, continues the long simulation."""
    model = mujoco.MjModel.from_xml_string(DELAYED)
    rng = np.random.default_rng(0)
    controls = rng.normal(size=(80, 1))
    whole = Segment(0.0, _state(model, rng), controls)
    state, sensors = _single(model, whole)
    later = Segment(0.002 * 40, state[39], controls[40:], clock=0.002 * 40)
    found = _collect(BatchEngine(model, [later], ("sensordata",)), 1)[0, "sensordata"][0]
    np.testing.assert_allclose(found, sensors[40:], atol=1e-13)


def test_the_simulated_clock_is_that_of_the_segment_whatever_the_state_says():
    model = mujoco.MjModel.from_xml_string(DELAYED)
    rows = [
        BatchEngine(
            model, [Segment(t, _with_clock(model, t), np.zeros((3, 1)), clock=0.5)], ()
        )._rows
        for t in (0.0, 1.7e9)
    ]
    # the time, and with it the stamps in the delay buffers
    np.testing.assert_allclose(rows[1], rows[0], atol=1e-6)
    assert rows[1][0, 0] == 0.5
