"""Answers of trueup to a case: what the commands print as JSON, as one row of results."""

import contextlib
import io
import json
from dataclasses import dataclass, field

from trueup.cli import main as trueup

NOT_WARNED = ("good", "info", "note", "use")
"""Severities and grades of sentences that do not warn."""


def called(*words: object) -> tuple[int, dict]:
    """Exit code and JSON answer of a command."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(io.StringIO()):
        code = trueup([*map(str, words), "--json"])
    text = shown.getvalue().strip()
    return code, json.loads(text) if text.startswith("{") else {"message": text}


@dataclass
class Answered:
    """What a case was answered.

    Attributes:
      code: exit code of the command that gives the verdict, or of the one that refused.
      grade: ``"use"``, ``"look"``, ``"do not use"``; ``"none"`` where there is no verdict.
      reasons: sentences of the verdict that are not ``"use"``.
      insights: severity and sentence of each insight.
      causes: ranked causes, where the answer has them.
      message: closing message, or that of the refusal.
      intervals: by name of a parameter with a known truth: low, high, truth.
      undetermined: parameters that the data do not determine.
      distance: error of the result on a fresh motion in units of the noise; None if not computed.
      check: exit code, sentences that warn, whether all is said to be determined, decision.
      words: names of joints, parameters and recordings, which sentences may hold.
      about: what the case was played on.
    """

    code: int = 0
    grade: str = "none"
    reasons: list[str] = field(default_factory=list)
    insights: list[tuple[str, str]] = field(default_factory=list)
    causes: list[str] = field(default_factory=list)
    message: str = ""
    intervals: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    undetermined: list[str] = field(default_factory=list)
    distance: float | None = None
    check: dict = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    about: str = ""

    @classmethod
    def of(cls, code: int, answer: dict, truth: dict[str, float] | None = None) -> "Answered":
        """The answer of a command that gives a verdict.

        Args:
          code: its exit code.
          answer: its JSON.
          truth: true values by name of the parameter.
        """
        verdict = answer.get("verdict") or {}
        rows = answer.get("parameters") or []
        rows = rows if isinstance(rows, list) else []
        known = truth or {}
        return cls(
            code=code,
            grade=verdict.get("grade", "none"),
            reasons=[r["sentence"] for r in verdict.get("reasons", []) if r["grade"] != "use"],
            insights=[(i["severity"], i["sentence"]) for i in answer.get("insights") or []],
            causes=[f"{c['cause']}: {c['sentence']}" for c in answer.get("causes") or []],
            message=str(answer.get("message", "")),
            intervals={
                p["name"]: (p["low"], p["high"], known[p["name"]])
                for p in rows
                if p["name"] in known and p.get("low") is not None and p.get("high") is not None
            },
            undetermined=[p["name"] for p in rows if not p.get("determined", True)],
            words=[p["name"] for p in rows],
        )


def checked(code: int, answer: dict) -> dict:
    """What ``check`` said: exit code, sentences that warn, determined or not, decision."""
    quality = answer.get("quality") or {}
    warned = [
        finding["sentence"]
        for recording in quality.values()
        for finding in recording.get("findings", [])
        if finding["severity"] not in NOT_WARNED
    ]
    found = answer.get("identifiability") or {}
    if not found.get("identifiable", True):
        warned += found.get("sentences", [])
    concluded = answer.get("conclusion") or {}
    warned += [*answer.get("simulation", []), *concluded.get("reasons", [])]
    if code:
        warned.append(str(answer.get("message", ""))[:300])
    return {
        "code": code,
        "warned": list(dict.fromkeys(warned)),
        "identifiable": found.get("identifiable"),
        "decision": concluded.get("decision"),
    }
