"""Metabolic power: cases by hand, properties of the model, MuJoCo's curves, walks."""

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.gait import Walker, WalkObjective, WalkSettings, WalkSimulation
from trueup.gait.compiled import compiled_once
from trueup.gait.models.metabolic import (
    FIBER,
    force_length,
    force_velocity,
    metabolic_table,
    muscle_fibers,
    muscle_power,
)

SHAPE = {"shortest": 0.5, "longest": 1.6, "lengthening": 1.4}


def fiber(**changes):
    """A muscle of 100 g whose fibers are 10 cm long and as fast as 10 lengths a second."""
    found = np.zeros(1, dtype=FIBER)
    values = {"slack": 0.2, "optimal": 0.1, "speed": 10.0, "strength": 1000.0, "mass": 0.1}
    values["share"] = 1.0
    for name, value in {**values, **SHAPE, "slow": 0.5, **changes}.items():
        found[name] = value
    return found


def _of(fibers, u, a, length, velocity):
    return muscle_power(fibers[0], u, a, length, velocity)


def _curves(length, velocity, shape):
    return force_length(length, shape[0], shape[1]), force_velocity(velocity, shape[2])


power_of, curves = compiled_once(_of), compiled_once(_curves)


def power(u, a, length=1.0, velocity=0.0, **changes):
    """Power [W] at a length [optimal lengths] and a velocity [optimal lengths/s]."""
    return power_of(fiber(**changes), u, a, 0.2 + 0.1 * length, 0.1 * velocity)


def test_isometric_by_hand():
    # 1.5 (128 / 2 + 25) W/kg of 0.1 kg
    assert power(1.0, 1.0) == pytest.approx(13.35)
    assert power(1.0, 1.0, slow=1.0) == pytest.approx(3.75)
    assert power(0.5, 0.5) == pytest.approx(13.35 * 0.5**0.6)
    # while the stimulation is below the activation, their mean counts
    assert power(0.0, 0.5) == pytest.approx(13.35 * 0.25**0.6)
    assert power(0.5, 0.0) == pytest.approx(13.35 * 0.5**0.6)


def test_shortening_by_hand():
    # slow: 100 / 4 a length per second, fast: 153 / 10; at 2 lengths a second
    heat = 1.5 * (89.0 + 0.5 * 50.0 + 0.5 * 30.6) * 0.1
    work = 1000.0 * (1.0 - 0.2) ** 2 * 0.2
    assert power(1.0, 1.0, velocity=-2.0) == pytest.approx(heat + work)
    # slow fibers take no more than 100 W/kg
    heat = 1.5 * (89.0 + 0.5 * 100.0 + 0.5 * 15.3 * 8.0) * 0.1
    work = 1000.0 * (1.0 - 0.8) ** 2 * 0.8
    assert power(1.0, 1.0, velocity=-8.0) == pytest.approx(heat + work)
    half = 1.5 * (89.0 * 0.5**0.6 + 0.25 * 40.3) * 0.1 + 0.5 * 1000.0 * 0.64 * 0.2
    assert power(0.5, 0.5, velocity=-2.0) == pytest.approx(half)


def test_only_the_share_of_the_fibers_in_shortening_is_their_work():
    heat = power(1.0, 1.0, velocity=-2.0) - 1000.0 * 0.64 * 0.2
    assert power(1.0, 1.0, velocity=-2.0, share=0.4) == pytest.approx(heat + 0.4 * 128.0)


def test_lengthening_by_hand_gives_no_work_back():
    heat = 1.5 * (89.0 + 0.3 * 25.0 * 2.0) * 0.1
    assert power(1.0, 1.0, velocity=2.0) == pytest.approx(heat)
    assert power(1.0, 1.0, velocity=2.0) > power(1.0, 1.0)


def test_stretched_by_hand():
    # at 1.3 optimal lengths half of the force is left
    assert curves(1.3, 0.0, (0.5, 1.6, 1.4))[0] == pytest.approx(0.5)
    heat = 1.5 * (89.0 * 0.7 + 0.5 * 40.3) * 0.1
    work = 0.5 * 1000.0 * 0.64 * 0.2
    assert power(1.0, 1.0, length=1.3, velocity=-2.0) == pytest.approx(heat + work)


states = st.tuples(
    st.floats(-0.5, 1.5), st.floats(0.0, 1.0), st.floats(0.2, 2.0), st.floats(-30.0, 30.0)
)


@given(state=states, slow=st.floats(0.0, 1.0))
def test_no_heat_is_negative_and_power_scales_with_the_muscle(state, slow):
    once = power(*state, slow=slow)
    assert once >= 0.1 * (1.0 - 1e-12)
    twice = power(*state, slow=slow, strength=2000.0, mass=0.2)
    assert twice == pytest.approx(2.0 * once, rel=1e-9)


@given(a=st.floats(0.0, 1.0), b=st.floats(0.0, 1.0), velocity=st.floats(-9.0, 9.0))
def test_more_activation_takes_more(a, b, velocity):
    low, high = sorted((a, b))
    assert power(low, low, velocity=velocity) <= power(high, high, velocity=velocity) + 1e-12


@pytest.mark.parametrize("lengthening", [1.2, 1.8])
def test_the_curves_are_those_of_mujoco(lengthening):
    parameters = np.array([0.75, 1.05, 1000.0, 200.0, 0.45, 1.7, 8.0, 1.3, lengthening, 0.0])
    span = np.array([0.275, 0.305])  # a tendon of 0.2 m and fibers of 0.1 m
    for length in np.linspace(0.3, 1.9, 17):
        for velocity in np.linspace(-1.2, 1.2, 13):
            gain = mujoco.mju_muscleGain(
                0.2 + 0.1 * length, 0.8 * velocity, span, 1.0, parameters[:9]
            )
            shape = (0.45, 1.7, lengthening)
            ours = np.prod(curves(length, velocity, shape))
            assert -1000.0 * ours == pytest.approx(gain, abs=1e-6)


def test_fibers_of_a_model():
    walker = Walker.load("planar22")
    fibers = dict(zip(walker.muscle_names, muscle_fibers(walker), strict=True))
    soleus = fibers["soleus_l"]
    assert soleus["slow"] == metabolic_table()["slow"]["SOL"] == 0.8
    # the model's muscle is that of the unit, of which the fibers are a share
    length = soleus["share"] * soleus["optimal"]
    mass = 1059.7 * soleus["strength"] / 600000.0 * length
    assert soleus["mass"] == pytest.approx(mass) and 0.3 < mass < 0.8
    assert length == pytest.approx(0.044 * np.cos(np.deg2rad(25.0)), rel=1e-3)
    assert fibers["soleus_r"] == soleus and fibers["vasti_r"]["mass"] > soleus["mass"]
    legs = sum(one["mass"] for one in fibers.values())
    # legs are a third of the body, and a good third of a leg is muscle that the plane has use for
    assert 0.11 * walker.mass < legs < 0.19 * walker.mass


def test_energy_grows_along_a_walk_and_is_a_term(compat_simulation, tutorial_vector):
    simulation = compat_simulation(6.0)
    records = simulation.run(tutorial_vector)
    energy = records.column("metabolic")[0, :600]
    least = 0.01 * muscle_fibers(simulation.walker)["mass"].sum()
    assert (np.diff(energy) >= least * (1.0 - 1e-9)).all()
    objective = WalkObjective({"metabolic": 10.0}, strides=3)
    found = objective.costs(records, simulation.walker.anatomy, 6.0)
    terms = {name: float(value[0]) for name, value in found.terms.items()}
    assert terms["metabolic_rate"] == pytest.approx(terms["metabolic"] * terms["speed"], rel=1e-3)
    assert found.total[0] == pytest.approx(10.0 * terms["metabolic"])
    # people take 3 to 4 J/(kg m); this walk stiffens knees and hips, with fibers twice as long
    assert 8.0 < terms["metabolic"] < 20.0


def test_energy_does_not_depend_on_the_rate_of_the_controller():
    walker, totals = Walker.load("planar22"), []
    for period in (0.01, walker.model.opt.timestep):
        settings = WalkSettings(duration=0.5, delayed=False, period=period, threads=1)
        simulation = WalkSimulation(walker, settings)
        records = simulation.run(simulation.parameters.start)
        totals.append(records.column("metabolic")[0, int(records.length[0]) - 1])
    assert totals[0] == pytest.approx(totals[1], rel=0.1)
