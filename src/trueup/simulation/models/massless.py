"""Moving bodies without mass: empty links between two joints, and links that lack their inertia."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from trueup.errors import ModelError, listing

TINY_MASS = 1e-6
"""Mass of an empty link between two joints [kg]."""
_TINY_INERTIA = 1e-10  # [kg m^2]
_REFUSED = re.compile(r"mass and inertia of moving bodies.*Element name '([^']*)'", re.DOTALL)


def empty_links(read: Callable[[], Any], file: str) -> list[str]:
    """Empty links between two joints, which need a mass for the model to compile.

    Robots describe a joint of two axes by two joints with an empty link between them, which
    MuJoCo refuses.

    Args:
      read: returns the ``MjSpec`` as it is in the file.
      file: name of the model in messages.

    Raises:
      ModelError: a link moves and carries nothing, and has no mass.
      ValueError: the model does not compile for another reason.
    """
    empty: list[str] = []
    while True:
        spec = read()
        give_masses(spec, empty)
        try:
            # not a copy: copying drops references to missing elements
            spec.compile()
        except ValueError as error:
            found = _REFUSED.search(str(error))
            body = read().body(found[1]) if found else None
            if body is None or found is None or found[1] in empty:
                raise
            if not any(_moves_with_mass(child) for child in body.bodies):
                raise ModelError(
                    f"{file}: {listing(_without_mass(read()) or [found[1]])} moves on a joint, but "
                    "has no mass or no inertia: give every moving link both (<inertial> in the "
                    "file); exporters of CAD omit them for a part without a material"
                ) from error
            empty.append(found[1])
        else:
            return empty


def give_masses(spec: Any, names: Iterable[str]) -> None:
    """Give bodies the mass of empty links, in place."""
    for name in names:
        body = spec.body(name)
        body.mass = TINY_MASS
        body.ipos = [0.0, 0.0, 0.0]
        body.inertia = [_TINY_INERTIA] * 3
        body.explicitinertial = True


def _moves_with_mass(body: Any) -> bool:
    """Whether a body or one that it carries has a joint, and a mass or geometry at its end."""
    if body.joints and (body.mass > 0 or list(body.geoms)):
        return True
    return any(_moves_with_mass(child) for child in body.bodies)


def _without_mass(spec: Any) -> list[str]:
    """Links that move without a mass, and without geometry to compute it from."""
    return [
        body.name
        for body in spec.bodies
        if body.joints and not body.mass > 0 and not list(body.geoms)
    ]
