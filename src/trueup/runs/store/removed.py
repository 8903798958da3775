"""Numbers of the evaluations that a thinned store no longer contains."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

_REASONS = 100
"""Most reasons with a count of their own."""
_OTHER = "other reasons"


@dataclass(frozen=True)
class Removed:
    """Numbers of the evaluations of removed generations."""

    evaluations: int = 0
    invalid: int = 0
    """Those with a cost that is not finite, or a reason."""
    failed: int = 0
    """Those with a reason."""
    reasons: dict[str, int] = field(default_factory=dict)
    """Reason for an invalid candidate -> number of candidates; see :func:`merged_reasons`."""

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Removed":
        """The numbers from :meth:`to_dict`."""
        return cls(**content)

    def with_more(self, evaluations: int, invalid: int, reasons: list[str]) -> "Removed":
        """The numbers with further evaluations, by the reasons of the invalid ones."""
        merged = merged_reasons([*self.reasons.items(), *((reason, 1) for reason in reasons)])
        other = sum(count for reason, count in merged[_REASONS:]) if len(merged) > _REASONS else 0
        counts = Counter(dict(merged[:_REASONS]))
        counts.update({_OTHER: other} if other else {})
        return Removed(
            self.evaluations + evaluations,
            self.invalid + invalid,
            self.failed + len(reasons),
            dict(counts),
        )


def merged_reasons(reasons: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Reasons with their counts, most frequent first; those that differ only in numbers are one."""
    groups: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for reason, count in reasons:
        first = groups.setdefault(re.sub(r"[-+]?\d[\d.e+-]*", "#", reason), reason)
        counts[first] += count
    return counts.most_common()
