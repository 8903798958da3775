"""Results of the bank: rows of cases, and whether each answer is good."""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from scipy.stats import binom

from bank.answers import NOT_WARNED, Answered
from bank.grading import MATTERS
from bank.situation import Situation

CHANCE = 0.01
"""Chance of so many intervals of 95 % without the truth, below which they do not hold."""

CRASHED = 1
"""Exit code of a case that ended in an exception."""

TRUE_THERE = (
    "weakly d",
    "hardly d",
    "not distinguishable",
    "can only be determined as",
    "no effect on the recorded signals",
    "the recorded signals determine",
    "do not determine",
    "fit as well with",
    "the response lags its command",
    "looks clipped",
    "nothing moves for the first",
)
"""Parts of sentences that are true of a right model: what its recordings hold, or do not."""


@dataclass
class Row:
    """One case.

    Attributes:
      situation: what was played.
      size: size of the fault.
      seed: seed.
      cpu: CPU time [s].
      answered: what was answered.
    """

    situation: Situation
    size: int
    seed: int
    cpu: float
    answered: Answered

    @property
    def absorbed(self) -> bool:
        """Whether a planted fault does not change what the result predicts."""
        away = self.answered.distance
        return away is not None and away < MATTERS

    @property
    def held(self) -> int:
        """Intervals that hold the truth."""
        return sum(low <= true <= high for low, high, true in self.answered.intervals.values())

    @property
    def good(self) -> bool:
        """Whether the answer is what is right for the case."""
        answered = self.answered
        if answered.code == CRASHED:
            return False
        use = answered.grade == "use"
        match self.situation.sort:
            case "right":
                return use and self.intervals_hold
            case "refused":
                return answered.code == 2
            case "little":
                return not use or self.harmless
        return not use or (self.absorbed and (self.place is not None or self.harmless))

    @property
    def harmless(self) -> bool:
        """Whether the result predicts well and its intervals hold the truth."""
        return self.absorbed and self.intervals_hold

    @property
    def intervals_hold(self) -> bool:
        """Whether no more intervals miss the truth than chance explains."""
        count = len(self.answered.intervals)
        return bool(binom.sf(count - self.held - 1, count, 0.05) > CHANCE)

    @property
    def listed(self) -> list[str]:
        """Causes as they are ranked: the list of the answer, else reasons, else the refusal."""
        answered = self.answered
        if answered.grade == "none":
            return [answered.message, *answered.check.get("warned", [])]
        return answered.causes or answered.reasons

    @property
    def place(self) -> int | None:
        """Place of the planted cause among those listed, from 0; None where it is not named."""
        named = [any(w in text.lower() for w in self.situation.causes) for text in self.listed]
        return named.index(True) if True in named else None

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """Where and what the answer warns."""
        answered = self.answered
        found = [("reason", text) for text in answered.reasons]
        found += [("insight", t) for s, t in answered.insights if s not in NOT_WARNED]
        found += [("cause", text) for text in answered.causes]
        found += [("check", text) for text in answered.check.get("warned", [])]
        if answered.grade == "none":
            found.append(("refusal", answered.message))
        return found

    @property
    def false_warnings(self) -> list[tuple[str, str]]:
        """Warnings that are not true of a right model."""
        return [(w, t) for w, t in self.warnings if not any(n in t.lower() for n in TRUE_THERE)]

    @property
    def contradicts(self) -> bool:
        """Whether ``check`` and the result disagree about what is determined."""
        check, answered = self.answered.check, self.answered
        if check.get("identifiable") is None or answered.grade == "none":
            return False
        if check.get("decision") == "stop" and answered.grade == "use":
            return True
        return bool(check["identifiable"]) == bool(answered.undetermined)


def kind_of(text: str, words: list[str]) -> str:
    """A sentence without its numbers and names: what sentences of one kind have in common."""
    for word in sorted(set(words), key=len, reverse=True):
        text = re.sub(rf"\b{re.escape(word)}\b", "X", text, flags=re.IGNORECASE)
    text = re.sub(r"\([^()]*\)", "", text)
    text = re.sub(r"\bX_\w+", "X", text)
    text = re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?", "#", text)
    text = re.sub(r"X( torque)?((,? and|,)? X( torque)?)+", "X", text)
    text = re.sub(r" +", " ", text)
    # what follows the first statement is figures
    return re.split(r"(?<=[a-z)])[:;(]| compared with| beside", text)[0].strip()[:140]


def append(file: Path, row: Row) -> None:
    """Add a row to a file of results."""
    content = {
        "situation": row.situation.name,
        "capability": row.situation.capability,
        "size": row.size,
        "seed": row.seed,
        "cpu": row.cpu,
        **asdict(row.answered),
    }
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(content) + "\n")


def read(files: list[Path], known: list[Situation]) -> list[Row]:
    """Rows of files of results; rows of situations that no longer exist are left out."""
    by_name = {(s.capability, s.name): s for s in known}
    rows = []
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
            content = json.loads(line)
            key = content.pop("capability"), content.pop("situation")
            size, seed, cpu = (content.pop(name) for name in ("size", "seed", "cpu"))
            if key in by_name:
                rows.append(Row(by_name[key], size, seed, cpu, Answered(**content)))
    return rows


@dataclass
class Alarm:
    """A kind of sentence that right models got.

    Attributes:
      where: what raised it.
      kind: the sentence without numbers and names.
      pages: pages that hold it, by capability.
      true: whether it is true of right models.
    """

    where: str
    kind: str
    pages: dict[str, int]
    true: bool


def alarms(rows: list[Row]) -> tuple[list[Alarm], dict[str, int]]:
    """Kinds of warnings on pages of right models, the most frequent first, and pages."""
    found: dict[tuple[str, str], Alarm] = {}
    count: dict[str, int] = {}
    for row in rows:
        if row.situation.sort != "right":
            continue
        capability = row.situation.capability
        count[capability] = count.get(capability, 0) + 1
        false = set(row.false_warnings)
        kinds = {(w, kind_of(t, row.answered.words), (w, t) not in false) for w, t in row.warnings}
        for where, kind, true in kinds:
            alarm = found.setdefault((where, kind), Alarm(where, kind, {}, true))
            alarm.pages[capability] = alarm.pages.get(capability, 0) + 1
    order = sorted(found.values(), key=lambda alarm: (alarm.true, -sum(alarm.pages.values())))
    return order, count
