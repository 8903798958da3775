"""Segments that go on from earlier ones: activations, delay buffers and what was not measured."""

import pickle
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from trueup.parameters import Parameter, ParameterDict
from trueup.simulation.engine import batch as module
from trueup.simulation.engine.batch import BatchEngine, Segment
from trueup.simulation.targets.variants import ModelVariants

MODEL = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body>
      <joint name="first" axis="0 1 0" armature="0.02" damping="0.3"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5" contype="0"/>
    </body>
    <body pos="1 0 0">
      <joint name="second" axis="0 1 0" armature="0.02" damping="0.3"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5" contype="0"/>
    </body>
  </worldbody>
  <actuator>
    <general name="slow" joint="first" dyntype="filter" dynprm="0.3" gainprm="2"/>
    <general name="sum" joint="second" dyntype="integrator" gainprm="2" biasprm="0 -2"
      biastype="affine"/>
    <motor name="late" joint="second" delay="0.01" nsample="20" interp="linear"/>
  </actuator>
  <sensor>
    <jointpos name="angle" joint="first" delay="0.006" nsample="8" interp="linear"/>
  </sensor>
</mujoco>
"""
STEPS, EVERY = 300, 70
FIELDS = ("qpos", "qvel", "act", "sensordata")


@pytest.fixture(scope="module")
def case():
    """Two unknowns of the actuators, candidates, a whole run and its state after every step."""
    spec = mujoco.MjSpec.from_string(MODEL)
    parameters = ParameterDict()
    parameters.add(Parameter("tau", 0.3, 0.05, 1.0, target="actuator/slow/dynprm/0"))
    parameters.add(Parameter("delay", 0.01, 0.0, 0.03, target="actuator/late/delay"))
    variants = ModelVariants(spec, parameters)
    X = np.array([[0.3, 0.01], [0.1, 0.02], [0.6, 0.0043]])
    data = mujoco.MjData(variants.model)
    state = np.empty(mujoco.mj_stateSize(variants.model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(variants.model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    controls = np.random.default_rng(0).normal(size=(STEPS, variants.model.nu)).cumsum(0) * 0.1
    return variants, X, Segment(0.0, state, controls, "run")


def _collect(engine, variants, X):
    parts = {}
    failures = {}
    for block in engine.run(len(X), variants.field_writes(X), variants.models(X, {}), failures):
        for position, segment in enumerate(block.segments):
            for field, values in block.records.items():
                parts.setdefault((int(segment), field), []).append(values[:, position])
    return {key: np.concatenate(values, axis=1) for key, values in parts.items()}, failures


def _cut(whole, candidate_records, measured):
    """Segments of a run; ``measured`` joints start from the records of one candidate."""
    model_size = len(whole.initial_state)
    segments = [replace(whole, controls=whole.controls[: EVERY + 5])]
    for first in range(EVERY, STEPS, EVERY):
        state = whole.initial_state.copy()
        carried = np.ones(model_size, bool)
        for joint in measured:
            for entry, field in ((1 + joint, "qpos"), (3 + joint, "qvel")):
                state[entry] = candidate_records[field][first - 1, joint]
                carried[entry] = False
        segments.append(
            Segment(
                0.002 * first, state, whole.controls[first : first + EVERY + 5],
                f"run#{first}", 0.002 * first, carried,
            )
        )  # fmt: skip
    return segments


@pytest.mark.parametrize("block", [64_000_000, 2000])
@pytest.mark.parametrize("measured", [(0, 1), (0,), ()])
@pytest.mark.parametrize("only_leads", [0, 3])
def test_segments_that_go_on_repeat_the_whole(case, measured, only_leads, block, monkeypatch):
    variants, X, whole = case
    expected, _ = _collect(BatchEngine(variants.model, [whole], FIELDS), variants, X)
    monkeypatch.setattr(module, "BLOCK_BYTES", block)
    for candidate in range(len(X)):
        # measured joints are those of this candidate, which must then repeat its own run
        records = {f: expected[0, f][candidate] for f in FIELDS}
        chain = _cut(whole, records, measured)
        engine = BatchEngine(variants.model, chain[:only_leads:-1] or chain, FIELDS, chains=[chain])
        engine = pickle.loads(pickle.dumps(engine))
        found, failures = _collect(engine, variants, X)
        assert not failures
        for place, segment in enumerate(chain[:only_leads:-1] or chain):
            first = round(segment.clock / 0.002)
            steps = min(segment.steps, STEPS - first)
            for field in FIELDS:
                np.testing.assert_allclose(
                    found[place, field][candidate, :steps],
                    records[field][first : first + steps],
                    rtol=0,
                    atol=1e-9,
                    err_msg=f"{field} of the segment at {first}",
                )


def test_chains_run_beside_each_other_and_a_failure_stays_with_its_candidate(case):
    variants, X, whole = case
    expected, _ = _collect(BatchEngine(variants.model, [whole], FIELDS), variants, X)
    other = replace(whole, controls=-whole.controls[: STEPS - 40], sequence="other")
    records = {f: expected[0, f][0] for f in FIELDS}
    chains = [_cut(whole, records, ()), _cut(other, records, ())[:3]]
    segments = [chains[0][-1], chains[1][-1]]
    found, failures = _collect(
        BatchEngine(variants.model, segments, FIELDS, chains=chains), variants, X
    )
    np.testing.assert_allclose(
        found[0, "qpos"][:, : STEPS - 280], expected[0, "qpos"][:, 280:], atol=1e-9
    )
    assert not failures
    # a filter faster than half a step is unstable: the time before the segment diverges
    wild = np.vstack([X, [0.0004, 0.01]])
    engine = BatchEngine(variants.model, segments, FIELDS, chains=chains)
    _, failures = _collect(engine, variants, wild)
    assert list(failures) == [3]
