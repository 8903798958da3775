"""Priors of link inertias relative to the model, for example from CAD."""

import mujoco
import numpy as np

from trueup.errors import ExperimentError
from trueup.parameters import InertiaType, Parameter, Prior
from trueup.simulation.targets.body_inertia import inertial_of
from trueup.sysid.experiment.settings import PriorPart


def link_prior(
    name: str, param: Parameter, part: PriorPart | None, model: mujoco.MjModel
) -> Prior | None:
    """Prior of the inertia of a body.

    Without a mean it is that of the model, with a relative standard deviation: of the mass and the
    moments, and of the radius of gyration for the centre of mass. With a mean it is a prior of the
    mass only [kg].

    Args:
      name: name of the parameter, for errors.
      param: parameter of the inertia, starting at the model.
      part: the prior of the experiment file.
      model: the compiled model.

    Raises:
      ExperimentError: a mean for an inertia of more than a mass.
    """
    if part is None:
        return None
    if part.mean is not None:
        if param.inertia_type is not InertiaType.Mass:
            raise ExperimentError(
                f"parameters.{name}.prior: mean is supported for a mass only (inertia_type: "
                "mass or density), and "
                f"this inertia has {param.size} values; without mean, sd is relative to the "
                "model's "
                "values"
            )
        return Prior(part.mean, part.sd)
    inertial = inertial_of(model, str(param.inertia_body))
    # radius of a ring with the mean moment about the three axes
    reach = float(np.sqrt(inertial.moments.sum() / (2.0 * inertial.mass)))
    if param.inertia_type is InertiaType.Pseudo:
        # logarithms of the root of the mass and of lengths, then lengths
        deviations = [0.5] * 4 + [reach] * 6
    else:
        deviations = [inertial.mass] + [reach] * (param.size - 1)
    means = np.ravel(param.nominal)
    return Prior(tuple(means.tolist()), tuple((part.sd * np.array(deviations)).tolist()))
