"""Draws of a servo: each environment of a module moves as the servo of its row does alone."""

from types import SimpleNamespace

import numpy as np
import pytest
from distinct_servos import LAWS
from drawn_servos import ENVS, drawn, loaded
from exported_modules import DT, module_of

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("law", LAWS)
def test_environments_of_isaac_lab_have_the_torque_of_their_own_servo(law, monkeypatch, tmp_path):
    import simulator_stand_ins

    simulator_stand_ins.install_isaac_lab(monkeypatch)
    model, rows, alone = drawn(law)
    module = loaded("isaac-lab", model, rows, tmp_path)
    names = ["shoulder", "elbow"]

    def actuator_of(module, envs):
        cfg = module.ServoActuatorCfg(joint_names_expr=[".*"], physics_dt=DT, load_inertia=0.006)
        return cfg.class_type(cfg, names, slice(None), envs, "cpu")

    together = actuator_of(module, ENVS)
    written = {}
    asset = SimpleNamespace(
        device="cpu", joint_names=names, actuators={"arm": together},
        write_joint_armature_to_sim=lambda values, joint_ids, env_ids: written.update(
            {joint_ids[0]: values}
        ),
    )  # fmt: skip
    scene = type("Scene", (dict,), {"num_envs": ENVS})(robot=asset)
    env = SimpleNamespace(scene=scene)
    module.identified_servo(env, None, SimpleNamespace(name="robot"))
    column = rows.names.index("armature")
    armature = rows.values[np.arange(ENVS) % len(rows.values), column]
    assert sorted(written) == [0, 1]
    np.testing.assert_allclose(written[1][:, 0], armature, rtol=1e-6)
    own = [alone[i % len(alone)] for i in range(ENVS)]
    plain = [actuator_of(module_of(each, "isaac-lab-module"), 1) for each in own]
    rng = np.random.default_rng(0)
    reached = 0.0
    for step in range(40):
        position, speed = (torch.tensor(rng.normal(size=(1, 2))).float() for _ in range(2))
        goal = torch.tensor([[np.sin(0.3 * step), np.cos(0.2 * step)]]).float()

        def efforts(actuator, envs, goal=goal, position=position, speed=speed):
            action = SimpleNamespace(
                joint_positions=goal.repeat(envs, 1), joint_velocities=None, joint_efforts=None
            )
            found = actuator.compute(action, position.repeat(envs, 1), speed.repeat(envs, 1))
            return found.joint_efforts

        found = efforts(together, ENVS)
        for env_id in range(ENVS):
            expected = efforts(plain[env_id], 1)[0]
            torch.testing.assert_close(found[env_id], expected, rtol=2e-4, atol=2e-5)
        reached = max(reached, float((found[0] - found[1]).abs().max()))
        torch.testing.assert_close(found[0], found[2])
    assert reached > 0.01


@pytest.mark.parametrize("law", LAWS)
def test_environments_of_mjlab_move_as_their_own_servo(law, monkeypatch, tmp_path):
    import mjlab_stand_in

    mjlab_stand_in.install(monkeypatch)
    model, rows, alone = drawn(law)
    module = loaded("mjlab", model, rows, tmp_path)
    term = module.EVENTS["identified_servo"]
    assert term.mode == "startup"
    assert {"dof_armature", "dof_damping", "dof_frictionloss"} <= set(term.func.model_fields)

    def motion(module, envs, event=None):
        cfg = module.BamActuatorCfg(target_names_expr=(".*",))
        scene = mjlab_stand_in.Pendulums(
            [(cfg, ["shoulder"])], {"shoulder": (0.4, 0.1)}, DT, num_envs=envs
        )
        if event is not None:
            robot = SimpleNamespace(actuators=scene.actuators)
            env = SimpleNamespace(num_envs=envs, device="cpu", scene={"robot": robot})
            event(env, None, SimpleNamespace(name="robot"))
        scene.start(0.3)
        found = []
        for k in range(100):
            found.append(scene.positions.numpy())
            scene.actuators[0].torque_enable[:] = not 70 < k < 85
            scene.step(float(np.sin(0.08 * k) + 0.7 * (k > 45)))
        return np.array(found)[:, :, 0]

    together = motion(module, ENVS, term.func)
    for env_id, each in enumerate(alone):
        expected = motion(module_of(each, "mjlab"), 1)[:, 0]
        assert np.abs(together[:, env_id] - expected).max() < 2e-4
    assert np.abs(together[:, 0] - together[:, 1]).max() > 5e-3
    np.testing.assert_array_equal(together[:, 0], together[:, 2])


def test_draws_for_mjlab_are_of_one_servo(monkeypatch, tmp_path):
    import mjlab_stand_in

    mjlab_stand_in.install(monkeypatch)
    model, rows, _ = drawn("voltage")
    module = loaded("mjlab", model, rows, tmp_path)
    cfg = module.BamActuatorCfg(target_names_expr=(".*",), json_path="other.json")
    with pytest.raises(module.ParameterError, match=r"draws of one servo.*remove json_path"):
        mjlab_stand_in.Pendulums([(cfg, ["shoulder"])], {"shoulder": (0.4, 0.1)}, DT)
