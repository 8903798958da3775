"""A comparison of servo models as a piece of work; see :mod:`trueup.runs.job` for the order."""

import dataclasses
import functools
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueup._version import __version__
from trueup.actuators.catalogue.entries import load_catalogue, servos
from trueup.actuators.catalogue.parameter_file import load_model, save_model
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.log_splits import split_logs
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.report.compare_report import comparison_image, comparison_report
from trueup.actuators.search.fit_job import ServoFitJob
from trueup.actuators.search.prepared_fit import default_threads
from trueup.actuators.search.run_logs import Logs, RunLogs
from trueup.actuators.search.servo_fit import ServoFit
from trueup.actuators.selection._choose_model import TooFewTrialsError, choose_model
from trueup.actuators.selection.model_choice import ModelChoice, TriedModel
from trueup.actuators.selection.model_comparison import ModelComparison, compare_models
from trueup.actuators.selection.parts import split_quantities
from trueup.actuators.selection.settings import ComparisonSettings
from trueup.actuators.selection.user_models import fitted_to, given_models, mark_of_models
from trueup.errors import FitError, ParameterError, RecordingError, RunDirectoryError, listing
from trueup.reports import Page
from trueup.runs import Job, JobRun, Outcome, read_solution
from trueup.runs.loop.budget import Budget
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.yaml_file import read_mapping

KIND = "comparison"
"""Kind of the run, as ``experiment.yaml`` names it."""

CHOICE, FITS = "choice.json", "fits"
"""File of the inner split, and folder of the searches of the fits."""


@dataclass
class FittedModels:
    """Models of a comparison, fitted and given."""

    models: dict[str, ServoModel]
    """Models by label, in the order of the tables."""
    fitted: list[str]
    """Labels of those that were fitted here."""
    choice: ModelChoice | None
    """Choice of the extended model."""
    notes: list[str]
    """Things to look at, such as a fit that has not converged."""
    evaluations: int
    """Candidates of all fits."""


class ComparisonJob(Job):
    """A comparison of servo models: those of parameter files, and those that are fitted here.

    Args:
      params: parameter files of models.
      logs: evenly sampled logs, or where they are.
      settings: settings.
      servo: servo, or its name in the catalogue; that of the parameter files, or else of the logs,
        where None.
      name: name of the run.
      limits: another number of evaluations of each fit than the settings have.
      catalogue: YAML file with further servos.
      skip_bad_logs: leave logs out that cannot be used.
      anyway: take parameter files of fits whose logs have changed too; every file says so.
    """

    kind = KIND
    noun = "a comparison of servo models"
    known_limits = ("max_evaluations",)
    searched = False

    def __init__(
        self,
        params: Sequence[str | os.PathLike[str]],
        logs: Logs | RunLogs,
        settings: ComparisonSettings | None = None,
        *,
        servo: str | Servo | None = None,
        name: str = "comparison",
        limits: Budget | None = None,
        catalogue: str | os.PathLike[str] | None = None,
        skip_bad_logs: bool = False,
        anyway: bool = False,
    ):
        self.params = [Path(path) for path in dict.fromkeys(params)]
        self.source = logs if isinstance(logs, RunLogs) else RunLogs(logs, skip_bad_logs)
        self.anyway = anyway
        self.comparison = settings or ComparisonSettings()
        self.servo = servo
        self.name = name
        self.catalogue = None if catalogue is None else Path(catalogue)
        self.seed = self.comparison.fit.seed
        self.notes = []
        self.given_limits = limits or Budget()
        self.limited(self.given_limits)
        self._former: RunDirectory | None = None
        self._lacking: list[str] = []
        self._supplied = False
        if not self.params and not self.comparison.models:
            raise ParameterError("--given-only compares parameter files: give them with --params")

    # --- experiment.yaml -------------------------------------------------------------------------

    def plain(self, directory: Path) -> dict[str, Any]:
        """Everything needed to make the comparison again; files relative to the run."""
        servo = self.servo.name if isinstance(self.servo, Servo) else self.servo
        return {
            "name": self.name,
            "actuator": servo,
            "anyway": self.anyway,
            "params": [os.path.relpath(path, directory) for path in self.params],
            **self.source.plain(directory),
            "catalogue": None
            if self.catalogue is None
            else os.path.relpath(self.catalogue, directory),
            "settings": self.comparison.to_dict(),
            "only_in_python": self.only_in_python,
        }

    @property
    def only_in_python(self) -> list[str]:
        """Objects that no file holds, so that the run is continued from Python only."""
        if self._former is not None:
            return list(self._lacking)
        found = [] if self.source.in_files else ["logs"]
        if isinstance(self.servo, Servo) and servos().get(self.servo.name) != self.servo:
            found.append("servo")
        return found

    @classmethod
    def from_plain(
        cls, content: dict[str, Any], directory: RunDirectory, folder: Path | None
    ) -> "ComparisonJob":
        """The comparison of a run directory."""
        if missing := [key for key in ("settings", "params") if key not in content]:
            raise RunDirectoryError(
                f"{directory.experiment} is damaged: it lacks {listing(missing)}"
            )

        def place(relative: str) -> Path:
            path = Path(os.path.normpath(directory.path / relative))
            return path if folder is None or path.exists() else folder / path.name

        catalogue = content.get("catalogue")
        job = cls(
            [place(each) for each in content["params"]],
            RunLogs.from_plain(content, directory, folder),
            ComparisonSettings.from_dict(content["settings"]),
            servo=content.get("actuator"),
            name=str(content.get("name")),
            catalogue=None if catalogue is None else place(catalogue),
            anyway=bool(content.get("anyway")),
        )
        job._former = directory
        job._lacking = list(content.get("only_in_python") or ())
        return job

    # --- inputs ----------------------------------------------------------------------------------

    def inputs(self) -> Sequence[Path | Mapping[str, Any]]:
        """Parameter files, and logs that lie in files."""
        return [*self.params, *self.source.inputs()]

    def input_files(self) -> list[Path]:
        """Parameter files and logs."""
        return [*self.params, *self.source.files()]

    def prepare(self) -> None:
        """Read and check models and logs."""
        if self._lacking and not self._supplied:
            raise RunDirectoryError(
                f"{self._lacking_words()}: resume it with  trueup.actuators.compare(..., "
                "directory=..., resume=True)  and the same objects"
            )
        if self.catalogue is not None:
            load_catalogue(self.catalogue, replace=True)
        _ = self.given, self.split, self.fitted_servo, self.chooses

    def _lacking_words(self) -> str:
        where = "" if self._former is None else f" of {self._former.path}"
        return f"the {listing(self._lacking)}{where} were objects in Python, which no file holds"

    @functools.cached_property
    def given(self) -> dict[str, ServoModel]:
        """Models of the parameter files, by label."""
        servo = self.servo.name if isinstance(self.servo, Servo) else self.servo
        return given_models(self.params, servo=servo, logs=self.source.logs, anyway=self.anyway)

    @property
    def mark(self) -> str | None:
        return mark_of_models(self.given)

    @functools.cached_property
    def split(self) -> tuple[list[ServoLog], list[ServoLog]]:
        """Training logs, and those held out."""
        fit = self.comparison.fit
        return split_logs(
            self.source.logs,
            kp=fit.validation_kp,
            mass=fit.validation_mass,
            trajectory=fit.validation_trajectory,
        )

    @functools.cached_property
    def fitted_servo(self) -> str | Servo:
        """Servo of the fits: the one named, or that of the parameter files, or of the logs."""
        if self.servo is not None:
            return self.servo
        servos = {model.servo.name: model.servo for model in self.given.values()}
        if len(servos) > 1 and self.comparison.models:
            raise ParameterError(
                f"the parameter files are of several servos, {listing(servos)}: name one, "
                "--actuator"
            )
        return next(iter(servos.values()), self.split[0][0].motor)

    @functools.cached_property
    def chooses(self) -> bool:
        """Whether friction model and extended terms are chosen too.

        Raises:
            RecordingError: they are asked for, and the training logs are of one kind.
        """
        settings = self.comparison
        if settings.extended is False or not settings.models:
            return False
        try:
            split_quantities(self.split[0], settings.split_by)
        except RecordingError:
            if settings.extended or settings.terms is not None or settings.split_by is not None:
                raise
            self.notes = [
                "friction models alone are compared: the training logs have one gain, one mass and "
                "one trajectory, which cannot tell extended terms apart"
            ]
            return False
        return True

    def check_execution(self) -> None:
        """Check the number of threads."""
        workers = self.execution.workers
        if workers is not None and workers < 1:
            raise FitError(f"workers is {workers}: the fits take 1 thread or more")

    def has_progress(self, directory: RunDirectory) -> bool:
        """Whether a fit has begun."""
        return any((directory.path / FITS).glob("*/study.sqlite"))

    # --- resume ----------------------------------------------------------------------------------

    def identity(self) -> dict[str, Any]:
        """Servo and settings; trials may be others."""
        settings = self.comparison.to_dict()
        fit = settings.pop("fit")
        del fit["trials"], settings["png"]
        servo = self.servo.name if isinstance(self.servo, Servo) else self.servo
        return {**fit, **settings, "actuator": servo}

    def continuing(self, former: Job) -> Job:
        """The comparison as it was begun, with the logs where no file holds them."""
        assert isinstance(former, ComparisonJob)
        former.comparison = dataclasses.replace(former.comparison, png=self.comparison.png)
        if former._lacking:
            former.source, former.servo, former._supplied = self.source, self.servo, True
        return former.limited(self.given_limits)

    def limited(self, limits: Budget) -> Job:
        """The comparison with another number of trials of each fit, where one is given."""
        super().limited(limits)
        if limits.max_evaluations is not None:
            fit = dataclasses.replace(self.comparison.fit, trials=limits.max_evaluations)
            self.comparison = dataclasses.replace(self.comparison, fit=fit)
        return self

    # --- fits and result -------------------------------------------------------------------------

    def origin(self, directory: Path) -> dict[str, Any]:
        """Settings that ``provenance.json`` holds."""
        return self.comparison.to_dict()

    def solve(self, run: JobRun) -> FittedModels:
        """Choose the extended model, and fit what no parameter file gives."""
        run.describe()
        settings, given = self.comparison, self.given
        choice = self._choice(run) if self.chooses else None
        known = {model.friction.name for model in given.values()}
        wanted: dict[str, tuple[str, tuple[str, ...]]] = {
            name: (name, ()) for name in settings.models if name not in known
        }
        if choice is not None and choice.chosen.label not in {*wanted, *given}:
            wanted[choice.chosen.label] = (choice.chosen.model, choice.chosen.terms)
        fitted: dict[str, ServoModel] = {}
        notes, evaluations = [], 0
        for label, (model, terms) in wanted.items():
            result = self._fit(run, label, model, terms)
            fitted[label] = result.model
            save_model(result.model, run.directory.inside(f"{label}.json"))
            evaluations += int(result.solution.stats.get("evaluations", 0))
            if not result.reached_its_end:
                status = result.solution.status.value
                notes.append(f"the fit of {label} has not converged ({status}): raise --trials")
            self._tell(run, f"fitted {label}: {1e3 * result.training.mae:.2f} mrad")
        return FittedModels(
            _sorted({**fitted, **given}),
            list(fitted),
            choice,
            [*notes, *self.notes, *self._seen_before()],
            evaluations,
        )

    def _choice(self, run: JobRun) -> ModelChoice | None:
        """Friction model and terms of the inner split; read where it was made before.

        None where the trials are too few for it, and it was not asked for.
        """
        settings, file = self.comparison, run.directory.inside(CHOICE)
        if run.resume and file.is_file():
            return ModelChoice.from_dict(atomic.read_json(file))

        def tell(tried: TriedModel) -> None:
            words = f"tried {tried.label}: {1e3 * tried.error:.2f} mrad on logs left out"
            self._tell(run, words)

        try:
            choice = choose_model(
                self.fitted_servo,
                self.split[0],
                settings=self._fit_settings(),
                models=settings.models,
                terms=settings.terms,
                by=settings.split_by,
                on_tried=tell,
                workers=self.execution.workers or default_threads(),
                limit=settings.fit.trials,
            )
        except TooFewTrialsError as error:
            if settings.extended:
                raise
            self.notes = [f"friction models alone are compared: {error}"]
            return None
        atomic.write_json(file, choice.to_dict())
        return choice

    def _fit_settings(self, terms: tuple[str, ...] = ()) -> Any:
        """Settings of a fit to the training logs, which holds out nothing further."""
        nothing: dict[str, Any] = dict.fromkeys(
            ("validation_kp", "validation_mass", "validation_trajectory"), ()
        )
        fit = self.comparison.fit
        return dataclasses.replace(fit, **nothing, terms=(*fit.terms, *terms))

    def _fit(self, run: JobRun, label: str, model: str, terms: tuple[str, ...]) -> ServoFit:
        """A fit whose search is kept in a folder of the run."""
        job = ServoFitJob(
            self.fitted_servo, model, self.split[0], self._fit_settings(terms), name=label
        )
        job.execution = self.execution
        place = run.directory.inside(f"{FITS}/{label}")
        begun = (place / "run.json").is_file()
        kept = RunDirectory.open(place) if begun else RunDirectory.create(place)
        return job.fit_in(kept, resume=begun, verbose=run.verbose)

    def _tell(self, run: JobRun, words: str) -> None:
        if run.verbose:
            print(words, file=sys.stderr)

    def _seen_before(self) -> list[str]:
        """Warnings where a file says that it was fitted to logs that are held out here."""
        notes = []
        for label, model in self.given.items():
            if seen := fitted_to(model, self.split[1]):
                notes.append(
                    f"{label} was fitted to {listing(seen, 3)}, held out here: its held-out error "
                    "is too good"
                )
        return notes

    def stopped(self, directory: RunDirectory) -> str:
        """Saved parts of a comparison that was stopped."""
        begun = sorted(place.name for place in (directory.path / FITS).glob("*"))
        done = [label for label in begun if directory.inside(f"{label}.json").is_file()]
        return f"stopped; {listing(done, 12)} fitted" if done else "stopped"

    def _compared(self, models: dict[str, ServoModel]) -> ModelComparison:
        fit, (training, held_out) = self.comparison.fit, self.split
        files = dict(zip(self.given, map(str, self.params), strict=True))
        return compare_models(
            models,
            training,
            held_out,
            kind=fit.objective.kind,
            origins={label: files.get(label, "fitted here") for label in models},
            scheme=fit.scheme,
            reset_period=fit.reset_period,
            vin=fit.vin,
        )

    def finish(self, run: JobRun, solution: FittedModels) -> Outcome:
        """Compare the models, and say which of them to take."""
        found, notes = self._compared(solution.models), solution.notes
        has_held_out, choice = bool(found.is_held_out.any()), solution.choice
        if choice is not None and not has_held_out and choice.chosen.label in solution.models:
            # its errors are of logs left out, the only ones that no fit has seen
            label, reason = choice.chosen.label, f"{choice.rule} {choice.reason}"
            found = dataclasses.replace(found, recommended=label, reason=reason)
        chosen = next(m for m in found.models if m.label == found.recommended)
        names = ["comparison.html", "comparison.json"]
        names += ["comparison.png"] if self.comparison.png else []
        names += [f"{label}.json" for label in solution.fitted]
        summary = {
            "format_version": self.format_version,
            "trueup": __version__,
            "kind": KIND,
            "name": self.name,
            "status": "finished",
            "message": f"Take {found.recommended}. {found.reason}",
            "cost": chosen.held_out if has_held_out else chosen.training,
            "parameters": [
                {
                    "name": each.name,
                    "value": float(chosen.model.values[each.name]),
                    "lower": each.lower,
                    "upper": each.upper,
                    "unit": each.unit,
                }
                for each in chosen.model.parameters
            ],
            "stats": {"evaluations": solution.evaluations},
            **found.to_dict(notes),
            "extended": None if choice is None else choice.to_dict(),
            "notes": notes,
            "skipped": list(self.source.skipped),
            "fitted": solution.fitted,
            "files": [str(run.directory.inside(name)) for name in names],
        }
        self._choice_made = choice
        return Outcome(found, summary)

    _choice_made: ModelChoice | None = None

    def write(self, run: JobRun, outcome: Outcome) -> None:
        """Write ``comparison.json``, and the picture."""
        atomic.write_json(run.directory.inside("comparison.json"), outcome.summary)
        if self.comparison.png:
            comparison_image(outcome.result, run.directory.inside("comparison.png"))

    def bare_summary(self, solution: FittedModels) -> dict[str, Any]:
        """Content of ``solution.json`` where the comparison failed."""
        return {
            "kind": KIND,
            "name": self.name,
            "status": "finished",
            "cost": None,
            "parameters": [],
            "notes": solution.notes,
            "fitted": solution.fitted,
        }

    def page(self, run: JobRun, outcome: Outcome) -> Page:
        """The report, which ``comparison.html`` holds too."""
        notes = outcome.summary["notes"]
        page = comparison_report(outcome.result, notes=notes, choice=self._choice_made)
        page.save(run.directory.inside("comparison.html"))
        return page

    @classmethod
    def report(cls, directory: RunDirectory) -> Page:
        """The report of a finished comparison."""
        summary = read_solution(directory)
        job = cls.from_plain(read_mapping(directory.experiment), directory, None)
        if job._lacking:
            raise RunDirectoryError(
                f"{job._lacking_words()}: its report is the one that the run wrote, "
                f"{directory.report}"
            )
        job.anyway = True  # what has changed since was looked at
        job.prepare()
        models = {
            label: load_model(directory.inside(f"{label}.json"), anyway=True)
            for label in summary["fitted"]
        }
        plain = summary.get("extended")
        return comparison_report(
            job._compared(_sorted({**models, **job.given})),
            notes=summary["notes"],
            choice=None if plain is None else ModelChoice.from_dict(plain),
        )

    def plan(self) -> dict[str, Any]:
        """Models that would be fitted and compared."""
        known = {model.friction.name for model in self.given.values()}
        training, held_out = self.split
        return {
            "fitted": [name for name in self.comparison.models if name not in known],
            "given": list(self.given),
            "extended": self.chooses,
            "training_logs": [log.name for log in training],
            "held_out_logs": [log.name for log in held_out],
            "skipped": list(self.source.skipped),
        }


def _sorted(models: Mapping[str, ServoModel]) -> dict[str, ServoModel]:
    """Models in the order of the tables: by friction model, then by number of terms."""

    def key(item: tuple[str, ServoModel]) -> tuple[str, int, str]:
        label, model = item
        return model.friction.name, len(model.terms), label

    return dict(sorted(models.items(), key=key))
