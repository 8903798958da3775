"""Torque model of random trees of hinges and slides against MuJoCo's inverse dynamics."""

import mujoco
import numpy as np
import pytest

from trueup.errors import ModelError
from trueup.sysid.torque.data import TorqueData
from trueup.sysid.torque.joint_motion import JointMotion, TorqueSources
from trueup.sysid.torque.link_regressor import link_regressor, parameters_of

SAMPLES = 12
KINDS = {"hinge": mujoco.mjtJoint.mjJNT_HINGE, "slide": mujoco.mjtJoint.mjJNT_SLIDE}
FIELDS = (
    "qpos0", "dof_armature", "dof_damping", "dof_frictionloss", "qpos_spring", "jnt_stiffness",
)  # fmt: skip


def _direction(random):
    vector = random.normal(size=3)
    return vector / np.linalg.norm(vector)


def random_tree(seed, kinds=None):
    """A tree of 2 to 7 joints; ``kinds`` gives the joints of a chain in order instead.

    Bodies carry one or two joints or none, branch, have rotated frames and inertias whose axes and
    centers lie anywhere; gravity has any direction.
    """
    random = np.random.default_rng(seed)
    chain = kinds is not None
    left = list(kinds or random.choice(list(KINDS), size=random.integers(2, 8)))
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.gravity = 10.0 * _direction(random)
    bodies, count = [spec.worldbody], 0
    while left:
        parent = bodies[-1] if chain else bodies[random.integers(len(bodies))]
        body = parent.add_body(
            name=f"b{len(bodies)}",
            pos=random.uniform(-0.4, 0.4, size=3),
            quat=random.normal(size=4),
            mass=random.uniform(0.2, 3.0),
            ipos=random.uniform(-0.2, 0.2, size=3),
        )
        half = random.normal(size=(3, 3))
        moments = 0.02 * (half @ half.T + 3.0 * np.eye(3))
        moments = 0.5 * np.trace(moments) * np.eye(3) - 0.5 * moments  # those of a body
        body.fullinertia = (*np.diag(moments), moments[0, 1], moments[0, 2], moments[1, 2])
        body.explicitinertial = True
        if random.random() < 0.3:
            body.gravcomp = random.uniform(0.2, 1.5)
        for _ in range(min(len(left), 1 if chain else random.choice([0, 1, 1, 2]))):
            body.add_joint(
                name=f"j{count}",
                type=KINDS[left.pop(0)],
                axis=_direction(random),
                pos=random.uniform(-0.2, 0.2, size=3),
                ref=random.uniform(-0.5, 0.5),
                armature=random.uniform(0.0, 0.2),
                damping=[random.uniform(0.0, 0.5), 0.0, 0.0],
                frictionloss=random.uniform(0.0, 0.05),
                stiffness=[random.uniform(0.0, 2.0), 0.0, 0.0],
                springref=random.uniform(-0.5, 0.5),
            )
            count += 1
        bodies.append(body)
    return spec.compile()


def moves(model, seed):
    """Positions, velocities and accelerations; no joint rests, where friction has no direction."""
    random = np.random.default_rng([seed, 1])
    q, v, a = (random.normal(size=(SAMPLES, model.nv)) for _ in range(3))
    return q, np.sign(v) * (0.5 + np.abs(v)), a


def inverse_dynamics(model, q, v, a):
    """Torques of joints ``(T, nv)``, with what MuJoCo adds to those of the links."""
    data = mujoco.MjData(model)
    torque = np.zeros_like(v)
    for k in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], v[k], a[k]
        mujoco.mj_inverse(model, data)
        torque[k] = data.qfrc_inverse
    return torque


def whole_torque(model, q, v, a):
    """Torque that a motion needs by the model of torque identification ``(T, nv)``."""
    none = np.zeros((len(q), 0))
    motion = JointMotion(
        "made", 0.01 * np.arange(len(q)), q, v, a, none, none, none, none, none, none, np.sign(v)
    )
    sources = TorqueSources(tuple(range(model.nv)), {}, {})
    data = TorqueData(motion, sources, model, link_regressor(model, q, v, a))
    fields = {name: np.array(getattr(model, name), float)[None] for name in FIELDS}
    # MuJoCo 3.17 keeps three coefficients of damping and stiffness: the first is the linear one
    for name in ("dof_damping", "jnt_stiffness"):
        fields[name] = fields[name].reshape(1, len(getattr(model, name)), -1)[..., 0]
    return data.needed(parameters_of(model)[None], fields)[0]


@pytest.mark.parametrize("seed", range(30))
def test_torques_of_a_random_tree_are_those_of_mujoco(seed):
    model = random_tree(seed)
    assert 2 <= model.njnt <= 7
    q, v, a = moves(model, seed)
    wanted = inverse_dynamics(model, q, v, a)
    assert np.abs(wanted).max() > 0.1
    assert whole_torque(model, q, v, a) == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize(
    "kinds",
    [("hinge", "slide"), ("slide", "hinge"), ("hinge", "slide", "slide"), ("slide", "slide"),
     ("hinge", "slide", "hinge", "slide", "hinge")],
    ids="-".join,
)  # fmt: skip
def test_chains_of_hinges_and_slides_are_those_of_mujoco(kinds):
    model = random_tree(40, kinds)
    q, v, a = moves(model, 40)
    wanted = inverse_dynamics(model, q, v, a)
    assert whole_torque(model, q, v, a) == pytest.approx(wanted, abs=1e-8)


def test_every_column_is_the_torque_of_its_link_parameter():
    # not only the sum: the mass alone, each first moment and each moment of inertia
    model = random_tree(3)
    q, v, a = moves(model, 3)
    joints = ("dof_armature", "dof_damping", "dof_frictionloss", "jnt_stiffness", "body_gravcomp")
    for field in joints:
        getattr(model, field)[:] = 0.0
    regressor = link_regressor(model, q, v, a)
    before, torque = parameters_of(model), inverse_dynamics(model, q, v, a)
    random = np.random.default_rng(0)
    for body in range(1, model.nbody):
        model.body_mass[body] *= random.uniform(0.5, 2.0)
        model.body_ipos[body] += random.normal(scale=0.1, size=3)
        model.body_inertia[body] *= random.uniform(0.5, 2.0, size=3)
        model.body_iquat[body] = random.normal(size=4)
        model.body_iquat[body] /= np.linalg.norm(model.body_iquat[body])
        mujoco.mj_setConst(model, mujoco.MjData(model))
        change = inverse_dynamics(model, q, v, a) - torque
        assert regressor @ (parameters_of(model) - before) == pytest.approx(change, abs=1e-8)


def test_a_ball_joint_is_refused_with_the_body_and_what_to_do():
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body name='base'><joint/><geom size='.1'/>"
        "<body name='wrist'><joint type='ball'/><geom size='.1'/></body></body></worldbody>"
        "</mujoco>"
    )
    with pytest.raises(
        ModelError, match=r"hinge and slide joints only.*ball joint on 'wrist'.*base: fixed"
    ):
        link_regressor(model, np.zeros((1, 5)), np.zeros((1, 4)), np.zeros((1, 4)))
