"""Modules of an export, run against stand-ins with the signatures of the simulators."""

import importlib.util
import sys
from types import ModuleType, SimpleNamespace

import mujoco
import numpy as np
import pytest
import torch
from pendulum import MODEL

from trueup.randomise import export_randomisation

PREFIX = "robot/"


def _load(path, monkeypatch=None, **modules):
    for name, content in modules.items():
        module = ModuleType(name)
        module.__dict__.update(content)
        assert monkeypatch is not None
        monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _exported(run, folder, form):
    made = export_randomisation(run, folder, form, draws=48)
    return made, made.files[-1]


def _scene_model():
    """The pendulum as a simulator attaches it: names with the entity's before them."""
    text = MODEL.format(armature=0.1, damping=0.2, mass=0.5)
    for kind in ("arm", "hinge", "motor"):
        text = text.replace(f'"{kind}"', f'"{PREFIX}{kind}"')
    return mujoco.MjModel.from_xml_string(text)


def _mjlab():
    def requires_model_fields(*fields, recompute):
        def mark(function):
            function.model_fields, function.recompute = fields, recompute
            return function

        return mark

    levels = SimpleNamespace(none="none", set_const_0="set_const_0", set_const="set_const")
    return {
        "mjlab": {},
        "mjlab.managers": {},
        "mjlab.managers.event_manager": {
            "EventTermCfg": lambda func, mode: SimpleNamespace(func=func, mode=mode),
            "RecomputeLevel": levels,
            "requires_model_fields": requires_model_fields,
        },
        "mjlab.managers.scene_entity_config": {
            "SceneEntityCfg": lambda name: SimpleNamespace(name=name)
        },
    }


def test_the_event_of_mjlab_gives_each_environment_a_whole_row(pendulum_run, tmp_path, monkeypatch):
    made, path = _exported(pendulum_run, tmp_path / "out", "mjlab")
    module = _load(path, monkeypatch, **_mjlab())
    event = module.EVENTS["identified_parameters"]
    assert event.mode == "startup"
    assert set(event.func.model_fields) == {"dof_armature", "dof_damping", "body_mass"}
    assert event.func.recompute == "set_const"
    model, environments = _scene_model(), 100
    fields = {
        name: torch.as_tensor(np.tile(getattr(model, name), (environments, 1))).float()
        for name in event.func.model_fields
    }
    robot = SimpleNamespace(
        joint_names=("hinge",), data=SimpleNamespace(encoder_bias=torch.zeros(environments, 1))
    )
    env = SimpleNamespace(
        num_envs=environments,
        device="cpu",
        sim=SimpleNamespace(mj_model=model, model=SimpleNamespace(**fields)),
        scene={"robot": robot},
    )
    event.func(env, None)
    rows = made.draws.values[np.arange(environments) % 48]
    np.testing.assert_allclose(fields["dof_armature"][:, 0], rows[:, 0], rtol=1e-6)
    np.testing.assert_allclose(fields["dof_damping"][:, 0], rows[:, 1], rtol=1e-6)
    np.testing.assert_allclose(fields["body_mass"][:, 1], rows[:, 2], rtol=1e-6)
    np.testing.assert_allclose(robot.data.encoder_bias[:, 0], rows[:, 3], rtol=1e-6)
    fields["dof_armature"][:] = 0.0
    event.func(env, torch.tensor([5, 60]))  # some environments alone
    changed = fields["dof_armature"][:, 0].nonzero().flatten().tolist()
    assert changed == [5, 60]
    env.sim.mj_model = mujoco.MjModel.from_xml_string("<mujoco/>")
    with pytest.raises(ValueError, match="the scene has no joint 'robot/hinge'"):
        event.func(env, None)


def test_the_event_of_isaac_lab_writes_joints_and_bodies(pendulum_run, tmp_path):
    made, path = _exported(pendulum_run, tmp_path / "out", "isaac-lab")
    module = _load(path)
    written = {}
    masses = torch.ones(60, 2)

    def joint(name):
        def write(values, joint_ids, env_ids):
            written[name] = (values.numpy(), joint_ids, env_ids.numpy())

        return write

    view = SimpleNamespace(
        get_masses=lambda: masses,
        get_inertias=lambda: torch.zeros(60, 2, 9),
        get_coms=lambda: torch.zeros(60, 2, 7),
        set_masses=lambda values, ids: written.__setitem__("masses", values),
        set_inertias=lambda values, ids: None,
        set_coms=lambda values, ids: None,
    )
    asset = SimpleNamespace(
        joint_names=["hinge"], body_names=["base", "arm"], device="cpu", root_physx_view=view
    )
    for method in (
        "write_joint_armature_to_sim",
        "write_joint_friction_coefficient_to_sim",
        "write_joint_viscous_friction_coefficient_to_sim",
    ):
        setattr(asset, method, joint(method))

    class Scene(dict):
        num_envs = 60

    env = SimpleNamespace(scene=Scene(robot=asset))
    module.identified_parameters(env, None, SimpleNamespace(name="robot"))
    rows = made.draws.values[np.arange(60) % 48]
    values, joints, environments = written["write_joint_armature_to_sim"]
    np.testing.assert_allclose(values[:, 0], rows[:, 0], rtol=1e-6)
    assert joints == [0]
    assert len(environments) == 60
    values = written["write_joint_viscous_friction_coefficient_to_sim"][0]
    np.testing.assert_allclose(values[:, 0], rows[:, 1], rtol=1e-6)
    np.testing.assert_allclose(written["masses"][:, 1], rows[:, 2], rtol=1e-6)
    assert (written["masses"][:, 0] == 1.0).all()
    assert any("bias of angle" in line for line in made.description["not_taken"])
    with pytest.raises(ValueError, match=r"no joint 'hinge'; it has \['knee'\]"):
        asset.joint_names = ["knee"]
        module.identified_parameters(env, None, SimpleNamespace(name="robot"))


def test_fields_for_playground_equal_models_that_each_row_is_written_into(pendulum_run, tmp_path):
    made, path = _exported(pendulum_run, tmp_path / "out", "playground")
    module = _load(path)
    model = mujoco.MjModel.from_xml_string(MODEL.format(armature=0.1, damping=0.2, mass=0.5))
    fields = module.fields_of(model, 50)
    assert model.dof_armature[0] == 0.1  # the model that was given is as it was
    for i in (0, 7, 49):
        armature, damping, mass, _ = made.draws.values[i % 48]
        own = mujoco.MjModel.from_xml_string(MODEL.format(armature=armature, damping=damping,
                                                          mass=mass))  # fmt: skip
        for name, values in fields.items():
            np.testing.assert_allclose(values[i], getattr(own, name), rtol=1e-9, err_msg=name)
    assert {"dof_armature", "dof_damping", "body_mass", "dof_invweight0"} <= set(fields)


def test_modules_name_no_path_and_no_trueup(pendulum_run, tmp_path):
    for simulator in ("mjlab", "isaac-lab", "playground"):
        made, path = _exported(pendulum_run, tmp_path / simulator, simulator)
        text = path.read_text()
        assert str(tmp_path) not in text
        assert "import trueup" not in text
        compile(text, path.name, "exec")
        assert f"i % {len(made.draws.values)}" in text
