"""Seeds of random numbers, and numbers of what is drawn or tried."""

from trueup.errors import FitError, TrueupError

LARGEST_SEED = 2**63 - 1


def check_count(
    what: str, count: int, least: int, most: int, kind: type[TrueupError] = FitError
) -> None:
    """Raise ``kind`` for a number of things that is none, or that no machine can hold.

    Args:
        what: the things, as a sentence begins: ``"the population"``.
        count: their number.
        least, most: limits of it.
        kind: class of the error.
    """
    if not least <= count <= most:
        raise kind(f"{what} is {count}: it is between {least} and {most}")


def check_seed(seed: int, kind: type[TrueupError] = FitError) -> None:
    """Raise ``kind`` for a seed that is negative or does not fit into 64 bits."""
    if not 0 <= seed <= LARGEST_SEED:
        raise kind(f"the seed is {seed}: --seed is between 0 and {LARGEST_SEED}")
