"""Differences between MuJoCo and MuJoCo Warp that would be silent, found before a search."""

import mujoco
import numpy as np
import pytest
from warp_models import LEG, RECORD, collected, leg, needs_warp, segment

from trueup.errors import SimulationError
from trueup.simulation.targets.resolution import FieldWrite
from trueup.simulation.warp.devices import find_device
from trueup.simulation.warp.engine import WarpEngine
from trueup.simulation.warp.model_support import refuse


def _engine(model, steps=25):
    device = find_device("warp-cpu")
    return WarpEngine(model, [segment(model, steps)], RECORD, 1, device=device)


@needs_warp
def test_a_device_that_moves_otherwise_is_found():
    """As a feature would that MuJoCo Warp reads otherwise: here another damping."""
    engine = _engine(leg())
    engine._put.dof_damping.fill_(3.0)
    with pytest.raises(SimulationError, match=r"moves 'hip' differently than MuJoCo: .* apart"):
        collected(engine, 1)


@needs_warp
def test_a_constant_that_a_parameter_changes_for_all_worlds_is_found():
    """Density switches the drag of a fluid on, which a device's model does once for all."""
    model = leg()
    write = FieldWrite("opt.density", np.array([0]), np.array([0]))
    with pytest.raises(SimulationError, match=r"a parameter changes has_fluid, which .* once"):
        collected(_engine(model), 2, [(write, np.array([[1.2], [2.0]]))])


@needs_warp
def test_what_is_fixed_to_the_world_does_not_move_on_a_device():
    model = leg()
    floor = model.geom("floor").id
    write = FieldWrite("geom_pos", np.array([3 * floor + 2]), np.array([0]))
    with pytest.raises(SimulationError, match=r"cannot move the geom 'floor'.*device: cpu"):
        collected(_engine(model), 2, [(write, np.array([[-0.72], [-0.6]]))])


@needs_warp
def test_a_field_that_all_worlds_share_is_named():
    model = leg()
    write = FieldWrite("geom_solmix", np.array([0]), np.array([0]))
    list(_engine(model).run(1, [(write, np.array([[2.0]]))]))  # one of each world
    shared = FieldWrite("actuator_damping", np.array([0]), np.array([0]))
    with pytest.raises(SimulationError, match=r"one 'actuator_damping' for all candidates"):
        collected(_engine(model), 1, [(shared, np.array([[0.5]]))])


@needs_warp
def test_a_field_that_is_not_recorded_is_named():
    model = leg()
    device = find_device("warp-cpu")
    with pytest.raises(SimulationError, match="does not record 'ncon' of MjData"):
        collected(WarpEngine(model, [segment(model, 3)], ("ncon",), 1, device=device), 1)


def _changed(before, after):
    text = LEG.format(integrator="implicitfast", option="", floor=-0.72, sensor="")
    assert before in text
    return mujoco.MjModel.from_xml_string(text.replace(before, after))


def test_features_that_warp_lacks_are_named_by_the_words_of_the_file():
    knee = '<position name="knee" joint="knee" kp="15" kv="0.4" timeconst="0.02"/>'
    pid = '<pid name="knee" joint="knee" kp="15" ki="1"/>'
    own = '<general name="knee" joint="knee" gaintype="user"/>'
    flag = '<option timestep="0.002"><flag autoreset="disable"/></option><option '
    cases = [
        (_changed(knee, pid), r"controller of the actuator 'knee' \(type pid\)"),
        (_changed(knee, own), r"user-defined law of the actuator 'knee'"),
        (leg(option='solver="PGS"'), "solver PGS"),
        (_changed("<option ", flag), "autoreset"),
    ]
    for model, words in cases:
        with pytest.raises(SimulationError, match=words + ".*; device: cpu simulates it"):
            refuse(model)
    refuse(leg())


def test_a_control_law_in_a_callback_is_refused():
    model = leg()
    mujoco.set_mjcb_control(lambda model, data: None)
    try:
        with pytest.raises(SimulationError, match="callbacks"):
            refuse(model)
    finally:
        mujoco.set_mjcb_control(None)


@needs_warp
def test_what_warp_itself_refuses_is_one_sentence():
    with pytest.raises(SimulationError, match=r"cannot simulate this model: noslip .*cpu"):
        _engine(leg("discrete", 'noslip_iterations="2"'))
