"""Start of a fit with hard joint friction: the optimum with MuJoCo's default, soft friction.

Hard friction makes the cost rough far from the optimum, so that a search takes many small steps or
stalls. With soft friction the cost is smooth, and its optimum is near: a small part of Coulomb
friction is exchanged for viscous friction.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.fit._inner_fit import busy_seconds, inner_fit
from trueup.sysid.fit.problem import GrayBoxProblem

if TYPE_CHECKING:
    from trueup.sysid.experiment.preparation import Prepared

_SOFT = 0.01  # time constant of joint friction below which it is hard; default 0.02 [s]
_NEAR = 1e-3  # relative reduction of the cost at which the fit with soft friction ends
_ITERATIONS = 30


def joints_with_hard_friction(models: Sequence[mujoco.MjModel], searched: bool) -> list[str]:
    """Names of joints with friction harder than MuJoCo's default.

    Args:
      models: models of the fit.
      searched: whether friction is a parameter, so that joints without it count too.
    """
    return sorted(
        {
            model.joint(int(model.dof_jntid[dof])).name
            for model in models
            for dof in range(model.nv)
            if 0 < model.dof_solref[dof, 0] < _SOFT and (searched or model.dof_frictionloss[dof])
        }
    )


def searches_friction(problem: GrayBoxProblem) -> bool:
    """Whether a joint's friction is among the parameters of a problem."""
    targets = [t for p in problem.parameters.values() for t in p.targets]
    return any("frictionloss" in target for target in targets)


def soft_friction_optimum(
    prepared: "Prepared", problem: GrayBoxProblem, x: np.ndarray, time_limit: float = np.inf
) -> tuple[np.ndarray, int] | None:
    """Fit with MuJoCo's default joint friction.

    Args:
      prepared: the experiment.
      problem: its problem.
      x: start of the fit ``(p,)``.
      time_limit: time limit [s].

    Returns:
      The values ``(p,)`` and the number of simulated candidates; None if no friction is hard or
      the fit fails.

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    models = [variant.model for variant in problem.variants]
    if not joints_with_hard_friction(models, searches_friction(problem)):
        return None
    soft = prepared.motion_problem(sequences=[_soft(group) for group in prepared.training])
    soft.noise_scale = problem.noise_scale
    settings = LeastSquaresSettings(max_iters=_ITERATIONS, cost_tolerance=_NEAR)
    search = LeastSquares(soft.space, settings, x)
    fit = inner_fit(soft, search, time_limit, busy_seconds)
    return (fit.x, search.evaluations) if np.isfinite(fit.cost) else None


def _soft(group: ModelSequences) -> ModelSequences:
    """The recordings with a model with MuJoCo's default joint friction."""
    spec = group.spec.copy()
    plain = mujoco.MjSpec().worldbody.add_joint()
    for joint in spec.joints:
        joint.solref_friction = plain.solref_friction
        joint.solimp_friction = plain.solimp_friction
    trajectories = group.measured_rollout
    names = [t.name for t in trajectories]
    return ModelSequences.from_trajectories(group.name, spec, names, trajectories, True)
