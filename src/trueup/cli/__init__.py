"""The ``trueup`` command."""

import os

# OpenBLAS shares out matrices of any size, and its threads wait for each other in loops: on a
# machine that is busy, small products take fifty times their processor time. It reads this when it
# loads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from trueup.cli._main import main

__all__ = ["main"]
