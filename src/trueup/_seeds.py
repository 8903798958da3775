"""Seeds of random numbers."""

from trueup.errors import FitError, TrueupError

LARGEST_SEED = 2**63 - 1


def check_seed(seed: int, kind: type[TrueupError] = FitError) -> None:
    """Raise ``kind`` for a seed that is negative or does not fit into 64 bits."""
    if not 0 <= seed <= LARGEST_SEED:
        raise kind(f"the seed is {seed}: --seed is between 0 and {LARGEST_SEED}")
