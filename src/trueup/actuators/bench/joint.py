"""Any single joint of a MuJoCo model as a bench, for rigs other than a pendulum."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from trueup.actuators.bench.loads import TabulatedBench
from trueup.errors import RecordingError, TargetError, did_you_mean, listing


def bench_from_mujoco(
    model: Any,
    joint: str,
    *,
    others: Mapping[str, float] | None = None,
    points: int = 1441,
) -> TabulatedBench:
    """Load that a servo on one joint of a MuJoCo model moves.

    All other joints are locked at their given positions. With one degree of freedom left,
    the joint's inertia and the torque on it depend on its angle alone, and are tabulated. The
    other joints then cause no velocity-dependent torques; that of an inertia that changes with the
    angle is computed by the bench. The torque includes gravity, springs, gravity compensation and
    passive forces at rest; the joint's own armature, damping and frictionloss are excluded, because
    they belong to the servo; contacts, limits and actuators are not simulated.

    ::

        bench = bench_from_mujoco("leg.xml", "knee", others={"hip": 0.4})
        simulator = BenchSimulator(model, logs, benches=[bench] * len(logs))

    Args:
      model: ``mujoco.MjModel``, ``mujoco.MjSpec`` or the path of a model file.
      joint: name of a hinge, or of a slide joint with a range.
      others: positions of other hinges and slides [rad or m]; the model's reference by default.
      points: angles of the table, over the joint's range or two turns to either side.

    Raises:
      ModelError: the model cannot be read or does not compile.
      TargetError: unknown joint, or a joint with several degrees of freedom.
      RecordingError: the joint propagations no inertia, or there are fewer than two points.
    """
    import mujoco

    from trueup.actuators.mujoco.law import read_spec
    from trueup.simulation.targets.variants import compile_spec

    if not isinstance(model, mujoco.MjModel):
        name = str(model) if isinstance(model, str | os.PathLike) else "the model"
        model = compile_spec(read_spec(model).copy(), name)
    if points < 2:
        raise RecordingError(f"the table of a joint requires at least two points, got {points}")
    scalar = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    places = {
        model.joint(i).name: int(model.jnt_qposadr[i])
        for i in range(model.njnt)
        if model.jnt_type[i] in scalar
    }
    positions = np.array(model.qpos0)
    for name, value in (others or {}).items():
        if name not in places:
            raise TargetError(
                f"the model has no hinge or slide joint {name!r}; available: {listing(places)}."
                f"{did_you_mean(name, places)}"
            )
        if not np.isfinite(value):
            raise TargetError(f"the position of {name!r} is not finite: {value}")
        positions[places[name]] = value
    return TabulatedBench.from_mujoco(model, joint, positions, points)
