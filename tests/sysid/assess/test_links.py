"""Physical quantities of links: what a fit of inertia coordinates says about mass and centre."""

import mujoco
import numpy as np
import pytest

from trueup.parameters import InertiaType, ParameterDict, Prior
from trueup.sysid.assess.links import QUANTITIES, link_rows
from trueup.sysid.model_modifier import body_inertia_param

MODEL = mujoco.MjModel.from_xml_string(
    """<mujoco><worldbody><body name="link"><joint/>
    <inertial pos=".1 -.05 .02" mass="2" fullinertia=".02 .03 .025 .001 -.002 .003"/></body>
    </worldbody></mujoco>"""
)


def rows(kind, covariance, prior=None):
    param = body_inertia_param(None, MODEL, "link", kind, param_name="arm")
    param.prior = prior
    return param, link_rows(ParameterDict({"arm": param}), [MODEL], covariance, 0.95)


def test_a_mass_alone_has_one_quantity():
    _, (row,) = rows(InertiaType.Mass, np.array([[0.01]]))
    assert (row["body"], row["parameter"]) == ("link", "arm")
    (mass,) = row["quantities"]
    assert (mass["name"], mass["unit"]) == ("mass", "kg")
    assert mass["value"] == mass["cad"] == pytest.approx(2.0)
    assert mass["half_width"] == pytest.approx(1.96 * 0.1, rel=1e-3)
    assert mass["from_data"]


def test_coordinates_become_mass_centre_and_moments_with_the_spread_of_draws():
    rng = np.random.default_rng(0)
    root = 1e-3 * rng.normal(size=(10, 10))
    param, (row,) = rows(InertiaType.Pseudo, root @ root.T)
    assert [q["name"] for q in row["quantities"]] == [name for name, _ in QUANTITIES]
    found = {q["name"]: q for q in row["quantities"]}
    assert found["centre y"]["value"] == pytest.approx(-0.05)
    moments = [found[f"moment {k}"]["value"] for k in (1, 2, 3)]
    np.testing.assert_allclose(moments, np.sort(MODEL.body_inertia[1])[::-1], rtol=1e-9)
    draws = param.as_vector() + (root @ rng.normal(size=(10, 4000))).T
    mass = np.exp(2 * draws[:, 0])
    assert found["mass"]["half_width"] == pytest.approx(1.96 * mass.std(), rel=0.1)
    assert found["centre x"]["half_width"] == pytest.approx(1.96 * draws[:, 7].std(), rel=0.1)


def test_what_the_recordings_do_not_determine_is_infinite_and_the_rest_is_not():
    covariance = np.diag([0.01, np.inf, 1e-4, 1e-4])
    _, (row,) = rows(InertiaType.MassIpos, covariance)
    widths = {q["name"]: q["half_width"] for q in row["quantities"]}
    assert np.isinf(widths["centre x"])
    assert np.isfinite([widths["mass"], widths["centre y"], widths["centre z"]]).all()
    assert [q["from_data"] for q in row["quantities"]] == [True, False, True, True]


def test_a_prior_that_decides_is_not_from_data():
    prior = Prior((2.0, 0.1, -0.05, 0.02), (0.1, 0.02, 0.02, 0.02))
    _, (row,) = rows(InertiaType.MassIpos, np.diag([0.095, 0.002, 0.019, 0.001]) ** 2, prior)
    assert [q["from_data"] for q in row["quantities"]] == [False, True, False, True]


def test_without_an_optimum_there_are_values_and_no_intervals():
    _, (row,) = rows(InertiaType.MassIpos, np.full((4, 4), np.nan))
    assert all(np.isnan(q["half_width"]) and np.isfinite(q["value"]) for q in row["quantities"])
    assert not any(q["from_data"] for q in row["quantities"])
