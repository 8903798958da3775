"""Fields of mjlab's model that a servo writes per environment."""

from typing import Any

import torch
from mjlab.managers.event_manager import requires_model_fields  # pyright: ignore

from trueup.errors import SimulationError

SERVO_MODEL_FIELDS = ("dof_frictionloss", "actuator_biasprm")
"""Fields that require one row per environment: friction of the joint, damping of the motor."""


@requires_model_fields(*SERVO_MODEL_FIELDS)
def prepare_servo_fields(env: Any, env_ids: torch.Tensor | None) -> None:
    """Event term of mode ``startup`` that allocates friction per environment.

    mjlab allocates the fields when it reads the term; the function itself does nothing. Without a
    manager-based environment call ``sim.expand_model_fields(SERVO_MODEL_FIELDS)``.
    """
    del env, env_ids


def field_rows(model: Any, name: str, num_envs: int) -> torch.Tensor:
    """Values of a model field, one row per environment, for writing in place.

    Raises:
      SimulationError: the environments share one row.
    """
    field = getattr(model, name)
    stored = getattr(field, "wp_array", field)
    if stored.shape[0] != num_envs:
        raise SimulationError(
            f"{num_envs} environments share one row of {name}, which identified servos write per "
            'environment: add  EventTermCfg(func=prepare_servo_fields, mode="startup")  to its '
            "events, or call  sim.expand_model_fields(SERVO_MODEL_FIELDS)"
        )
    return field
