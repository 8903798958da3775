"""Checks of random seeds and of counts."""

from trueup.errors import FitError, TrueupError

LARGEST_SEED = 2**63 - 1


def check_count(
    what: str, count: int, least: int, most: int, kind: type[TrueupError] = FitError
) -> None:
    """Raise ``kind`` for a count outside its limits.

    Args:
        what: name of the count, as the start of a sentence: ``"the population"``.
        count: the count.
        least, most: its limits.
        kind: class of the error.
    """
    if not least <= count <= most:
        raise kind(f"{what} must be between {least} and {most}, found {count}")


def check_seed(seed: int, kind: type[TrueupError] = FitError) -> None:
    """Raise ``kind`` for a seed that is negative or does not fit into 64 bits."""
    if not 0 <= seed <= LARGEST_SEED:
        raise kind(f"--seed must be between 0 and {LARGEST_SEED}, found {seed}")
