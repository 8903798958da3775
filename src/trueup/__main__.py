"""Entry point of ``python -m trueup``, the ``trueup`` command."""

import sys

from trueup.cli import main

if __name__ == "__main__":
    sys.exit(main())
