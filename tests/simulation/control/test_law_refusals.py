"""A law, a model or a gain that does not fit is refused with a reason."""

import mujoco
import numpy as np
import pytest
from control_law_models import (
    commands,
    friction,
    from_acceleration,
    make_batch,
    pendulum_spec,
    pid,
)

from trueup.errors import LawError
from trueup.simulation.control import add_command_channels, control_law, installed, prepare_spec


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ({"joints": ["hing"], "actuators": ["motor"]}, "no joint 'hing'.*Did you mean 'hinge'"),
        ({"joints": ["hinge"], "actuators": ["m"]}, "no actuator 'm'; available: 'motor'"),
        ({"joints": ["hinge"]}, "no such targets"),
        (
            {"joints": ["hinge", "hinge"], "actuators": ["motor"]},
            "joints contains duplicates: 'hinge'",
        ),
        (
            {"joints": ["hinge"], "actuators": ["motor"], "period_steps": 0},
            "period_steps must be a positive integer, found 0",
        ),
    ],
)
def test_targets(targets, message):
    with pytest.raises(LawError, match=message):
        prepare_spec(pendulum_spec(), pid.on(**targets))


def test_ball_joints_are_refused():
    spec = mujoco.MjSpec.from_string(
        "<mujoco><worldbody><body><joint name='ball' type='ball'/><geom size='1'/></body>"
        "</worldbody></mujoco>"
    )
    with pytest.raises(LawError, match="'ball' is a ball or a free joint"):
        prepare_spec(spec, friction.on(joints=["ball"]))


def test_spec_is_prepared_once_and_left_alone(pid_law):
    spec = pendulum_spec()
    before = spec.to_xml()
    prepared = prepare_spec(spec, pid_law)
    assert spec.to_xml() == before
    with pytest.raises(LawError, match="prepared for a control law"):
        prepare_spec(prepared, pid_law)
    spec.nuserdata = 3
    with pytest.raises(LawError, match="uses userdata"):
        prepare_spec(spec, pid_law)


def test_targets_follow_a_change_of_the_prepared_spec(pid_law):
    prepared = prepare_spec(pendulum_spec(), pid_law)
    first = prepared.worldbody.first_body()
    extra = first.add_body(name="extra")
    extra.add_geom(size=[0.1, 0, 0])
    joint = extra.add_joint(name="another")
    joint.type = mujoco.mjtJoint.mjJNT_SLIDE
    model = prepared.compile()
    data = mujoco.MjData(model)
    pid_law.start(data, {"kp": 3.0, "kd": 0.0})
    with installed(pid_law, data):
        data.qpos[model.joint("hinge").qposadr] = 0.25
        mujoco.mj_step(model, data)
    assert data.ctrl[0] == pytest.approx(-3.0 * 0.25 - 0.25e-3)


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ({"kp": 1.0}, "missing: 'kd'"),
        ({"kp": 1.0, "kd": 1.0, "kpp": 1.0}, "no gains 'kpp'.*Did you mean 'kp'"),
        ({"kp": [1.0, 2.0], "kd": 1.0}, r"shape \(2,\).*\(3, 1\)"),
        ({"kp": [1.0, np.nan, 2.0], "kd": 1.0}, "not finite"),
    ],
)
def test_gains(pid_law, pid_model, gains, message):
    batch = make_batch(pid_model, 3)
    with pytest.raises(LawError, match=message):
        pid_law.start(batch, gains)
    assert not batch.bind("userdata").any()


def test_derived_law_needs_a_persistent_batch():
    law = from_acceleration.on(joints=["hinge"], sensors=["acceleration"])
    model = prepare_spec(pendulum_spec(), law).compile()
    batch = make_batch(model, 2)
    with pytest.raises(LawError, match="persistent=True"):
        law.start(batch, {"gain": 1.0})
    with pytest.raises(LawError, match="persistent=True"), installed(law, batch):
        pass
    with pytest.raises(LawError, match="cannot start automatically, because of 'sensors'"):
        prepare_spec(pendulum_spec(), law, gains={"gain": 1.0})


def test_write_to_a_shared_model_is_refused():
    law = friction.on(joints=["hinge"])
    model = prepare_spec(pendulum_spec(), law).compile()
    batch = make_batch(model, 2)
    with pytest.raises(LawError, match=r"batch\.expand\('dof_frictionloss'\)"):
        law.start(batch, {"friction": 0.1})
    batch.expand("dof_frictionloss")
    law.start(batch, {"friction": 0.1})
    batch = make_batch(model, 2)
    batch.set_models([model, model])
    with pytest.raises(LawError, match="share"):
        law.start(batch, {"friction": 0.1})
    batch.set_models([prepare_spec(pendulum_spec(), law).compile() for _ in range(2)])
    law.start(batch, {"friction": 0.1})


def declared(writes=("ctrl",), **options):
    return control_law(writes=writes, **options)


def test_unknown_argument_is_refused_with_a_suggestion():
    @declared()
    def law(qpoz, ctrl_out):
        ctrl_out[0] = qpoz[0]

    with pytest.raises(LawError, match=r"'qpoz' is not a field.*Did you mean 'qpos'"):
        law.on(actuators=["motor"]).law.callback  # noqa: B018


def test_arena_fields_are_refused():
    @declared()
    def law(efc_force, ctrl_out):
        ctrl_out[0] = efc_force[0]

    with pytest.raises(LawError, match="'efc_force' is in the arena"):
        law.arguments  # noqa: B018


@pytest.mark.parametrize("field", ["qpos", "body_mass", "dof_armature", "geom_rgba", "nothing"])
def test_fields_that_cannot_be_written(field):
    def law(ctrl_out):
        ctrl_out[0] = 0.0

    with pytest.raises(LawError, match=f"cannot write '{field}'"):
        declared(writes=[field])(law).arguments  # noqa: B018


def test_output_without_an_argument_is_refused():
    @declared(writes=["ctrl", "qfrc_applied"])
    def law(ctrl_out):
        ctrl_out[0] = 0.0

    with pytest.raises(LawError, match="no argument 'qfrc_applied_out'"):
        law.arguments  # noqa: B018


@pytest.mark.parametrize("argument", ["qpos", "dof_frictionloss", "gains"])
def test_write_to_what_is_only_read_does_not_compile(argument):
    if argument == "gains":

        @declared(gains=["k"])
        def law(gains, ctrl_out):
            gains.k[0] = 1.0
            ctrl_out[0] = 0.0
    elif argument == "qpos":

        @declared()
        def law(qpos, ctrl_out):
            qpos[0] = 1.0
            ctrl_out[0] = 0.0
    else:

        @declared()
        def law(dof_frictionloss, ctrl_out):
            dof_frictionloss[0] = 1.0
            ctrl_out[0] = 0.0

    with pytest.raises(LawError, match=r"'law' does not compile: .*readonly"):
        law.callback  # noqa: B018


def test_law_that_numba_cannot_compile_says_why():
    @declared()
    def law(ctrl_out):
        ctrl_out[0] = undefined_name  # noqa: F821

    with pytest.raises(LawError, match="undefined_name"):
        law.callback  # noqa: B018


@pytest.mark.parametrize(
    "options",
    [
        {"gains": {"k": 0}},
        {"gains": {"k": "joints"}},
        {"state": {"a__b": 1}},
        {"state": {"_a": 1}},
        {"failures": {0: "fine"}},
        {"writes": ()},
    ],
)
def test_malformed_declarations(options):
    with pytest.raises(LawError):
        declared(**options)(lambda ctrl_out: None)


def test_command_channel_keeps_the_command():
    spec = add_command_channels(pendulum_spec(), ["motor"])
    law = pid.on(joints=["hinge"], actuators=["motor"], commands=["motor_command"])
    model = prepare_spec(spec, law).compile()
    data, once = mujoco.MjData(model), mujoco.MjData(model)
    for each in (data, once):
        law.start(each, {"kp": 4.0, "kd": 0.2})
    once.ctrl[1] = 0.4
    with installed(law):
        for _ in range(50):
            data.ctrl[:] = (0.0, 0.4)
            mujoco.mj_step(model, data)
            mujoco.mj_step(model, once)
    assert once.qpos[0] == data.qpos[0] != 0.0
    assert once.ctrl[1] == 0.4
    assert once.actuator_force[0] == once.ctrl[0] != 0.0
    assert once.actuator_force[1] == 0.0
    with pytest.raises(LawError, match="no actuator 'm'"):
        add_command_channels(spec, ["m"])
    with pytest.raises(LawError, match="already"):
        add_command_channels(spec, ["motor"])


def test_law_needs_a_batch_or_data(pid_law, pid_model):
    with pytest.raises(LawError, match=r"Batch or in a mujoco\.MjData"):
        pid_law.start(pid_model, {"kp": 1.0, "kd": 1.0})
    with pytest.raises(LawError, match="ids are supported for a batch only"):
        pid_law.start(mujoco.MjData(pid_model), {"kp": 1.0, "kd": 1.0}, ids=[0])
    assert commands(1, 2).shape == (1, 2, 1)
