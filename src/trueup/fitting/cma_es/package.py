"""Import of the package ``cma`` without its optional dependencies."""

import sys
import threading
import warnings
from types import ModuleType

_UNUSED = ("scipy.stats", "matplotlib", "matplotlib.pyplot")
"""scipy.stats is for surrogate models, pyplot for figures: neither is used here, and both take
several times as long to import as the rest."""

_LOCK = threading.Lock()


def cma_package() -> ModuleType:
    """The package; on first import its optional dependencies are hidden."""
    with _LOCK:
        if "cma" in sys.modules:
            return sys.modules["cma"]
        absent = [name for name in _UNUSED if name not in sys.modules]
        sys.modules |= dict.fromkeys(absent)  # None: import fails
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # cma warns that it cannot plot
                import cma
        finally:
            for name in absent:
                del sys.modules[name]
    return cma
