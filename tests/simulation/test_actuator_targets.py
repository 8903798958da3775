"""Targets of actuators by their type: named as in MJCF, verified, or refused with the right one."""

import mujoco
import numpy as np
import pytest

from trueup.errors import ModelError, TargetError
from trueup.parameters import Parameter, ParameterDict
from trueup.simulation.models.file import write_model
from trueup.simulation.targets.actuator_targets import ACTUATOR_TARGETS, find_attribute
from trueup.simulation.targets.actuator_types import (
    ACTUATOR_TYPES,
    actuator_type,
    command_quantity,
    effort_gain,
    element_type,
    has_static_law,
    holds_position,
    stiffness,
    velocity_gain,
)
from trueup.simulation.targets.variants import ModelVariants

_ON = 'name="a" joint="j"'
_MOTOR = 'motorconst="0.05" resistance="2"'

_ELEMENTS = {
    "general": f'<general {_ON} biastype="affine" gainprm="0.02" biasprm="0 -5 -1"/>',
    "motor": f"<motor {_ON}/>",
    "position": f'<position {_ON} kp="11" kv="2" timeconst="0.03"/>',
    "velocity": f'<velocity {_ON} kv="3"/>',
    "intvelocity": f'<intvelocity {_ON} kp="7" kv="2" actrange="-1 1"/>',
    "damper": f'<damper {_ON} kv="3" ctrlrange="0 1"/>',
    "cylinder": f'<cylinder {_ON} timeconst="0.2" area="3" bias="0.4 -5 -6"/>',
    "muscle": f'<muscle {_ON} lengthrange="-1 1" force="33" tausmooth="0.3"/>',
    "adhesion": '<adhesion name="a" body="arm" gain="3" ctrlrange="0 1"/>',
    "pid": f'<pid {_ON} kp="20" ki="12" kv="0.5" imax="2" slewmax="9" input="pos"/>',
    "orientation": '<orientation name="a" joint="ball" kp="5" kv="2"/>',
    "dcmotor": (
        f'<dcmotor {_ON} {_MOTOR} inductance="0.001 0" saturation="0 0 900" cogging="0.01 7 0.5" '
        'input="pos" controller="3 1 0.2 5 6 7" thermal="2 30 0 0.004 25 20" '
        'lugre="50 0.2 0.03 0.05 0.1"/>'
    ),
    "plugin": f'<plugin {_ON} plugin="mujoco.pid"><config key="kp" value="3"/></plugin>',
}
"""An actuator of each type, with every optional part that has a state."""

_ALLOWED = {
    "general": "",
    "motor": "",
    "position": "kp kv timeconst",
    "velocity": "kv",
    "intvelocity": "kp kv",
    "damper": "kv",
    "cylinder": "timeconst area bias",
    "muscle": "timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax",
    "adhesion": "gain",
    "pid": "kp ki kv kd imax slewmax",
    "orientation": "kp kv",
    "dcmotor": (
        "resistance motorconst timeconst current_rate kp ki kd slewmax imax vmax "
        "cogging_amplitude cogging_poles cogging_phase thermal_resistance thermal_capacitance "
        "thermal_tempcoef thermal_reftemp thermal_ambient lugre_stiffness lugre_damping "
        "lugre_coulomb lugre_static lugre_stribeck"
    ),
    "plugin": "",
}

_REFUSED = [
    ("general", "kp", "-biasprm/1 its stiffness"),
    ("general", "kv", "-biasprm/2 its damping"),
    ("motor", "kp", "gainprm/0"),
    ("motor", "kv", "those of its joint"),
    ("position", "kd", "kv"),
    ("position", "dampratio", "the target is kv"),
    ("position", "ki", "Available: 'kp', 'kv', 'timeconst'"),
    ("velocity", "kp", "its one gain is kv"),
    ("intvelocity", "timeconst", "Available: 'kp', 'kv'"),
    ("damper", "kp", "its one gain is kv"),
    ("cylinder", "kp", "bias/1"),
    ("cylinder", "diameter", "the target is area"),
    ("muscle", "kp", "force"),
    ("adhesion", "kv", "gain"),
    ("pid", "dampratio", "the target is kv"),
    ("pid", "resistance", "Available: 'kp', 'ki', 'kv', 'kd', 'imax', 'slewmax'"),
    ("orientation", "kd", "kv"),
    ("dcmotor", "kv", "kd"),
    ("dcmotor", "nominal", "motorconst and resistance"),
    ("dcmotor", "inductance", "timeconst"),
    ("dcmotor", "saturation", "forcelimit"),
    ("dcmotor", "controller", "kp, ki, kd"),
    ("dcmotor", "cogging", "'cogging_amplitude', 'cogging_poles', 'cogging_phase'"),
    ("dcmotor", "lugre", "lugre_stiffness"),
    ("plugin", "kp", "its plugin"),
    ("pid", "kpp", "Did you mean 'kp'"),
]


def _spec(actuator: str):
    return mujoco.MjSpec.from_string(
        f"""
        <mujoco>
          <extension><plugin plugin="mujoco.pid"/></extension>
          <compiler angle="radian"/><option timestep="0.001" integrator="implicitfast"/>
          <worldbody>
            <body name="arm">
              <joint name="j" axis="0 1 0" armature="0.02" damping="0.1"/>
              <geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.02" mass="0.5"/>
            </body>
            <body name="head" pos="0 0 1">
              <joint name="ball" type="ball"/><geom size="0.1" mass="1"/>
            </body>
          </worldbody>
          <actuator>{actuator}</actuator>
        </mujoco>"""
    )


def _unknown(target: str, value, reach: float = 0.5) -> ParameterDict:
    value = np.atleast_1d(np.asarray(value, float))
    lower, upper = value - reach * abs(value), value + reach * abs(value)
    return ParameterDict({"p": Parameter("p", value, lower, upper, target=target)})


def _present(model: mujoco.MjModel, name: str) -> np.ndarray:
    attribute = find_attribute(f"actuator/a/{name}", model, "actuator", 0, name)
    part = attribute.parts[0]
    return getattr(model, part.field).reshape(-1)[part.locate(model, 0)] / part.factor


def _elements_of_schema() -> set[str]:
    """Actuator elements that the MJCF of the installed MuJoCo has."""
    lines = mujoco.mj_printSchema(False, False).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("   actuator (*)"))
    found = set()
    for line in lines[start + 1 :]:
        if line[:6].strip():
            return found
        if line[6:7].strip():
            found.add(line.split()[0])
    raise AssertionError("the schema ends within its actuators")


def test_the_table_covers_every_actuator_of_the_installed_mujoco():
    members = {m.removeprefix("mjACTUATOR_").lower() for m in mujoco.mjtActuator.__members__}
    setters = {m.removeprefix("set_to_") for m in dir(mujoco.MjsActuator) if m.startswith("set_to")}
    known = set(ACTUATOR_TYPES)
    assert members | setters | _elements_of_schema() == known
    assert known == set(ACTUATOR_TARGETS) == set(_ELEMENTS) == set(_ALLOWED)
    assert {k: " ".join(v) for k, v in ACTUATOR_TARGETS.items()} == _ALLOWED
    assert {kind for kind, *_ in _REFUSED} == known


@pytest.mark.parametrize("kind", ACTUATOR_TYPES)
def test_a_type_is_found_in_model_spec_and_written_file(kind, tmp_path):
    spec = _spec(_ELEMENTS[kind])
    assert actuator_type(spec.compile(), 0) == element_type(spec.actuators[0]) == kind
    write_model(spec, tmp_path / "m.xml")  # MuJoCo writes every actuator as a general one
    assert actuator_type(mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml")), 0) == kind


def _numbers(kind: str):
    return [(kind, name) for name in _ALLOWED[kind].split()]


@pytest.mark.parametrize(("kind", "name"), [pair for k in ACTUATOR_TYPES for pair in _numbers(k)])
def test_a_named_target_is_verified_written_and_read_back(kind, name, tmp_path):
    element = _ELEMENTS[kind]
    if name == "scale":  # acts on a muscle without a force
        element = element.replace('force="33"', "")
    spec = _spec(element)
    model = spec.compile()
    start = _present(model, name)
    # construction compares the batch with a recompiled model
    variants = ModelVariants(spec, _unknown(f"actuator/a/{name}", start))
    value = 1.3 * start
    changed = variants.model_at(value)
    np.testing.assert_allclose(_present(changed, name), value, rtol=1e-12)
    # nothing else moves
    reset = variants.model_at(start)
    for field in ("gainprm", "biasprm", "dynprm"):
        before = getattr(model, f"actuator_{field}")
        np.testing.assert_array_equal(getattr(reset, f"actuator_{field}"), before)
        moved = set(np.flatnonzero((getattr(changed, f"actuator_{field}") != before)[0]).tolist())
        attribute = ACTUATOR_TARGETS[kind][name]
        own = {
            int(k)
            for part in attribute.parts
            if part.field == f"actuator_{field}"
            for k in part.locate(model, 0)
        }
        assert moved == own
    write_model(variants.spec_at(value), tmp_path / "m.xml")
    read = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    for field in ("gainprm", "biasprm", "dynprm"):
        wanted = getattr(changed, f"actuator_{field}")
        np.testing.assert_allclose(getattr(read, f"actuator_{field}"), wanted, rtol=1e-12)


# what MuJoCo's own compiler makes of each attribute: the reference of the table
_MJCF = [
    ("position", "kp", 'kp="11"', 'kp="{}"'),
    ("position", "kv", 'kv="2"', 'kv="{}"'),
    ("position", "timeconst", 'timeconst="0.03"', 'timeconst="{}"'),
    ("velocity", "kv", 'kv="3"', 'kv="{}"'),
    ("intvelocity", "kp", 'kp="7"', 'kp="{}"'),
    ("intvelocity", "kv", 'kv="2"', 'kv="{}"'),
    ("damper", "kv", 'kv="3"', 'kv="{}"'),
    ("cylinder", "timeconst", 'timeconst="0.2"', 'timeconst="{}"'),
    ("cylinder", "area", 'area="3"', 'area="{}"'),
    ("cylinder", "bias/1", "0.4 -5 -6", "0.4 {} -6"),
    ("muscle", "force", 'force="33"', 'force="{}"'),
    ("muscle", "tausmooth", 'tausmooth="0.3"', 'tausmooth="{}"'),
    ("muscle", "timeconst/1", 'force="33"', 'force="33" timeconst="0.01 {}"'),
    ("muscle", "range/0", 'force="33"', 'force="33" range="{} 1.05"'),
    *(
        ("muscle", name, 'force="33"', f'force="33" {name}="{{}}"')
        for name in ("lmin", "lmax", "vmax", "fpmax", "fvmax")
    ),
    ("adhesion", "gain", 'gain="3"', 'gain="{}"'),
    ("pid", "kp", 'kp="20"', 'kp="{}"'),
    ("pid", "ki", 'ki="12"', 'ki="{}"'),
    ("pid", "kv", 'kv="0.5"', 'kv="{}"'),
    ("pid", "kd", 'kv="0.5"', 'kv="{}"'),
    ("pid", "imax", 'imax="2"', 'imax="{}"'),
    ("pid", "slewmax", 'slewmax="9"', 'slewmax="{}"'),
    ("orientation", "kp", 'kp="5"', 'kp="{}"'),
    ("orientation", "kv", 'kv="2"', 'kv="{}"'),
    ("dcmotor", "resistance", 'resistance="2" inductance="0.001 0"',
     'resistance="{}" inductance="0 0.0005"'),
    ("dcmotor", "motorconst", 'motorconst="0.05"', 'motorconst="{}"'),
    ("dcmotor", "timeconst", 'inductance="0.001 0"', 'inductance="0 {}"'),
    ("dcmotor", "current_rate", "0 0 900", "0 0 {}"),
    ("dcmotor", "kp", 'controller="3 1 0.2 5 6 7"', 'controller="{} 1 0.2 5 6 7"'),
    ("dcmotor", "ki", 'controller="3 1 0.2 5 6 7"', 'controller="3 {} 0.2 5 6 7"'),
    ("dcmotor", "kd", 'controller="3 1 0.2 5 6 7"', 'controller="3 1 {} 5 6 7"'),
    ("dcmotor", "slewmax", 'controller="3 1 0.2 5 6 7"', 'controller="3 1 0.2 {} 6 7"'),
    ("dcmotor", "imax", 'controller="3 1 0.2 5 6 7"', 'controller="3 1 0.2 5 {} 7"'),
    ("dcmotor", "vmax", 'controller="3 1 0.2 5 6 7"', 'controller="3 1 0.2 5 6 {}"'),
    ("dcmotor", "cogging_amplitude", "0.01 7 0.5", "{} 7 0.5"),
    ("dcmotor", "cogging_poles", "0.01 7 0.5", "0.01 {} 0.5"),
    ("dcmotor", "cogging_phase", "0.01 7 0.5", "0.01 7 {}"),
    ("dcmotor", "thermal_resistance", "2 30 0 0.004 25 20", "{} 30 0 0.004 25 20"),
    ("dcmotor", "thermal_capacitance", "2 30 0 0.004 25 20", "2 {} 0 0.004 25 20"),
    ("dcmotor", "thermal_tempcoef", "2 30 0 0.004 25 20", "2 30 0 {} 25 20"),
    ("dcmotor", "thermal_reftemp", "2 30 0 0.004 25 20", "2 30 0 0.004 {} 20"),
    ("dcmotor", "thermal_ambient", "2 30 0 0.004 25 20", "2 30 0 0.004 25 {}"),
    ("dcmotor", "lugre_stiffness", "50 0.2 0.03 0.05 0.1", "{} 0.2 0.03 0.05 0.1"),
    ("dcmotor", "lugre_damping", "50 0.2 0.03 0.05 0.1", "50 {} 0.03 0.05 0.1"),
    ("dcmotor", "lugre_coulomb", "50 0.2 0.03 0.05 0.1", "50 0.2 {} 0.05 0.1"),
    ("dcmotor", "lugre_static", "50 0.2 0.03 0.05 0.1", "50 0.2 0.03 {} 0.1"),
    ("dcmotor", "lugre_stribeck", "50 0.2 0.03 0.05 0.1", "50 0.2 0.03 0.05 {}"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "old", "new"), _MJCF)
def test_a_named_target_is_what_the_mjcf_calls_by_that_name(kind, name, old, new):
    spec, element = _spec(_ELEMENTS[kind]), _ELEMENTS[kind]
    assert element.count(old) == 1
    number, index = [*name.split("/"), "0"][:2]
    start = float(_present(spec.compile(), number)[int(index)])
    value = 1.2 * start
    variants = ModelVariants(spec, _unknown(f"actuator/a/{name}", start))
    found, wanted = variants.model_at([value]), _spec(element.replace(old, new.format(value)))
    expected = wanted.compile()
    for field in ("gainprm", "biasprm", "dynprm"):
        np.testing.assert_allclose(
            getattr(found, f"actuator_{field}"), getattr(expected, f"actuator_{field}"), rtol=1e-6
        )


@pytest.mark.parametrize(("kind", "name", "words"), _REFUSED)
def test_an_attribute_of_another_type_is_refused_with_the_right_one(kind, name, words):
    with pytest.raises(TargetError) as info:
        ModelVariants(_spec(_ELEMENTS[kind]), _unknown(f"actuator/a/{name}", 1.0))
    message = str(info.value)
    assert f"actuator 'a' is of the type {kind!r}" in message
    assert words in message


@pytest.mark.parametrize(
    ("element", "name", "words"),
    [
        (f'<pid {_ON} kp="20" input="pos"/>', "ki", "ki above 0"),
        (f'<pid {_ON} kp="20" input="pos"/>', "imax", "ki above 0"),
        (f'<pid {_ON} kp="20" ki="3" input="pos"/>', "slewmax", "slewmax above 0"),
        (f'<position {_ON} kp="20"/>', "timeconst", "timeconst above 0"),
        (_ELEMENTS["muscle"], "scale", "the target is force"),
        (f"<motor {_ON}/>", "biasprm/0", 'biastype="affine"'),
        (f"<motor {_ON}/>", "dynprm/0", "dyntype"),
        (f"<dcmotor {_ON} {_MOTOR}/>", "timeconst", "inductance"),
        (f"<dcmotor {_ON} {_MOTOR}/>", "lugre_coulomb", "lugre"),
        (f"<dcmotor {_ON} {_MOTOR}/>", "thermal_ambient", "thermal"),
        (f"<dcmotor {_ON} {_MOTOR}/>", "cogging_phase", "cogging"),
        (f'<dcmotor {_ON} {_MOTOR} input="pos" controller="3 0 0 0 0 0"/>', "ki", "ki above 0"),
    ],
)
def test_a_number_that_cannot_act_without_its_state_is_refused(element, name, words):
    with pytest.raises(TargetError, match="no effect") as info:
        ModelVariants(_spec(element), _unknown(f"actuator/a/{name}", 1.0))
    assert words in str(info.value)


def test_gains_of_a_controller_that_has_no_input_are_refused():
    with pytest.raises(ModelError, match="controller input"):
        ModelVariants(_spec(f"<dcmotor {_ON} {_MOTOR}/>"), _unknown("actuator/a/kp", 1.0))


def test_a_negative_damping_is_refused_because_it_would_be_read_as_a_ratio():
    parameters = ParameterDict({"p": Parameter("p", 0.5, -1.0, 2.0, target="actuator/a/kv")})
    with pytest.raises(TargetError, match="not physical"):
        ModelVariants(_spec(_ELEMENTS["pid"]), parameters)


@pytest.mark.parametrize("kind", ["position", "pid", "orientation", "intvelocity"])
def test_a_gain_whose_damping_is_a_ratio_says_what_to_write(kind):
    element = _ELEMENTS[kind].replace("kv=", "dampratio=")
    with pytest.raises(TargetError, match=r"dampratio of actuator 'a'.*kv=") as info:
        ModelVariants(_spec(element), _unknown("actuator/a/kp", 5.0))
    kv = -_spec(element).compile().actuator_biasprm[0, 2]
    assert f'kv="{kv:.6g}"' in str(info.value)
    # the gain itself can be a target, and the ratio is then gone
    ModelVariants(_spec(element), _unknown("actuator/a/kv", float(kv)))


def test_one_wildcard_target_goes_to_servos_of_several_types():
    elements = _ELEMENTS["pid"] + '<position name="b" joint="j" kp="20"/>'
    variants = ModelVariants(_spec(elements), _unknown("actuator/*/kp", 20.0))
    model = variants.model_at([25.0])
    np.testing.assert_array_equal(model.actuator_biasprm[:, 1], [-25.0, -25.0])
    np.testing.assert_array_equal(model.actuator_gainprm[:, 0], [12.0, 25.0])


def test_ranges_of_an_actuator_among_some_with_several_inputs_are_its_own():
    """Fields of controls and forces have rows for each of these, not for each actuator."""
    elements = (
        '<orientation name="head" joint="ball"/>'
        '<pid name="two" joint="j" kp="3" ctrlrange="-1 1" velrange="-2 2"/>'
        f'<motor {_ON} ctrlrange="-5 5" gear="2"/><motor name="z" joint="j" ctrlrange="-9 9"/>'
    )
    for target, value, row in (("ctrlrange", [-4.0, 6.0], 5), ("gear/0", [3.0], 4)):
        variants = ModelVariants(_spec(elements), _unknown(f"actuator/a/{target}", value))
        field = f"actuator_{target.split('/')[0]}"
        changed = getattr(variants.model_at(np.array(value)), field)
        before = getattr(_spec(elements).compile(), field)
        assert changed[row, 0] == value[0]
        assert np.flatnonzero((changed != before).any(axis=1)).tolist() == [row]


_LAWS = [
    (f"<motor {_ON}/>", "motor", "effort", True),
    (f'<general {_ON} gainprm="4"/>', "motor", "effort", True),
    # a constant offset, as models with recorded torques have it
    (f'<general {_ON} biastype="affine" biasprm="0.3 0 0"/>', "motor", "effort", True),
    (f'<general {_ON} gainprm="20" biastype="affine" biasprm="0 -20 -1"/>',
     "position", "position", True),
    (f'<general {_ON} gainprm="20" biastype="affine" biasprm="1 -20 0" dyntype="filter" '
     'dynprm="0.1"/>', "position", "position", False),
    # a gripper that is commanded from 0 to 255
    (f'<general {_ON} gainprm="0.0157" biastype="affine" biasprm="0 -100 -10"/>',
     "general", "position", True),
    # a motor with back-EMF; of a gain that equals its damping only the MJCF knows more
    (f'<general {_ON} biastype="affine" biasprm="0 0 -0.5"/>', "general", "effort", True),
    (f'<general {_ON} gainprm="2" biastype="affine" biasprm="0 0 -2"/>',
     "general", "velocity", True),
    (f'<general {_ON} gainprm="2" biastype="affine" biasprm="0 0 -2" input="vel"/>',
     "velocity", "velocity", True),
    (f'<general {_ON} gainprm="20" biastype="affine" biasprm="0 -10 -1" input="pos"/>',
     "general", "position", True),
    (f'<position {_ON} kp="0"/>', "position", "position", True),
    (f'<pid {_ON} kv="1" input="vel"/>', "pid", "velocity", False),
    (f'<pid {_ON} kp="1" input="ff"/>', "pid", "effort", False),
    (f"<dcmotor {_ON} {_MOTOR}/>", "dcmotor", "voltage", False),
    (f'<dcmotor {_ON} {_MOTOR} input="pos" controller="3 0 0.2 0 0 0"/>',
     "dcmotor", "position", False),
    (f'<general {_ON} gaintype="muscle" gainprm="0.7 1 9 9 0.5 1.6 1.5 1.3 1.2" '
     'lengthrange="-1 1"/>', "general", "effort", False),
    (f'<general {_ON} gaintype="affine" gainprm="1 2 3"/>', "general", "effort", False),
    (_ELEMENTS["plugin"], "plugin", "effort", False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        # stiffness, damping, effort of a unit, whether it holds a position
        ("general", (5.0, 1.0, None, False)),
        ("motor", (0.0, 0.0, 1.0, False)),
        ("position", (11.0, 2.0, None, True)),
        ("velocity", (0.0, 3.0, None, False)),
        ("intvelocity", (7.0, 2.0, None, False)),
        ("damper", (0.0, 0.0, None, False)),
        ("cylinder", (5.0, 6.0, 3.0, False)),
        ("muscle", (0.0, 0.0, None, False)),
        ("adhesion", (0.0, 0.0, 3.0, False)),
        ("pid", (20.0, 0.5, None, True)),
        ("orientation", (5.0, 2.0, None, False)),
        ("dcmotor", (3.0, 0.2, None, True)),
        ("plugin", (0.0, 0.0, None, False)),
    ],
)
def test_gains_of_a_law_are_read_by_its_type(kind, law):
    model = _spec(_ELEMENTS[kind]).compile()
    readers = (stiffness, velocity_gain, effort_gain, holds_position)
    assert tuple(read(model, 0) for read in readers) == law


@pytest.mark.parametrize(("element", "kind", "quantity", "static"), _LAWS)
def test_the_law_decides_not_the_element(element, kind, quantity, static):
    model = _spec(element).compile()
    assert actuator_type(model, 0) == kind
    assert command_quantity(model, 0) == quantity
    assert has_static_law(model, 0) == static
