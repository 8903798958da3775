"""The package ``cma``, without what it brings along for itself."""

import sys
import threading
import warnings
from types import ModuleType

_UNUSED = ("scipy.stats", "matplotlib", "matplotlib.pyplot")
"""Statistics serve surrogate models of costs, pyplot figures: neither is used here, and both take
several times as long to import as the rest."""

_LOCK = threading.Lock()


def cma_package() -> ModuleType:
    """The package; at first it is imported as if what it can do without were not installed."""
    with _LOCK:
        if "cma" in sys.modules:
            return sys.modules["cma"]
        absent = [name for name in _UNUSED if name not in sys.modules]
        sys.modules |= dict.fromkeys(absent)  # None: not to be found
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it says that it cannot plot
                import cma
        finally:
            for name in absent:
                del sys.modules[name]
    return cma
