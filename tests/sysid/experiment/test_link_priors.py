"""Priors of links: what a standard deviation as a share of the model means."""

import mujoco
import numpy as np
import pytest

from trueup.errors import ExperimentError
from trueup.parameters import InertiaType
from trueup.sysid.experiment.link_priors import link_prior
from trueup.sysid.experiment.settings import PriorPart
from trueup.sysid.model_modifier import body_inertia_param

LINK = """<mujoco><worldbody><body name="link"><joint/>
<inertial pos=".1 -.05 .02" mass="{mass}" fullinertia="{moments}"/></body></worldbody></mujoco>"""
MOMENTS = np.array([0.02, 0.03, 0.025, 0.001, -0.002, 0.003])
PART = PriorPart(sd=0.1)


def link(kind, scale=1.0):
    moments = " ".join(map(str, MOMENTS * scale))
    model = mujoco.MjModel.from_xml_string(LINK.format(mass=2.0 * scale, moments=moments))
    return body_inertia_param(None, model, "link", kind, param_name="link"), model


@pytest.mark.parametrize("kind", InertiaType)
def test_a_body_that_is_heavier_by_the_share_lies_one_deviation_away(kind):
    param, model = link(kind)
    prior = link_prior("link", param, PART, model)
    assert prior is not None
    means, deviations = np.array(prior.elements(param.size)).T
    np.testing.assert_allclose(means, np.ravel(param.nominal))
    heavier, _ = link(kind, 1.1)
    away = (np.ravel(heavier.nominal) - means) / deviations
    assert np.linalg.norm(away) == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize("kind", [InertiaType.MassIpos, InertiaType.Pseudo])
def test_a_centre_of_mass_moves_by_a_share_of_the_radius_of_gyration(kind):
    param, model = link(kind)
    prior = link_prior("link", param, PART, model)
    assert prior is not None
    gyration = np.sqrt(MOMENTS[:3].sum() / (2 * 2.0))
    # in both coordinates the centre comes last
    assert [sd for _, sd in prior.elements(param.size)[-3:]] == pytest.approx([0.1 * gyration] * 3)


def test_a_mean_is_that_of_a_mass_alone():
    part = PriorPart(mean=2.1, sd=0.05)
    param, model = link(InertiaType.Mass)
    prior = link_prior("link", param, part, model)
    assert prior is not None and prior.elements(1) == [(2.1, 0.05)]
    param, model = link(InertiaType.Pseudo)
    with pytest.raises(ExperimentError, match=r"link.prior: mean is supported for a mass only"):
        link_prior("link", param, part, model)
    assert link_prior("link", param, None, model) is None
