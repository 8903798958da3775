"""The mass of a link as an unknown, with its moments in proportion."""

import mujoco
import numpy as np

from trueup.simulation.targets.variants import ModelVariants
from trueup.sysid.experiment.settings import ParameterPart
from trueup.sysid.experiment.unknowns import build_parameters

BAR = """<mujoco><worldbody><body name="bar"><joint name="hinge" axis="0 1 0"/>
<geom type="box" size=".1 .02 .03" pos=".1 0 0" mass="2"/></body></worldbody></mujoco>"""


def test_moments_are_in_proportion_to_the_mass_and_the_centre_stays():
    spec = mujoco.MjSpec.from_string(BAR)
    model = spec.compile()
    part = ParameterPart.model_validate(
        {"inertia": "bar", "inertia_type": "density", "prior": {"sd": 0.3}}
    )
    parameters = build_parameters({"bar_mass": part}, spec, model)
    prior = parameters["bar_mass"].prior
    assert prior is not None and prior.sd == (0.3 * 2,)
    machine = ModelVariants(spec, parameters, None, "model").spec_at(np.array([3.0])).compile()
    np.testing.assert_allclose(machine.body_mass, 1.5 * model.body_mass)
    np.testing.assert_allclose(machine.body_inertia, 1.5 * model.body_inertia)
    np.testing.assert_allclose(machine.body_ipos, model.body_ipos)
