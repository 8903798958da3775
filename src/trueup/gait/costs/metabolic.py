"""Metabolic power of muscles by Umberger's model, from the state of MuJoCo's muscles.

B. R. Umberger, K. G. M. Gerritsen, P. E. Martin, "A model of human muscle energy expenditure",
Comput. Methods Biomech. Biomed. Engin. 6 (2003), with the changes of B. R. Umberger, "Stance and
swing phase costs in human walking", J. R. Soc. Interface 7 (2010): the coefficient 0.3 in (4), and
work that is done on a muscle is not given back. Rates are [W/kg] of muscle:

1. ``E = max(h_AM + h_SL, 1) + w``
2. ``h_AM = 1.5 A^0.6 (128 f + 25)``, and for a length above the optimal one times ``0.4 + 0.6 F``
3. shortening, ``v < 0``: ``h_SL = 1.5 A^2 (min(-a v, 100) (1 - f) - b v f)``
4. lengthening: ``h_SL = 1.5 A 0.3 a v``; (3) and (4) are multiplied by ``F`` above the optimal
   length
5. ``a = 100 / (v_max / 2.5)``, ``b = 153 / v_max``
6. ``A = u`` where the stimulation ``u`` exceeds the activation, else the mean of both
7. ``w = max(-force * velocity, 0) / mass``, of the active force alone
8. ``mass = strength / specific tension * optimal length * density``

``f`` is the part of fast fibers, ``v`` the velocity of the fibers [optimal lengths/s], ``v_max``
the largest, ``F`` the isometric force at the present length, of the strength. MuJoCo's tendon does
not stretch, so the fibers do what muscle and tendon do together; angles of pennation are not known
to it and count as none. There is no rate for the rest of the body.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

from trueup.gait.costs._metabolic_kernel import FIBER
from trueup.gait.models._muscle_columns import muscle_groups
from trueup.gait.models.walker import Walker, muscle_strengths

TABLE = Path(__file__).with_name("metabolic.yaml")


@lru_cache(maxsize=1)
def metabolic_table() -> dict[str, Any]:
    """Parts of slow fibers by muscle group, density and specific tension, with their sources."""
    return yaml.safe_load(TABLE.read_text(encoding="utf-8"))


def muscle_fibers(walker: Walker) -> np.ndarray:
    """What the metabolic power of each muscle of a walker depends on, an array of ``FIBER``."""
    table, model = metabolic_table(), walker.model
    muscles = walker.body_map(()).muscles["actuator"]
    fibers = np.zeros(len(muscles), dtype=FIBER)
    groups = muscle_groups(walker.muscle_names, walker.anatomy)
    strengths = muscle_strengths(model, muscles)
    for fiber, i, strength, (group, _) in zip(fibers, muscles, strengths, groups, strict=True):
        gain, lengths = model.actuator_gainprm[i], model.actuator_lengthrange[i]
        optimal = (lengths[1] - lengths[0]) / (gain[1] - gain[0])
        fiber["slack"] = lengths[0] - gain[0] * optimal
        fiber["optimal"], fiber["strength"] = optimal, strength
        fiber["shortest"], fiber["longest"] = gain[4], gain[5]
        fiber["speed"], fiber["lengthening"] = gain[6], gain[8]
        stress = table["specific_tension"]
        fiber["mass"] = strength / stress * optimal * table["density"]
        fiber["slow"] = table["slow"].get(group, table["slow_otherwise"])
    kinds = model.actuator_gaintype[muscles]
    # what is no muscle of MuJoCo has no fibers
    fibers[kinds != mujoco.mjtGain.mjGAIN_MUSCLE] = np.zeros((), dtype=FIBER)
    return fibers
