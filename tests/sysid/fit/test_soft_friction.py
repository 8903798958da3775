"""A fit with hard joint friction begins at the optimum with soft friction."""

import numpy as np
import pytest
from recorded_models import recording, wobble

from trueup.parameters import Parameter, ParameterDict
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.soft_friction import soft_friction_optimum

TEXT = """<mujoco><option timestep="0.002"/><worldbody><body name="rod">
<joint name="pivot" axis="0 1 0" damping=".15" frictionloss=".2" {hard}/>
<geom type="capsule" size=".02" fromto="0 0 0 0 0 -.5" mass="1" contype="0"/></body></worldbody>
<actuator><motor name="motor" joint="pivot"/></actuator>
<sensor><jointpos name="angle" joint="pivot"/><jointvel name="speed" joint="pivot"/></sensor>
</mujoco>"""
HARD = 'solreffriction="0.002 1" solimpfriction="0.99 0.9999 0.001 0.5 2"'


class OneGroup:
    """What the start needs of a prepared experiment."""

    def __init__(self, text: str):
        self.training = [recording(text, wobble(600), [0.4])]

    def motion_problem(self, parameters=None, sequences=None) -> GrayBoxProblem:
        unknowns = ParameterDict()
        unknowns.add(Parameter("damping", 0.5, 0.0, 2.0, target="joint/pivot/damping"))
        unknowns.add(Parameter("friction", 0.6, 0.0, 2.0, target="joint/pivot/frictionloss"))
        return GrayBoxProblem(unknowns, sequences or self.training)


def test_it_is_nearer_than_the_start_and_takes_few_simulations():
    prepared = OneGroup(TEXT.format(hard=HARD))
    problem = prepared.motion_problem()
    found, evaluations = soft_friction_optimum(prepared, problem, problem.space.start)
    start, near = problem.costs(np.stack([problem.space.start, found]))[:, 0]
    assert near < 0.05 * start and evaluations < 60
    assert found[0] == pytest.approx(0.15, rel=0.2)


def test_soft_friction_needs_none():
    prepared = OneGroup(TEXT.format(hard=""))
    problem = prepared.motion_problem()
    assert soft_friction_optimum(prepared, problem, problem.space.start) is None
