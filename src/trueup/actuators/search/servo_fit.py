"""Result of a servo fit, and the content of its files."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trueup._rich_display import RichDisplay
from trueup._version import __version__
from trueup.actuators.assess._evaluate import Evaluation
from trueup.actuators.assess.bench_causes import BenchCause
from trueup.actuators.assess.cross_validation_errors import (
    CrossValidationErrors,
    cross_validation_errors,
)
from trueup.actuators.assess.fit_assessment import ServoAssessment
from trueup.actuators.assess.fit_verdict import verdict_of
from trueup.actuators.assess.held_out_logs import HeldOutRefit
from trueup.actuators.assess.odd_logs import OddLog
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.fit_settings import FitSettings, uses_up_trials
from trueup.actuators.search.problem import ServoProblem
from trueup.actuators.search.spec import FitSpec
from trueup.actuators.selection.model_choice import ModelChoice
from trueup.fitting.judgement.verdict import Verdict
from trueup.fitting.solution import Solution, Status
from trueup.runs.store.solution_file import space_records

FORMAT_VERSION = 1
"""Version of the content of ``solution.json`` of a servo fit."""


@dataclass
class ServoFit(RichDisplay):
    """Result of :func:`trueup.actuators.fit`."""

    displayed_by = "trueup.runs.display:of_run"

    model: ServoModel
    """The fitted model, with its provenance."""
    settings: FitSettings
    """Settings of the fit."""
    problem: ServoProblem
    """Problem of the training logs; its simulator gives the motion."""
    solution: Solution
    """Result of the search, with covariance and intervals of the free parameters."""
    training_logs: list[ServoLog]
    """Training logs."""
    held_out_logs: list[ServoLog]
    """Held-out logs."""
    training: Evaluation
    """Errors on the training logs."""
    held_out: Evaluation | None
    """Errors on the held-out logs; None without any."""
    training_start: Evaluation
    """Errors of the model before the fit on the training logs: with the catalogue's values,
    whatever the start of the search."""
    held_out_start: Evaluation | None
    """Errors of the model before the fit on the held-out logs."""
    assessment: ServoAssessment
    """Intervals, bounds, identifiability, advice."""
    findings: tuple[str, ...] = ()
    """Findings, such as a slipped unit in the logs, or a model with a larger error than a trivial
        prediction."""
    output: Path | None = None
    """The parameter file; None for a fit in memory."""
    directory: Path | None = None
    """The run directory; None for a fit in memory."""
    skipped: list[str] = field(default_factory=list)
    """Reasons for skipped logs."""
    unseen: HeldOutRefit | None = None
    """Errors of a second fit on logs held out of it, if no log is held out of the fit."""

    choice: ModelChoice | None = None
    """Selection of friction model and terms; None if they were given."""

    odd_logs: tuple[OddLog, ...] = ()
    """Training logs with an error far above that of the others."""

    bench_causes: tuple[BenchCause, ...] = ()
    """Descriptions of the bench that explain most of the error if they are scaled."""

    wrong_gain: str | None = None
    """Sentence on a fitted gain of the firmware that is not that of the servo's entry."""

    missing: tuple[str, ...] = ()
    """Terms and friction that the model lacks, as sentences, the most important first; empty where
    its residuals are noise."""

    @property
    def reached_its_end(self) -> bool:
        """Whether the search converged, or used up its trials if it is a method that always
        does."""
        endless = uses_up_trials(self.settings.method)
        return self.solution.success or (
            endless and self.solution.status is Status.EVALUATION_LIMIT
        )

    @property
    def at_bound(self) -> tuple[str, ...]:
        """Parameters that ended on a bound."""
        hits = zip(self.problem.space.names, self.assessment.at_bound, strict=True)
        return tuple(name for name, hit in hits if hit)

    @property
    def verdict(self) -> Verdict:
        """Verdict on the fit, with reasons."""
        return verdict_of(
            self.solution,
            self.problem.space,
            self.assessment,
            training=(self.training, self.training_start),
            held_out=(self.held_out, self.held_out_start),
            method=self.settings.method,
            unseen=self.unseen,
            left_out=self._left_out(),
            logs=self.training_logs,
            odd=self.odd_logs,
            causes=self.bench_causes,
            missing=self.missing,
            wrong_gain=self.wrong_gain,
        )

    def _left_out(self) -> CrossValidationErrors | None:
        """Cross-validation errors of the model selection, if no log is held out."""
        if self.choice is None or self.held_out is not None:
            return None
        return cross_validation_errors(self.choice, self.training_logs, self.training_start)

    def to_dict(self) -> dict[str, Any]:
        """All results as plain data, the content of ``solution.json``; errors in rad."""
        space = self.problem.space
        records = space_records(space)
        intervals = self.assessment.intervals
        return {
            "format_version": FORMAT_VERSION,
            "trueup": __version__,
            "kind": FitSpec.kind,
            "name": f"{self.model.servo.name} {self.model.friction.name}",
            "actuator": self.model.servo.name,
            "model": self.model.friction.name,
            "terms": list(self.model.terms),
            "verdict": self.verdict.to_dict(),
            "status": self.solution.status.value,
            "success": self.solution.success,
            "message": self.solution.message,
            "advice": self.solution.status.advice,
            "cost": self.solution.cost,
            "mae": self.training.mae,
            "training": self.training.to_dict(),
            "held_out": None if self.held_out is None else self.held_out.to_dict(),
            "start": {
                "training": self.training_start.mae,
                "held_out": None if self.held_out_start is None else self.held_out_start.mae,
            },
            "parameters": [
                {
                    "name": name,
                    "value": float(self.solution.x[i]),
                    **records[name],
                    "interval": intervals[i].tolist(),
                    "standard_error": float(self.assessment.standard_errors[i]),
                    "at_bound": bool(self.assessment.at_bound[i]),
                }
                for i, name in enumerate(space.names)
            ],
            "fixed": dict(self.settings.fixed),
            "known": self.assessment.known.to_dict(),
            "widening": self.assessment.widening.tolist(),
            "confidence": self.assessment.to_dict(space.names, self.settings.level),
            "odd_logs": [one.to_dict() for one in self.odd_logs],
            "bench_causes": [one.to_dict() for one in self.bench_causes],
            "missing": list(self.missing),
            "wrong_gain": self.wrong_gain,
            "choice": None if self.choice is None else self.choice.to_dict(),
            "front": None if self.solution.front is None else _front(self.solution.front),
            "findings": list(self.findings),
            "notes": list(self.findings) + list(self.assessment.sentences) + self.skipped,
            "stats": self.solution.stats,
            "output": None if self.output is None else str(self.output),
            "directory": None if self.directory is None else str(self.directory),
            "provenance": self.solution.provenance,
        }

    def provenance(self) -> dict[str, Any]:
        """Provenance in the parameter file; errors in rad."""
        confidence = self.assessment.to_dict(self.problem.space.names, self.settings.level)
        return {
            **self.solution.provenance,
            "status": self.solution.status.value,
            "grade": self.verdict.grade.value,
            "evaluations": self.solution.stats.get("evaluations"),
            "objective": {"kind": self.problem.objective.kind, "value": self.solution.cost},
            "mae": {
                "training": self.training.mae,
                "held_out": None if self.held_out is None else self.held_out.mae,
                "training_start_values": self.training_start.mae,
                "at_rest": self.training.at_rest,
                "unit": "rad",
            },
            "training_logs": dict(self.training.by_log),
            "held_out_logs": {} if self.held_out is None else dict(self.held_out.by_log),
            "conditions": self.problem.simulator.conditions,
            "fixed": dict(self.settings.fixed),
            "findings": list(self.findings),
            **({} if self.choice is None else {"choice": self.choice.to_dict()}),
            **confidence,
        }


def _front(front: Any) -> dict[str, Any]:
    return {
        "objectives": list(front.objectives),
        "costs": np.asarray(front.costs).tolist(),
        "x": np.asarray(front.x).tolist(),
    }
