"""``trueup actuator export``: an identified servo for a simulator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import arg

from trueup._marks import KEY
from trueup.cli.actuator.options import LogSettings, WithKeys, check_former
from trueup.cli.output import Output
from trueup.cli.study.options import Json, OfRuns
from trueup.deploy.forms import SERVO, described_forms, find_form, whole_forms
from trueup.errors import listing
from trueup.runs.loop.progress import Progress

LOST = 1e-3
"""Difference from the full model above which an export names the forms that carry it [rad]."""


@dataclass(frozen=True, kw_only=True)
class ExportKeys(LogSettings):
    """Settings of an export, and of the logs to which it is fitted."""

    kp: float | None = None
    """Firmware gain; by default that of the servo."""
    vin: float | None = None
    """Bus voltage [V]; by default that of the logs, else that of the logs of the fit, if all have
    the same, else that of the servo."""
    timestep: float = 0.001
    """Simulation time step [s]."""


@dataclass(frozen=True, kw_only=True)
class ExportServo(OfRuns, WithKeys):
    """Write an identified servo for a simulator, and report its error relative to the full model.

    Examples:
      trueup actuator export --params m6.json --form mjcf-dcmotor --logdir data_processed -o m6.xml
      trueup actuator export --params m6.json --form mjcf-parallel --logdir data_processed
      trueup actuator export --params m6.json --form mujoco -o servo.py
      trueup actuator export --params m6.json --form mjlab -o servo_mjlab.py
      trueup actuator export --params m6.json --form isaac-lab
      trueup actuator export --params m6.json --form isaac-lab-bam timestep=0.005 -o servo_bam.py

    mjcf-dcmotor, mjcf-parallel, mjcf-position and isaac-lab approximate the model within the
    simulator, with parameters fitted to the recordings in --logdir; an export with a larger error
    than that of M1 is never written. mjcf-parallel is the nearest MJCF of most servos, of several
    actuators that all take the goal. isaac-lab-bam keeps the parameters of a model that its drive
    holds, and fits them otherwise. All other forms contain the full model.
    Exit codes: 0 done, 2 wrong input.
    """

    KEYS: ClassVar[type] = ExportKeys

    params: Annotated[Path, arg(metavar="FILE")]
    """Parameter file of the servo."""
    form: Annotated[str, arg(metavar="FORM", help=described_forms(SERVO))] = "mjcf-dcmotor"
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """File to write; by default the export is printed."""
    logdir: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Resampled logs to which the parameters of the form are fitted, over all gains and voltages;
    by default they are fitted to the motion of the full model."""
    overwrite: bool = False
    """Replace the file."""
    json: Json = False

    @staticmethod
    def prepare_words(words: Sequence[str]) -> list[str]:
        """The words, checked for options of earlier versions."""
        check_former(words, {"--to": "--form"})
        return list(words)

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        return run_export(self, output)


def run_export(command: ExportServo, output: Output) -> int:
    """Write or print the export of a servo; returns the exit code.

    Raises:
      ParameterError: the parameter file cannot be read.
      RecordingError: a log cannot be used.
      FitError: the form does not support the servo.
      ReportError: the file exists or cannot be written.
    """
    from trueup.actuators import load_model, read_logs
    from trueup.actuators.catalogue.entries import use_catalogue
    from trueup.actuators.catalogue.parameter_file import beyond_bam
    from trueup.deploy.servo import export_servo
    from trueup.errors import ReportError
    from trueup.runs.store import atomic

    values = command.values()
    form = find_form(command.form, SERVO)
    target = command.output
    if target is not None and target.exists() and not command.overwrite:
        raise ReportError(f"{target} exists: replace it with --overwrite, or give another --output")
    use_catalogue(values.get("catalogue"))
    model = load_model(command.params, anyway=command.anyway)
    skipped: list[str] = []
    logs = None
    if command.logdir is not None:
        skip_bad = values.get("skip_bad_logs", LogSettings.skip_bad_logs)
        logs = read_logs(command.logdir, uniform=True, skip_bad=skip_bad, on_skip=skipped.append)
    with Progress(not output.json) as progress:
        exported = export_servo(
            model,
            form.name,
            path=command.params,
            logs=logs,
            output=target,
            report=lambda share: progress.update(f"fitting {form.name}", share),
            **{k: values[k] for k in ("kp", "vin", "timestep") if k in values},
        )
    text, errors = exported.text, exported.errors
    if target is None:
        output.text(text.rstrip("\n"))
    else:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_text(target, text)
        except OSError as error:
            raise ReportError(f"cannot write {target}: {error.strerror}") from error
        for message in skipped:
            output.text(f"  ! {message}")
        output.text(f"{form.name} of {command.params} in {target}")
        if errors is not None:
            output.text(*_sentences(errors))
        output.text(*beyond_bam(model))
    output.result(
        {
            "form": form.name,
            "params": str(command.params),
            "output": None if target is None else str(target),
            "text": text,
            "errors_rad": None if errors is None else dict(errors),
            "skipped": skipped,
            "notes": beyond_bam(model),
            **({KEY: mark} if (mark := model.provenance.get(KEY)) else {}),
        }
    )
    return 0


def _sentences(errors: Mapping[str, float]) -> list[str]:
    def milli(name: str) -> str:
        return f"{1e3 * errors[name]:.2f} mrad"

    sentences = [f"Position difference from the full model: {milli('from_model')}."]
    if "from_logs" in errors:
        sentences = [
            f"Position difference from the recordings: {milli('from_logs')}; of the full model: "
            f"{milli('model_from_logs')}; of M1 in this form: {milli('simplest_from_logs')}.",
            *sentences,
        ]
    elif "simplest_from_model" in errors:
        sentences.append(f"M1 in this form differs by {milli('simplest_from_model')}.")
    if errors["from_model"] > LOST:
        whole = listing(whole_forms(), 20)
        had = f", with {milli('model_from_logs')}" if "model_from_logs" in errors else ""
        sentences.append(f"This form loses part of the model; forms that carry it{had}: {whole}.")
    return sentences
