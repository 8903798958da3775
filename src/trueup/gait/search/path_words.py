"""Words that options and configurations take in place of paths; nothing heavy is imported."""

from trueup.gait.costs.norm_names import ADULT
from trueup.gait.models._own_models import OWN_MODELS
from trueup.gait.search.shipped_walk import NOMINAL, SHIPPED

PATH_WORDS = (*OWN_MODELS, ADULT, NOMINAL, SHIPPED)
"""Models, norms and starts that the package holds."""
