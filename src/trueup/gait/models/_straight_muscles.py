"""Muscles of straight paths between points fixed in bodies, from published numbers."""

import itertools
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np


def add_muscle(
    spec: mujoco.MjSpec,
    name: str,
    path: list[tuple[Any, np.ndarray]],
    muscle: Mapping[str, Any],
    share: float,
) -> None:
    """Add a muscle: its path, and a MuJoCo muscle with the published strength and lengths.

    The path includes only the points on which its length depends; the constant length of the others
    is subtracted from the slack length of the tendon.

    The tendon of MuJoCo is rigid: its length is that of the published tendon at half of its largest
    strain, reached at about a third of its largest force. Force and fiber length are projected onto
    the tendon with the pennation at the optimal length. Where the fibers have a share of the length
    change (:attr:`Anatomy.fiber_share`), their length is divided by it, about the optimal length:
    the curves of force over length and velocity are then those of the whole unit, which ends where
    the fibers and half of the tendon's stretch are used up.

    Args:
      spec: the model.
      name: name of the muscle.
      path: bodies of the model, and places in them [m].
      muscle: its numbers, as in ``planar22.yaml``.
      share: share of the fibers in the length change.
    """
    tendon = spec.add_tendon(name=f"{name}_tendon", width=0.004)
    tendon.rgba = (0.95, 0.3, 0.3, 1.0)
    points, constant = _moving_part(path)
    for k, (body, place) in enumerate(points, 1):
        site = f"{name}-P{k}"
        body.add_site(name=site, pos=place, size=(0.003, 0.003, 0.003), group=3)
        tendon.wrap_site(site)
    projection = np.cos(np.deg2rad(muscle["pennation"]))
    optimum = muscle["fiber"] * projection
    optimal_unit = muscle["tendon"] * (1.0 + 0.5 * muscle["stretch"]) - constant + optimum
    fiber = optimum / share
    slack = optimal_unit - fiber
    stretch = 0.0 if share == 1.0 else 0.5 * muscle["stretch"] * muscle["tendon"] / optimum
    shortest, longest = 1.0 - share * (1.0 + stretch), 1.0 + share * (LONGEST - 1.0 + stretch)
    actuator = spec.add_actuator(
        name=name,
        target=tendon.name,
        trntype=mujoco.mjtTrn.mjTRN_TENDON,
        lengthrange=(slack + 0.5 * fiber, slack + 1.5 * fiber),
        ctrllimited=mujoco.mjtLimited.mjLIMITED_TRUE,
        ctrlrange=(0.0, 1.0),
    )
    actuator.set_to_muscle(
        timeconst=muscle["times"],
        tausmooth=0.0,
        range=(0.5, 1.5),
        force=muscle["force"] * projection,
        lmin=shortest,
        lmax=longest,
        vmax=muscle["speed"],
        fpmax=_passive_force(*muscle["passive"]),
        fvmax=muscle["lengthening"],
    )


def _moving_part(
    path: list[tuple[Any, np.ndarray]],
) -> tuple[list[tuple[Any, np.ndarray]], float]:
    """The points on which the length of a path depends, and the constant length of the others [m].

    Segments within one body before the first or after the last crossed joint have constant length,
    and between two joints only the first and the last point of a body matter.
    """
    stretches = [
        list(group) for _, group in itertools.groupby(path, key=lambda point: point[0].name)
    ]
    kept: list[tuple[Any, np.ndarray]] = []
    constant = 0.0
    for k, stretch in enumerate(stretches):
        places = np.stack([place for _, place in stretch])
        own = [stretch[0]] if k else []
        if k < len(stretches) - 1 and (not own or len(stretch) > 1):
            own.append(stretch[-1])
        straight = np.linalg.norm(own[-1][1] - own[0][1])
        constant += np.linalg.norm(np.diff(places, axis=0), axis=1).sum() - straight
        kept += own
    return kept, float(constant)


LONGEST = 2.1
"""Fiber length without active force [optimal lengths]; the force is one half at 1.55, as in the
Gaussian curve of Thelen 2003."""


def _passive_force(strain: float, shape: float) -> float:
    """MuJoCo's ``fpmax`` for the passive force of Thelen 2003 at half of ``strain``.

    Thelen's curve is ``(exp(shape e / strain) - 1) / (exp(shape) - 1)`` (equation 3), MuJoCo's is
    ``fpmax x^2 / 2`` with ``x = e / b`` up to ``b``, half of the way to the longest fiber.
    """
    published = np.expm1(0.5 * shape) / np.expm1(shape)
    x = 0.5 * strain / (0.5 * (LONGEST - 1.0))
    return float(published / (0.5 * x**2))
