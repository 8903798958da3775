"""CMA-ES based on the package ``cma``: restarts, noisy and invalid costs, bounds, resume."""

from trueup.fitting.cma_es.options import parse_cma_options
from trueup.fitting.cma_es.search import CmaEs
from trueup.fitting.cma_es.settings import CmaEsSettings

__all__ = ["CmaEs", "CmaEsSettings", "parse_cma_options"]
