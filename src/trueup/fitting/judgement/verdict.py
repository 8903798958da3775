"""The verdict on a result: use it, look at something first, or do not use it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from trueup.errors import FitError, listing


class Grade(Enum):
    """How far a result can be trusted."""

    USE = "use"
    LOOK = "look"
    DO_NOT_USE = "do not use"

    @property
    def severity(self) -> int:
        """Rank of the grade: 0 use, 1 look, 2 do not use."""
        return list(Grade).index(self)

    @classmethod
    def worst(cls, grades: Sequence["Grade"]) -> "Grade":
        """The gravest of some grades; ``USE`` of none."""
        return max(grades, key=lambda grade: grade.severity, default=cls.USE)


@dataclass(frozen=True)
class Reason:
    """One reason for a verdict.

    Attributes:
        grade: best grade that a result with this reason can have; ``USE`` of what speaks for it.
        sentence: what was found and, where something is wrong, what to do.
        section: anchor of the report's section that shows it, or empty.
    """

    grade: Grade
    sentence: str
    section: str = ""


@dataclass(frozen=True)
class Comparison:
    """Error of a result in one channel, beside the errors of the baselines on the same samples.

    Attributes:
        channel: name of the channel, with the horizon where there are several.
        error: error of the result; infinite where its prediction diverges.
        baselines: error of each baseline, by name; infinite where it diverges.
        held_out: whether the fit has not seen these samples.
        unit: unit of the errors.
        resolution: error below which a difference means nothing, such as half a count of an
            encoder; errors below it count as equal.
        measure: name of the error: ``"RMSE"`` or ``"MAE"``.
    """

    channel: str
    error: float
    baselines: Mapping[str, float]
    held_out: bool = True
    unit: str = ""
    resolution: float = 0.0
    measure: str = "RMSE"

    def ratio(self, baseline: str) -> float:
        """Error of the result over that of a baseline: below 1 the result is better."""
        own, other = self.error, self.baselines[baseline]
        if not np.isfinite(own):
            return np.inf
        if not np.isfinite(other):  # a baseline that diverges beats nothing
            return 0.0
        own, other = max(own, self.resolution), max(other, self.resolution)
        if other == 0:
            return 1.0 if own == 0 else np.inf
        return float(own / other)


@dataclass(frozen=True)
class Criterion:
    """A requirement on a result that no data can score, such as how steadily a walk goes on.

    Attributes:
        name: what is measured, as a noun.
        value: what the result reaches; NaN counts as missed.
        limit: threshold.
        at_most: whether ``value`` has to stay at or below ``limit`` rather than at or above it.
        unit: unit of both.
        missed: grade of a result that misses it: ``LOOK`` or ``DO_NOT_USE``.
        advice: what to do where it is missed.
        section: anchor of the report's section that shows it.
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
        """Whether the value is on the right side of the limit."""
        return bool(self.value <= self.limit if self.at_most else self.value >= self.limit)

    @property
    def sentence(self) -> str:
        """The criterion in words, with what to do where it is missed."""
        side = ("at most" if self.at_most else "at least") + f" {self.limit:.4g}"
        text = f"{self.name}: {self.value:.4g}{self._unit} ({side}{self._unit} is wanted)."
        return text if self.met or not self.advice else f"{text} {self.advice}"

    @property
    def _unit(self) -> str:
        return f" {self.unit}" if self.unit else ""


@dataclass(frozen=True)
class Verdict:
    """Grade of a result, with the reasons, the comparisons and the criteria behind it.

    Attributes:
        reasons: the gravest first.
        comparisons: errors beside those of the baselines.
        criteria: requirements, met and missed.
    """

    reasons: tuple[Reason, ...]
    comparisons: tuple[Comparison, ...] = ()
    criteria: tuple[Criterion, ...] = ()

    @property
    def grade(self) -> Grade:
        """The worst grade of the reasons; ``LOOK`` where there is none."""
        if not self.reasons:
            return Grade.LOOK
        return Grade.worst([reason.grade for reason in self.reasons])

    def lines(self) -> list[str]:
        """The verdict as lines of text: the grade, then the reasons, the gravest first."""
        marks = {Grade.USE: "+", Grade.LOOK: "-", Grade.DO_NOT_USE: "!"}
        return [
            f"Verdict: {self.grade.value}",
            *(f"  {marks[reason.grade]} {reason.sentence}" for reason in self.reasons),
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
        """The verdict of :meth:`to_dict`, also after a way through JSON.

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
            raise FitError(f"this is no verdict: {error!r}") from error


def _grade(word: Any) -> Grade:
    known = [grade.value for grade in Grade]
    if word not in known:
        raise FitError(f"a verdict has no grade {word!r}; there are {listing(known)}")
    return Grade(word)


def _number(value: Any, missing: float = np.inf) -> float:
    """A number of plain data; JSON spells those that are not finite as words or as null."""
    return missing if value is None else float(value)
