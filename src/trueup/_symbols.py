"""Names of compiled functions that no two processes share; imported by whatever compiles.

Numba numbers functions from 1 in each process, and the number is all that tells apart the names of
functions that come from one line of source, such as those of a factory. Machine code that is loaded
from numba's cache on disk brings the names of the process that compiled it. Where they meet other
functions of the same name, one is called for the other: the process dies, or computes something
else. So each process numbers from a place of its own.
"""

import itertools
import secrets

from numba.core.bytecode import FunctionIdentity

FunctionIdentity._unique_ids = itertools.count(secrets.randbits(60))
