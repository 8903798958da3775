"""Parameter files: what was saved is back, ready to be applied and fitted."""

import mujoco
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trueup.errors import ParameterError
from trueup.parameters import InertiaType, Parameter, ParameterDict, Prior
from trueup.sysid.model_modifier import apply_param_modifiers, body_inertia_param

_NUMBER = st.floats(allow_nan=False, allow_infinity=False, width=64)
_NAME = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=12
)


@st.composite
def _parameters(draw):
    made = ParameterDict()
    names = draw(st.lists(_NAME, min_size=1, max_size=4, unique=True))
    for name in names:
        shape = draw(st.sampled_from([(1,), (3,), (2, 2)]))
        size = int(np.prod(shape))
        log = draw(st.booleans())
        number = st.floats(1e-300, 1e300) if log else _NUMBER
        value = np.array(draw(st.lists(number, min_size=size, max_size=size))).reshape(shape)
        low = value * draw(st.sampled_from([0.5, 1.0])) if log else np.full(shape, -np.inf)
        param = Parameter(
            name,
            value,
            np.minimum(low, value),
            np.inf,
            frozen=draw(st.booleans()),
            target=draw(st.sampled_from([None, "joint/a/armature", ("x/y/z", "u/v/w/0")])),
            scale="log" if log else "linear",
            prior=draw(st.sampled_from([None, Prior(0.1, 2.5)])),
            unit=draw(_NAME),
            description=draw(_NAME),
            deviation=draw(st.sampled_from([None, 0.1, np.full(shape, 0.3)])),
        )
        param.update_from_vector(draw(st.lists(_NUMBER, min_size=size, max_size=size)))
        made.add(param)
    return made


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(made=_parameters())
def test_everything_comes_back_to_the_last_bit(made, tmp_path):
    path = tmp_path / "p.yaml"
    made.save_to_disk(path)
    back = ParameterDict.load_from_disk(path)
    assert list(back) == list(made)
    assert back.to_records() == made.to_records()
    for a, b in zip(made.values(), back.values(), strict=True):
        np.testing.assert_array_equal(a.value, b.value)
        np.testing.assert_array_equal(a.nominal, b.nominal)
        np.testing.assert_array_equal(a.deviation, b.deviation)
        np.testing.assert_array_equal(a.min_value, b.min_value)
        np.testing.assert_array_equal(a.max_value, b.max_value)
        assert (a.shape, a.frozen, a.targets, a.scale) == (b.shape, b.frozen, b.targets, b.scale)
        assert (a.prior, a.unit, a.description) == (b.prior, b.unit, b.description)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=st.text(max_size=60))
def test_any_text_is_read_or_refused_clearly(text, tmp_path):
    path = tmp_path / "p.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        ParameterDict.load_from_disk(path)
    except ParameterError as error:
        assert str(path) in str(error)


_XML = """<mujoco><worldbody><body name="rod"><joint name="j" axis="0 1 0" damping=".1"/>
<geom name="g" type="capsule" size=".02" fromto="0 0 0 .1 0 -.5" mass="1"/></body></worldbody>
</mujoco>"""


def _full():
    spec = mujoco.MjSpec.from_string(_XML)
    made = ParameterDict()
    made.add(Parameter("d", 0.1, 0.0, 1.0, target="joint/j/damping", scale="linear"))
    made.add(Parameter("f", 0.1, 0.0, 1.0, target="joint/j/frictionloss", tied_to="d"))
    made.add(Parameter("a", 0.02, 0.001, 1.0, target="joint/j/armature", scale="log", frozen=True))
    made.add(body_inertia_param(spec, spec.copy().compile(), "rod", InertiaType.Pseudo))
    vector = made.as_vector()
    vector[0] = 0.4
    vector[2] += 0.05
    made.update_from_vector(vector)
    return spec, made


def test_a_loaded_file_can_be_applied_at_once(tmp_path):
    spec, made = _full()
    made.save_to_disk(tmp_path / "p.yaml")
    back = ParameterDict.load_from_disk(tmp_path / "p.yaml")
    built, again = (apply_param_modifiers(p, spec.copy()) for p in (made, back))
    for field in ("dof_damping", "dof_frictionloss", "dof_armature"):
        np.testing.assert_array_equal(getattr(built, field), getattr(again, field))
    assert again.dof_frictionloss[0] == 0.4
    for field in ("body_mass", "body_ipos", "body_inertia", "body_iquat"):
        np.testing.assert_allclose(getattr(built, field), getattr(again, field), rtol=1e-12)


@pytest.mark.parametrize("kind", InertiaType)
def test_every_inertia_comes_back(tmp_path, kind):
    spec = mujoco.MjSpec.from_string(_XML)
    made = ParameterDict()
    made.add(
        body_inertia_param(
            spec, spec.copy().compile(), "rod", kind, scale_rot_inertia=kind is InertiaType.Mass
        )
    )
    made.save_to_disk(tmp_path / "p.yaml")
    back = ParameterDict.load_from_disk(tmp_path / "p.yaml")
    (a,), (b,) = made.values(), back.values()
    assert (a.inertia_type, a.inertia_body, a.scale_rot_inertia) == (
        b.inertia_type,
        b.inertia_body,
        b.scale_rot_inertia,
    )
    moved = made.as_vector() * 1.01
    made.update_from_vector(moved)
    back.update_from_vector(moved)
    built, again = (apply_param_modifiers(p, spec.copy()) for p in (made, back))
    np.testing.assert_allclose(built.body_inertia, again.body_inertia, rtol=1e-12)


def test_a_lost_modifier_is_said_and_can_be_given_again(tmp_path):
    made = ParameterDict()
    made.add(
        Parameter("k", 2.0, 0.0, 5.0, modifier=lambda s, p: setattr(s, "modelname", str(p.value)))
    )
    path = tmp_path / "p.yaml"
    made.save_to_disk(path)
    back = ParameterDict.load_from_disk(path)
    with pytest.raises(ParameterError, match="modifiers="):
        back["k"].apply_modifier(mujoco.MjSpec())
    back.save_to_disk(path)  # it is still known to be lost
    seen = []
    given = ParameterDict.load_from_disk(path, {"k": lambda spec, p: seen.append(p.value[0])})
    given["k"].apply_modifier(None)
    assert seen == [2.0]
    with pytest.raises(ParameterError, match=r"missing in .*p\.yaml: 'q'; it contains 'k'"):
        ParameterDict.load_from_disk(path, {"q": print})


def test_an_own_modifier_of_an_inertia_is_not_replaced_by_the_usual_one(tmp_path):
    spec = mujoco.MjSpec.from_string(_XML)
    made = ParameterDict()
    made.add(
        body_inertia_param(
            spec, spec.copy().compile(), "rod", InertiaType.Mass, modifier=lambda s, p: None
        )
    )
    made.save_to_disk(tmp_path / "p.yaml")
    back = ParameterDict.load_from_disk(tmp_path / "p.yaml")
    with pytest.raises(ParameterError, match="modifiers="):
        apply_param_modifiers(back, spec.copy())


_GOOD = "p: {nominal: 1.0, min_value: 0.0, max_value: 2.0%s}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1, 2]", "not a parameter file"),
        ("p: 3", "not a parameter file"),
        ("", "not a parameter file"),
        ("p: {nominal: 1.0}", "lacks 'min_value', 'max_value'"),
        (_GOOD % ", targt: a/b/c", "Did you mean 'target'"),
        (_GOOD % ", scale: cubic", "unknown scale 'cubic'; available: linear"),
        (_GOOD % ", value: [1, 2]", "1 elements, the vector has 2"),
        (_GOOD % ", value: .nan", "not finite"),
        (_GOOD % ", prior: {mean: 1}", "cannot be read"),
        (_GOOD % ", inertia: {type: Heavy, body: b}", "cannot be read"),
        ("p: {nominal: 3.0, min_value: 0.0, max_value: 2.0}", "outside the bounds"),
        ("p: {nominal: x, min_value: 0.0, max_value: 2.0}", "cannot be read"),
        ("p: {nominal: 1: 2", "not a YAML file"),
        ("p: !!python/object/apply:os.system [ls]", "not a YAML file"),
        ("p: 2020-99-99", "not a YAML file"),
    ],
)
def test_files_that_are_wrong_are_refused(tmp_path, text, words):
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(ParameterError) as info:
        ParameterDict.load_from_disk(path)
    assert words in str(info.value) and "p.yaml" in str(info.value)


def test_missing_files_and_folders_are_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"no such parameter file: .*none\.yaml"):
        ParameterDict.load_from_disk(tmp_path / "none.yaml")
    with pytest.raises(ParameterError, match="folder"):
        ParameterDict.load_from_disk(tmp_path)
