"""Whether a saved CMA-ES search can be continued here."""

from typing import Any

from trueup.errors import FitError
from trueup.fitting._state_version import require_version
from trueup.parameters import Space

STATE_VERSION = 2


def check_state(state: dict[str, Any], space: Space) -> None:
    """Refuse a saved state that this search cannot go on from.

    Raises:
      FitError: it is of another search, version, version of ``cma``, or problem.
    """
    import cma

    if state.get("search") != "CmaEs":
        raise FitError(
            f"the saved state is one of {state.get('search', 'another search')}, not of CMA-ES"
        )
    require_version(state, STATE_VERSION, "CMA-ES search")
    if state["cma"] != cma.__version__:
        raise FitError(
            f"the saved state was written with cma {state['cma']}, installed is {cma.__version__}: "
            f"run  pip install cma=={state['cma']}  to resume it, or start a new study from its "
            "best parameters"
        )
    if tuple(state["names"]) != space.names:
        raise FitError(
            f"the saved state of CMA-ES belongs to another problem: it has {len(state['names'])} "
            f"parameters ({', '.join(state['names'][:5])}), this one {space.size} "
            f"({', '.join(space.names[:5])})"
        )
