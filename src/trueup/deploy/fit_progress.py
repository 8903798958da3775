"""Progress of the fits of an export."""

from collections.abc import Callable

Report = Callable[[float], None]
"""Takes the share of a fit that is done."""


def ignore(share: float) -> None:
    """Report nothing."""


class Steps:
    """Shares of a work of several steps of equal length.

    Args:
      report: takes the share of the whole that is done.
      count: number of steps.
    """

    def __init__(self, report: Report, count: int):
        self._report, self._count = report, count

    def within(self, number: int) -> Report:
        """Report of one step, from 0."""
        return lambda share: self._report((number + share) / self._count)
