"""Targets: every attribute found, written and verified; the traps refused."""

import mujoco
import numpy as np
import pytest
from simulation_models import DELAYED, PENDULUM, everything

from trueup.errors import ModelError, TargetError
from trueup.parameters import Parameter, ParameterDict
from trueup.simulation.engine.batch import BatchEngine, Segment
from trueup.simulation.targets.actuator_targets import find_attribute
from trueup.simulation.targets.attributes import ATTRIBUTES, COUNTS, OBJECT_TYPES, OPTIONS
from trueup.simulation.targets.resolution import resolve
from trueup.simulation.targets.variants import ModelVariants

# elements of the model with everything on which each attribute acts without a recompile
_ELEMENTS = {
    "joint": {
        "armature": ["slide", "hinge", "ball", "free"],
        "frictionloss": ["slide", "hinge", "ball", "free"],
        "damping": ["slide", "hinge", "ball", "free"],
        "dampingpoly": ["slide", "hinge"],
        "stiffness": ["slide", "hinge"],
        "stiffnesspoly": ["slide", "hinge"],
        "springref": ["slide", "hinge"],
        "ref": ["slide", "hinge"],
        "pos": ["hinge", "ball"],
        "range": ["slide", "hinge", "ball"],  # of the ball joint the second number
        "solref_limit": ["hinge"],
        "solimp_limit": ["hinge"],
        "solref_friction": ["hinge", "ball", "free"],
        "solimp_friction": ["hinge", "ball", "free"],
        "actfrcrange": ["slide"],
        "actfrclimit": ["slide"],
    },
    "body": {
        "mass": ["cart", "arm", "block"],
        "inertia": ["cart", "arm", "block"],
        "ipos": ["cart", "arm", "block"],
        "pos": ["cart", "arm"],
        "gravcomp": ["cart", "arm", "block"],
    },
    "geom": {
        "friction": ["block"],
        "size": ["floor"],
        "pos": ["arm"],
        "solref": ["block"],
        "solimp": ["block"],
        "margin": ["block"],
        "gap": ["block"],
    },
    "actuator": {
        "gear": ["servo", "filter", "motor"],
        "gainprm": ["filter", "motor"],
        "biasprm": ["filter"],
        "dynprm": ["filter"],
        "armature": ["motor"],
        "damping": ["motor"],
        "ctrlrange": ["servo"],
        "forcerange": ["servo"],
        "forcelimit": ["servo"],
        "delay": ["servo"],
    },
    "sensor": {"delay": ["angle"], "cutoff": ["speed"]},
    "tendon": {
        key: ["cable"]
        for key in ("stiffness", "damping", "frictionloss", "armature", "springlength")
    },
    "site": {"pos": ["tip"]},
    "pair": {key: ["puck_floor"] for key in ("friction", "solref", "solimp", "margin", "gap")},
    "equality": {key: ["coupling", "pull"] for key in ("data", "solref", "solimp")},
}
_TARGETS = [
    f"{kind}/{name}/{attribute}"
    for kind, attributes in _ELEMENTS.items()
    for attribute, names in attributes.items()
    for name in names
]


def _present(model: mujoco.MjModel, target: str) -> np.ndarray:
    """Value that the model has at a target."""
    kind, name, attribute_name = target.split("/")
    element = mujoco.mj_name2id(model, OBJECT_TYPES[kind], name)
    attribute = find_attribute(target, model, kind, element, attribute_name)
    part = attribute.parts[0]
    field = getattr(model, part.field).reshape(-1)
    values = field[part.locate(model, element)] / part.factor
    return values[: 1 if attribute.shared else attribute.width or values.size]


def _parameters(target: str, value, spread: float = 0.5) -> ParameterDict:
    value = np.atleast_1d(value)
    reach = spread * np.abs(value) + (value == 0) * 0.01
    lower = np.where(value >= 0, np.maximum(value - reach, 0), value - reach)
    return ParameterDict({"p": Parameter("p", value, lower, value + reach, target=target)})


def test_the_list_of_targets_holds_every_attribute():
    assert {k: set(v) for k, v in _ELEMENTS.items()} == {k: set(v) for k, v in ATTRIBUTES.items()}
    assert set(COUNTS) == set(OBJECT_TYPES) == set(ATTRIBUTES)


@pytest.fixture(scope="module")
def specs():
    """The model with everything in both units, and compiled."""
    out = {}
    for angle in ("radian", "degree"):
        spec = mujoco.MjSpec.from_string(everything(angle))
        out[angle] = spec, spec.copy().compile()
    return out


@pytest.mark.parametrize("angle", ["radian", "degree"])
@pytest.mark.parametrize("target", _TARGETS)
def test_every_attribute_is_resolved_and_verified(specs, target, angle):
    """Construction compares fields and motion with a recompile; here the numbers are checked."""
    spec, model = specs[angle]
    before = spec.to_xml()
    # the compiler wants the lower limit of a ball joint to be zero
    place = slice(1, 2) if target == "joint/ball/range" else slice(None)
    value = _present(model, target)[place]
    # moments within wider bounds could be those of no body
    spread = 0.05 if target.endswith("/inertia") else 0.5
    parameters = _parameters(target + ("/1" if place.start else ""), value, spread)
    variants = ModelVariants(spec, parameters)
    lower, upper = parameters.get_bounds()
    for x in (value, lower + 0.6 * (upper - lower)):
        found = _present(variants.model_at(x), target)[place]
        np.testing.assert_allclose(found, x, rtol=1e-12, atol=1e-15)
    assert spec.to_xml() == before


_BY_HAND = [
    ("joint/slide/armature", 'armature=".05"', 'armature="{}"', 0.09),
    ("joint/hinge/springref", 'springref="{springref}"', 'springref="{}"', 0.45),
    ("joint/hinge/ref", 'frictionloss=".02"/>', 'frictionloss=".02" ref="{}"/>', 0.2),
    ("joint/hinge/range/1", 'range="{range}"', 'range="-1.2 {}"', 0.02),
    ("joint/slide/damping", 'damping=".2"', 'damping="{}"', 0.8),
    ("joint/slide/dampingpoly/0", 'damping=".2"', 'damping=".2 {}"', 0.6),
    ("actuator/servo/kp", 'kp="8"', 'kp="{}"', 5.5),
    ("actuator/servo/kv", 'kv=".4"', 'kv="{}"', 0.9),
    ("actuator/servo/delay", 'delay=".006"', 'delay="{}"', 0.011),
    ("actuator/filter/dynprm/0", 'dynprm=".05"', 'dynprm="{}"', 0.11),
    ("sensor/angle/delay", 'delay=".004"', 'delay="{}"', 0.013),
    ("sensor/speed/cutoff", 'cutoff="3"', 'cutoff="{}"', 0.2),
    ("tendon/cable/stiffness", 'stiffness="3"', 'stiffness="{}"', 30.0),
    ("site/tip/pos/1", 'pos="0 .01 .4"', 'pos="0 {} .4"', 0.07),
    ("equality/coupling/data/1", 'polycoef="0 .3 0 0 0"', 'polycoef="0 {} 0 0 0"', 0.1),
    ("pair/puck_floor/friction/0", 'friction=".8 .8 .01', 'friction="{} .8 .01', 0.1),
]


def _drive(model: mujoco.MjModel, steps: int = 300) -> Segment:
    rng = np.random.default_rng(0)
    start = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    data = mujoco.MjData(model)
    data.qvel[:] = 0.3 * rng.normal(size=model.nv)
    mujoco.mj_getState(model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    controls = np.repeat(rng.normal(size=(steps // 10, model.nu)), 10, axis=0)
    return Segment(0.0, start, controls)


def _run(model, writes=(), start_of=None) -> np.ndarray:
    segment = _drive(model if start_of is None else start_of)
    engine = BatchEngine(model, [segment], ("qpos", "qvel", "sensordata"), n_threads=1)
    blocks = list(engine.run(1, writes))
    return np.concatenate(
        [np.concatenate([b.records[f][0, 0] for b in blocks]).ravel() for f in engine.record]
    )


@pytest.mark.parametrize(("target", "old", "new", "value"), _BY_HAND)
@pytest.mark.parametrize("angle", ["radian", "degree"])
def test_a_target_does_what_the_edited_mjcf_does(specs, target, old, new, value, angle):
    spec, model = specs[angle]
    scale = 57.29577951308232 if angle == "degree" else 1.0
    text = everything(angle)
    marks = {"{range}": f"{-1.2 * scale} {1.5 * scale}", "{springref}": f"{0.3 * scale}"}
    for mark, number in marks.items():
        old = old.replace(mark, number)
    inside = value * (scale if target.endswith("ref") or "range" in target else 1.0)
    new = new.replace("-1.2", str(-1.2 * scale)).format(inside)
    assert text.count(old) == 1
    edited = mujoco.MjModel.from_xml_string(text.replace(old, new))
    pieces = target.split("/")
    start = _present(model, "/".join(pieces[:3]))[int(pieces[3]) if len(pieces) > 3 else 0]
    low, high = sorted((float(start), float(value)))
    parameters = ParameterDict({"p": Parameter("p", start, low, high, target=target)})
    variants = ModelVariants(spec, parameters)
    found = _run(variants.model, variants.field_writes(np.array([[value]])))
    np.testing.assert_allclose(found, _run(edited, start_of=model), rtol=1e-9, atol=1e-10)
    assert np.abs(found - _run(model)).max() > 1e-7  # the target acts


@pytest.mark.parametrize("name", [n for n in OPTIONS if not n.startswith("o_")])
def test_options(specs, name):
    spec, model = specs["radian"]
    value = np.atleast_1d(getattr(model.opt, name)).astype(float) + 0.1
    variants = ModelVariants(spec, _parameters(f"option/{name}", value))
    built = variants.model_at(value)
    np.testing.assert_allclose(np.atleast_1d(getattr(built.opt, name)), value)
    if OPTIONS[name] > 1:
        ModelVariants(spec, _parameters(f"option/{name}/1", value[1]))


@pytest.mark.parametrize("name", [n for n in OPTIONS if n.startswith("o_")])
def test_contact_overrides_need_their_flag(specs, name):
    spec, model = specs["radian"]
    value = np.atleast_1d(getattr(model.opt, name)).astype(float)
    with pytest.raises(TargetError, match="no effect"):
        ModelVariants(spec, _parameters(f"option/{name}", value))
    on = mujoco.MjSpec.from_string(everything().replace("disable", "enable"))
    ModelVariants(on, _parameters(f"option/{name}", value))


# --- traps ---------------------------------------------------------------------------------------


def _refused(xml: str, target: str, value=0.5, **bounds):
    parameters = _parameters(target, value)
    for key, bound in bounds.items():
        setattr(parameters["p"], key, np.atleast_1d(float(bound)))
    with pytest.raises(TargetError) as info:
        ModelVariants(mujoco.MjSpec.from_string(xml), parameters)
    return str(info.value)


def test_a_delay_without_history_buffer_is_refused():
    assert "history buffer" in _refused(PENDULUM, "actuator/motor/delay", 0.01)
    assert "history buffer" in _refused(PENDULUM, "sensor/angle/delay", 0.01)


def test_limits_that_are_off_are_refused():
    assert 'limited="true"' in _refused(PENDULUM, "joint/pivot/range", [-1.0, 1.0])
    assert "no effect" in _refused(PENDULUM, "joint/pivot/solref_limit", [0.02, 1.0])
    assert "no effect" in _refused(PENDULUM, "joint/pivot/actfrcrange", [-1.0, 1.0])
    assert "no effect" in _refused(PENDULUM, "actuator/motor/ctrlrange", [-1.0, 1.0])
    assert "no effect" in _refused(PENDULUM, "actuator/motor/forcerange", [-1.0, 1.0])


def test_gains_of_an_actuator_without_feedback_are_refused():
    for gain in ("kp", "kv"):
        message = _refused(PENDULUM, f"actuator/motor/{gain}")
        assert "'motor' is of the type 'motor'" in message and "gainprm/0" in message


def test_a_delay_longer_than_its_buffer_is_refused():
    """The compiler sizes the buffer; a batch cannot."""
    message = _refused(DELAYED, "actuator/motor/delay", 0.013, min_value=0.0, max_value=9.0)
    assert "10 samples of 0.002 s are 0.02 s" in message
    assert "history buffer" in _refused(DELAYED, "sensor/angle/delay", 0.0094, max_value=0.021)


def test_geometry_that_the_inertia_follows_is_refused():
    assert "modifier" in _refused(PENDULUM, "geom/rod/size/0", 0.02)


def test_the_size_of_a_mesh_is_refused():
    message = _refused(everything(), "geom/stone/size/0", 0.05)
    assert "modifier" in message


def test_the_inertia_of_a_simple_body_is_identified_all_the_same():
    """A body compiled as simple would fail the whole batch."""
    spec = mujoco.MjSpec.from_string(everything())
    model = spec.copy().compile()
    assert model.body("block").simple[0] or model.body_simple[model.body("block").id]
    parameters = _parameters("body/block/ipos", [0.0, 0.0, 0.0])
    variants = ModelVariants(spec, parameters)
    failures: dict[int, str] = {}
    X = np.array([[0.001, 0.002, 0.003], [0.0, 0.0, 0.0]])
    engine = BatchEngine(variants.model, [_drive(variants.model, 40)], ("qpos",))
    list(engine.run(2, variants.field_writes(X), failures=failures))
    assert not failures


def test_a_slender_inertia_can_be_verified():
    """Moments of a thin rod leave the compiler little room."""
    spec = mujoco.MjSpec.from_string(
        """<mujoco><worldbody><body name="rod"><joint type="hinge" axis="0 1 0"/>
        <inertial pos="0 0 .5" mass="1" diaginertia=".1 .1 .00001"/></body></worldbody></mujoco>"""
    )
    parameters = ParameterDict()
    start = np.array([0.1, 0.1, 1e-5])
    lower, upper = start * [1.0, 1.0, 0.9], start * [1.00005, 1.00005, 1.2]
    parameters.add(Parameter("i", start, lower, upper, target="body/rod/inertia"))
    ModelVariants(spec, parameters)


BLOCK = """<mujoco><worldbody><body name="block"><joint type="hinge" axis="0 1 0"/>
  <inertial pos="0 0 .5" mass="1" diaginertia=".1 .11 .12"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("lower", "upper"), [(0.05, 0.3), (0.005, 0.15), (0.001, np.inf), (0.099, 0.2101)]
)
def test_bounds_that_allow_an_inertia_no_body_has_are_refused(lower, upper):
    parameters = ParameterDict()
    parameters.add(Parameter("i", 0.1, lower, upper, target="body/block/inertia/0"))
    possible = lower > 0.01 and upper < 0.23
    if possible:
        ModelVariants(mujoco.MjSpec.from_string(BLOCK), parameters)
        return
    with pytest.raises(TargetError, match=r"'i'.*of body 'block'.*inertia_type: pseudo"):
        ModelVariants(mujoco.MjSpec.from_string(BLOCK), parameters)


def test_one_value_for_all_moments_may_be_anything():
    targets = [f"body/block/inertia/{axis}" for axis in range(3)]
    one = Parameter("i", 0.1, 1e-3, 10.0, target=targets)
    ModelVariants(mujoco.MjSpec.from_string(BLOCK), ParameterDict({"i": one}))
    tied = ParameterDict({"i": Parameter("i", 0.1, 1e-3, 10.0, target=targets[:2])})
    tied.add(Parameter("j", 0.1, 0.0, 1.0, target=targets[2], tied_to="i"))
    ModelVariants(mujoco.MjSpec.from_string(BLOCK), tied)


def test_a_log_range_of_many_decades_is_verified_near_the_start():
    spec = mujoco.MjSpec.from_string(PENDULUM)
    p = Parameter("d", 0.05, 1e-9, 1e9, target="joint/pivot/damping", scale="log")
    ModelVariants(spec, ParameterDict({"d": p}))


# --- names, wildcards, sizes ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(specs):
    return specs["radian"][1]


def test_one_value_for_all_matches_or_one_each(model):
    same = resolve("actuator/*/armature", model, 1, np.zeros(1))
    assert [f.entries.tolist() for f in same.fields] == [[0], [1], [2]]
    assert [f.source.tolist() for f in same.fields] == [[0]] * 3
    each = resolve("actuator/*/armature", model, 3, np.zeros(3))
    assert [f.source.tolist() for f in each.fields] == [[0], [1], [2]]
    wide = resolve("body/[ca]*/ipos", model, 3, np.zeros(3))
    assert [f.source.tolist() for f in wide.fields] == [[0, 1, 2]] * 2
    both = resolve("body/[ca]*/ipos", model, 6, np.zeros(6))
    assert [f.source.tolist() for f in both.fields] == [[0, 1, 2], [3, 4, 5]]
    assert resolve("body/*/mass", model, 1, np.ones(1)).bodies == (
        "cart", "arm", "bob", "block", "stone", "puck",
    )  # fmt: skip


def test_a_ball_joint_takes_one_value_for_its_three_degrees_of_freedom(model):
    found = resolve("joint/ball/armature", model, 1, np.zeros(1)).fields[0]
    assert found.entries.tolist() == [2, 3, 4]
    assert found.source.tolist() == [0, 0, 0]
    pair = resolve("joint/ball/solref_friction", model, 2, np.zeros(2)).fields[0]
    assert pair.entries.tolist() == [4, 5, 6, 7, 8, 9]
    assert pair.source.tolist() == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("target", "size", "words"),
    [
        ("joints/hinge/armature", 1, ["Did you mean 'joint'"]),
        ("joint/hinje/armature", 1, ["no joint 'hinje'", "Did you mean 'hinge'"]),
        ("joint/x*/armature", 1, ["no joint 'x*'", "'slide'"]),
        ("joint/hinge/armatur", 1, ["no attribute", "Did you mean 'armature'"]),
        ("joint/hinge", 1, ["kind/name/attribute"]),
        ("joint", 1, ["kind/name/attribute"]),
        ("", 1, ["unknown kind ''"]),
        ("geom/block/friction/3", 1, ["index 3 is out of range for 3 values"]),
        ("geom/block/friction", 1, ["has 3 values", "add an index"]),
        ("geom/block/friction", 2, ["has 3 values", "the parameter has 2"]),
        ("actuator/*/armature", 2, ["has 3 values", "the parameter has 2"]),
        ("joint/hinge/armature/1", 1, ["is a scalar; remove the index"]),
        ("joint/ball/solref_friction/2", 1, ["index 2 is out of range for 2 values"]),
        ("option/gravty/2", 1, ["Did you mean 'gravity'"]),
        ("option/gravity/3", 1, ["0..2"]),
        ("option/gravity", 2, ["has 3 values, the parameter has 2"]),
        ("option", 1, ["options are"]),
        ("state/hinge/speed", 1, ["state/<joint>/qpos"]),
        ("state/hing/qpos", 1, ["Did you mean 'hinge'"]),
        ("state/ball/qvel/3", 1, ["out of range for 3 values"]),
        ("state/ball/qvel", 1, ["has 3 values, the parameter has 1"]),
        ("state/*/qvel", 1, ["matches 6 elements", "requires exactly one"]),
    ],
)
def test_wrong_targets_say_what_exists(model, target, size, words):
    with pytest.raises(TargetError) as info:
        resolve(target, model, size, np.full(size, 0.1))
    for word in words:
        assert word in str(info.value)


def test_a_state_of_a_sequence_whose_name_holds_slashes(model):
    found = resolve("state/ball/qvel/2@day 1/run@2", model, 1, np.zeros(1)).fields[0]
    assert found.sequence == "day 1/run@2"
    assert found.entries.tolist() == [4]
    assert resolve("state/filter/act", model, 1, np.zeros(1)).fields[0].field == "state.act"


@pytest.mark.parametrize(
    ("target", "value", "lower"),
    [
        ("body/cart/mass", 1.0, 0.0),
        ("body/cart/mass", 1.0, -1.0),
        ("joint/hinge/armature", 0.1, -0.01),
        ("joint/hinge/frictionloss", 0.1, -0.01),
        ("actuator/servo/delay", 0.006, -0.001),
        ("geom/block/friction/0", 1.0, -0.5),
    ],
)
def test_bounds_that_are_not_physical_are_refused(target, value, lower):
    message = _refused(everything(), target, value, min_value=lower)
    assert "not physical" in message


def test_two_parameters_for_one_number_are_refused(specs):
    spec = specs["radian"][0]
    parameters = ParameterDict()
    parameters.add(Parameter("all", 0.01, 0.0, 1.0, target="joint/*/armature"))
    parameters.add(Parameter("one", 0.01, 0.0, 1.0, target="joint/hinge/armature"))
    with pytest.raises(TargetError, match="'all' and 'one' both write dof_armature"):
        ModelVariants(spec, parameters)


def test_a_tie_writes_the_same_value_to_another_place():
    spec = mujoco.MjSpec.from_string(everything())
    parameters = ParameterDict()
    parameters.add(Parameter("a", 0.01, 0.0, 1.0, target="joint/hinge/armature"))
    parameters.add(Parameter("b", 0.5, 0.0, 1.0, target="joint/slide/armature", tied_to="a"))
    parameters.apply_ties()
    built = ModelVariants(spec, parameters).model_at(np.array([0.25]))
    assert built.joint("hinge").armature[0] == built.joint("slide").armature[0] == 0.25


def test_a_frozen_parameter_is_applied():
    spec = mujoco.MjSpec.from_string(PENDULUM)
    parameters = ParameterDict()
    parameters.add(Parameter("m", 2.5, 1.0, 5.0, frozen=True, target="body/rod/mass"))
    parameters.add(Parameter("d", 0.1, 0.0, 1.0, target="joint/pivot/damping"))
    variants = ModelVariants(spec, parameters)
    engine = BatchEngine(variants.model, [_drive(variants.model, 20)], ("qpos",))
    list(engine.run(1, variants.field_writes(np.array([[0.3]]))))
    assert engine.model_of(0).body("rod").mass[0] == 2.5
    assert variants.model_at(np.array([0.3])).body("rod").mass[0] == 2.5


def test_names_with_slashes_of_attached_models():
    outer = mujoco.MjSpec.from_string(
        '<mujoco><worldbody><body name="base"><geom size=".1" contype="0"/></body></worldbody>'
        "</mujoco>"
    )
    inner = mujoco.MjSpec.from_string(PENDULUM)
    outer.attach(inner, prefix="left/", frame=outer.body("base").add_frame())
    parameters = ParameterDict()
    parameters.add(Parameter("d", 0.05, 0.0, 1.0, target="joint/left/pivot/damping"))
    parameters.add(Parameter("m", 1.0, 0.5, 2.0, target="body/left/rod/mass"))
    parameters.add(Parameter("g", [1, 0, 0, 0, 0, 0], -2, 2, target="actuator/left/motor/gear"))
    built = ModelVariants(outer, parameters).model_at(np.array([0.2, 0.7, 2, 0, 0, 0, 0, 0]))
    assert built.joint("left/pivot").damping[0] == 0.2
    assert built.body("left/rod").mass[0] == 0.7


def test_a_spec_that_does_not_compile_is_said():
    spec = mujoco.MjSpec()
    spec.worldbody.add_body(name="b").add_joint(name="j")
    with pytest.raises(ModelError, match="does not compile"):
        ModelVariants(spec, ParameterDict())


def test_without_set_const_a_mass_would_be_silently_wrong():
    """The weight of a body enters constants that only set_const computes again."""
    model = mujoco.MjModel.from_xml_string(everything())
    spec = mujoco.MjSpec.from_string(everything())
    parameters = _parameters("body/cart/mass", 1.5)
    variants = ModelVariants(spec, parameters)
    engine = BatchEngine(variants.model, [_drive(model, 20)], ("qpos",))
    list(engine.run(1, variants.field_writes(np.array([[2.2]]))))
    written, plain = engine.model_of(0), variants.model
    assert np.abs(written.dof_invweight0 - plain.dof_invweight0).max() > 1e-3
    np.testing.assert_allclose(
        written.dof_invweight0, variants.model_at(np.array([2.2])).dof_invweight0, rtol=1e-12
    )


def test_a_scalar_written_by_a_modifier_reaches_the_polynomial():
    """``joint.damping`` is three numbers in a spec; a modifier may say one."""
    spec = mujoco.MjSpec.from_string(PENDULUM)

    def modifier(s, p):
        s.joint("pivot").damping = p.value[0]

    parameters = ParameterDict({"d": Parameter("d", 0.1, 0.0, 1.0, modifier=modifier)})
    assert ModelVariants(spec, parameters).model_at(np.array([0.4])).dof_damping[0] == 0.4


def test_one_parameter_may_have_several_targets():
    spec = mujoco.MjSpec.from_string(everything())
    targets = ("tendon/cable/springlength/0", "tendon/cable/springlength/1")
    parameters = ParameterDict({"l": Parameter("l", 0.1, 0.0, 0.4, target=targets)})
    built = ModelVariants(spec, parameters).model_at(np.array([0.3]))
    np.testing.assert_array_equal(built.tendon_lengthspring, [[0.3, 0.3]])


def test_a_delay_that_moves_in_steps_cannot_be_fitted():
    """A held history moves alike for all delays within a step: no slope, false certainty."""
    xml = (
        '<mujoco><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>'
        '<actuator><motor name="m" joint="j" nsample="20" delay="0.01"{}/></actuator></mujoco>'
    )
    lower, upper = np.array([0.0]), np.array([0.02])
    held = mujoco.MjModel.from_xml_string(xml.format(""))
    with pytest.raises(TargetError, match='interp="linear"'):
        resolve("actuator/m/delay", held, 1, lower, upper)
    resolve("actuator/m/delay", held, 1, np.array([0.01]), np.array([0.01]))  # not fitted
    smooth = mujoco.MjModel.from_xml_string(xml.format(' interp="linear"'))
    resolve("actuator/m/delay", smooth, 1, lower, upper)
