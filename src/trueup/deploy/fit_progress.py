"""Progress of the fits of an export."""

from collections.abc import Callable

Report = Callable[[float], None]
"""Progress callback: fraction of a fit that is done."""


def ignore(share: float) -> None:
    """Report nothing."""


class Steps:
    """Progress over several steps of equal length.

    Args:
      report: progress callback of the whole.
      count: number of steps.
    """

    def __init__(self, report: Report, count: int):
        self._report, self._count = report, count

    def within(self, number: int) -> Report:
        """Progress callback of one step, from 0."""
        return lambda share: self._report((number + share) / self._count)
