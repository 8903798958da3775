"""The verdict on a result: use it, look at something first, or do not use it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from trueup._rich_display import RichDisplay
from trueup.errors import FitError, listing


class Grade(Enum):
    """Grade of a result."""

    USE = "use"
    LOOK = "look"
    DO_NOT_USE = "do not use"

    @property
    def severity(self) -> int:
        """Rank of the grade: 0 use, 1 look, 2 do not use."""
        return list(Grade).index(self)

    @classmethod
    def worst(cls, grades: Sequence["Grade"]) -> "Grade":
        """The most severe of some grades; ``USE`` for none."""
        return max(grades, key=lambda grade: grade.severity, default=cls.USE)


@dataclass(frozen=True)
class Reason:
    """One reason for a verdict.

    Attributes:
        grade: best grade that a result with this reason can have; ``USE`` for a supporting reason.
        sentence: the finding and, for a problem, the advice.
        section: anchor of the section of the report, or empty.
    """

    grade: Grade
    sentence: str
    section: str = ""


@dataclass(frozen=True)
class Comparison:
    """Error of a result in one channel, compared with the baselines on the same samples.

    Attributes:
        channel: name of the channel, with the horizon if there are several.
        error: error of the result; infinite where its prediction diverges.
        baselines: error of each baseline, by name; infinite where it diverges.
        held_out: whether these samples were held out of the fit.
        unit: unit of the errors.
        resolution: error below which a difference is not significant, such as half a count of
            an encoder; errors below it count as equal.
        measure: name of the error: ``"RMSE"`` or ``"MAE"``.
        beaten_by: baselines that are better by more than chance, see
            :func:`trueup.fitting.judgement.paired_errors.is_clearly_worse`; None: not tested, so
            that any smaller error counts.
    """

    channel: str
    error: float
    baselines: Mapping[str, float]
    held_out: bool = True
    unit: str = ""
    resolution: float = 0.0
    measure: str = "RMSE"
    beaten_by: tuple[str, ...] | None = None

    def is_beaten(self, baseline: str) -> bool:
        """Whether a baseline is better, by more than chance if that was tested."""
        if self.ratio(baseline) <= 1.0:
            return False
        return self.beaten_by is None or baseline in self.beaten_by

    def ratio(self, baseline: str) -> float:
        """Error of the result over that of a baseline: below 1 the result is better."""
        own, other = self.error, self.baselines[baseline]
        if not np.isfinite(own):
            return np.inf
        if not np.isfinite(other):  # a diverging baseline is never better
            return 0.0
        own, other = max(own, self.resolution), max(other, self.resolution)
        if other == 0:
            return 1.0 if own == 0 else np.inf
        return float(own / other)


@dataclass(frozen=True)
class Criterion:
    """A requirement on a result without data, such as the periodicity of a gait.

    Attributes:
        name: the measured quantity, as a noun.
        value: value of the result; NaN counts as missed.
        limit: threshold.
        at_most: whether ``value`` must be at most ``limit`` rather than at least.
        unit: unit of both.
        missed: grade of a result that misses it: ``LOOK`` or ``DO_NOT_USE``.
        advice: advice if it is missed.
        section: anchor of the section of the report.
    """

    name: str
    value: float
    limit: float
    at_most: bool = True
    unit: str = ""
    missed: Grade = Grade.DO_NOT_USE
    advice: str = ""
    section: str = ""

    @property
    def met(self) -> bool:
        """Whether the value satisfies the limit."""
        return bool(self.value <= self.limit if self.at_most else self.value >= self.limit)

    @property
    def sentence(self) -> str:
        """The criterion as a sentence, with the advice if it is missed."""
        side = ("at most" if self.at_most else "at least") + f" {self.limit:.4g}"
        text = f"{self.name}: {self.value:.4g}{self._unit} ({side}{self._unit} required)."
        return text if self.met or not self.advice else f"{text} {self.advice}"

    @property
    def _unit(self) -> str:
        return f" {self.unit}" if self.unit else ""


@dataclass(frozen=True)
class Verdict(RichDisplay):
    """Grade of a result, with its reasons, comparisons and criteria.

    Attributes:
        reasons: most severe first.
        comparisons: errors compared with those of the baselines.
        criteria: requirements, met and missed.
    """

    displayed_by = "trueup.reports.displays:of_verdict"

    reasons: tuple[Reason, ...]
    comparisons: tuple[Comparison, ...] = ()
    criteria: tuple[Criterion, ...] = ()

    @property
    def grade(self) -> Grade:
        """The worst grade of the reasons; ``LOOK`` without reasons."""
        if not self.reasons:
            return Grade.LOOK
        return Grade.worst([reason.grade for reason in self.reasons])

    def lines(self, most: int | None = None) -> list[str]:
        """The verdict as lines of text: the grade, then the reasons, most severe first.

        Args:
            most: maximum number of reasons, after which the others are counted; None: all.
        """
        left_out = 0 if most is None else max(len(self.reasons) - most, 0)
        shown = self.reasons[: len(self.reasons) - left_out]
        marks = {Grade.USE: "+", Grade.LOOK: "-", Grade.DO_NOT_USE: "!"}
        return [
            f"Verdict: {self.grade.value}",
            *(f"  {marks[reason.grade]} {reason.sentence}" for reason in shown),
            *([f"  and {left_out} more in the report"] if left_out else []),
        ]

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain data: the content of ``verdict`` in ``solution.json``."""
        return {
            "grade": self.grade.value,
            "reasons": [
                {"grade": r.grade.value, "sentence": r.sentence, "section": r.section}
                for r in self.reasons
            ],
            "comparisons": [
                {
                    "channel": c.channel,
                    "measure": c.measure,
                    "beaten_by": None if c.beaten_by is None else list(c.beaten_by),
                    "unit": c.unit,
                    "held_out": c.held_out,
                    "error": c.error,
                    "baselines": dict(c.baselines),
                    "resolution": c.resolution,
                }
                for c in self.comparisons
            ],
            "criteria": [
                {
                    "name": c.name,
                    "value": c.value,
                    "limit": c.limit,
                    "at_most": c.at_most,
                    "met": c.met,
                    "unit": c.unit,
                    "missed": c.missed.value,
                    "advice": c.advice,
                    "section": c.section,
                }
                for c in self.criteria
            ],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Verdict":
        """The verdict of :meth:`to_dict`, also after a JSON round trip.

        Raises:
            FitError: a part is missing, or a grade is unknown.
        """
        try:
            return cls(
                tuple(
                    Reason(_grade(r["grade"]), str(r["sentence"]), str(r["section"]))
                    for r in plain["reasons"]
                ),
                tuple(
                    Comparison(
                        str(c["channel"]),
                        _number(c["error"]),
                        {str(name): _number(error) for name, error in c["baselines"].items()},
                        bool(c["held_out"]),
                        str(c["unit"]),
                        _number(c["resolution"]),
                        str(c["measure"]),
                        _names(c.get("beaten_by")),
                    )
                    for c in plain["comparisons"]
                ),
                tuple(
                    Criterion(
                        str(c["name"]),
                        _number(c["value"], np.nan),
                        _number(c["limit"]),
                        bool(c["at_most"]),
                        str(c["unit"]),
                        _grade(c["missed"]),
                        str(c["advice"]),
                        str(c["section"]),
                    )
                    for c in plain["criteria"]
                ),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise FitError(f"malformed verdict: {error!r}") from error


def _grade(word: Any) -> Grade:
    known = [grade.value for grade in Grade]
    if word not in known:
        raise FitError(f"unknown grade {word!r} of a verdict; available: {listing(known)}")
    return Grade(word)


def _names(value: Any) -> tuple[str, ...] | None:
    """Names of plain data; None where they were not stored."""
    return None if value is None else tuple(str(name) for name in value)


def _number(value: Any, missing: float = np.inf) -> float:
    """A number of plain data; JSON stores non-finite ones as words or as null."""
    return missing if value is None else float(value)
