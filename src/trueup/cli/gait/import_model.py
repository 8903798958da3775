"""``trueup gait import``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli.output import Output
from trueup.cli.study.options import Json
from trueup.errors import GaitError


@dataclass(frozen=True, kw_only=True)
class ImportGait:
    """Convert a model of OpenSim to MJCF, or a training file of MyoAssist to a configuration.

    Examples:
      trueup gait import walker.osim
      trueup gait import arm.osim --output models/arm --partial --json
      trueup gait import walker.osim --mass 68 --height 1.65/1.80
      trueup gait import walker.osim --scale subject01_scaleSet_applied.xml
      trueup gait import tutorial.bat --output tutorial.yaml

    A model of OpenSim becomes a folder with model.xml, report.html, import.json and, if it has the
    parts of a walker, model.anatomy.yaml, which trueup gait optimize walk --model-file finds next
    to the model. The written model is read back, and lengths, moment arms and forces of all muscles
    are compared with the geometry of the file; the report lists omitted, approximated and added
    parts, and deviations.
    Exit codes: 0 done, 2 wrong input, or parts or muscles that cannot be represented.
    """

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """The .osim, .bat or .sh file."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="PATH")] = None
    """Folder of the model, or YAML file of the configuration, to write; by default in this folder,
    with the name of FILE."""
    partial: bool = False
    """Omit parts that cannot be represented, and muscles with moment arms of wrong sign or
    discontinuous length; other muscles that deviate are written."""
    mass: Annotated[float | None, arg(metavar="KG")] = None
    """Mass of the person that the model is scaled to."""
    height: Annotated[str | None, arg(metavar="M[/M]")] = None
    """Height of the person, and after a slash that of the model, such as 1.65/1.80; without it that
    of the model is estimated from its thigh and shank."""
    scale: Annotated[Path | None, arg(metavar="FILE")] = None
    """Scale factors of bodies: a ScaleSet of OpenSim, or a setup of its scale tool."""
    overwrite: bool = False
    """Replace existing files."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        if self.file.suffix.lower() == ".osim":
            return self._model(output)
        if self.file.suffix.lower() in (".xml", ".mjcf"):
            raise GaitError(
                f"{self.file} is a model of MuJoCo and needs no import: walk with it by  trueup "
                f"gait optimize walk --model-file {self.file}"
            )
        for option in ("partial", "mass", "height", "scale"):
            if getattr(self, option) not in (None, False):
                raise GaitError(f"--{option} only applies to models of OpenSim (.osim); remove it")
        return self._configuration(output)

    def _configuration(self, output: Output) -> int:
        from trueup.gait.search.configuration_files import write_imported

        written, configuration, notes = write_imported(
            self.file, self.output, overwrite=self.overwrite
        )
        output.result(
            {"file": str(written), "configuration": configuration.to_dict(), "notes": notes}
        )
        output.text(f"Configuration: {written}", *notes)
        output.text(f"Run it with  trueup gait optimize {written}")
        return 0

    def _model(self, output: Output) -> int:
        from trueup.gait.opensim.conversion import check_target, import_opensim
        from trueup.gait.opensim.forces.section import force_words
        from trueup.runs.loop.progress import Progress

        folder = Path(self.file.stem) if self.output is None else self.output
        check_target(folder, overwrite=self.overwrite)
        height, model_height = _heights(self.height)
        with Progress(not output.json) as progress:
            found = import_opensim(
                self.file,
                partial=self.partial,
                mass=self.mass,
                height=height,
                model_height=model_height,
                scale=self.scale,
                show=progress.update,
            )
        files = found.save(folder, overwrite=self.overwrite)
        output.result({**found.to_dict(), "files": {key: str(path) for key, path in files.items()}})
        rows = [
            [
                one.name,
                f"{1e3 * one.length_error:.3f}",
                f"{1e3 * one.arm_error[0]:.3f}",
                one.arm_error[1] or "-",
                f"{100.0 * one.fit.error:.1f}",
                f"{100.0 * one.fit.typical_error:.1f}",
                f"{100.0 * one.fit.force_error:.1f}",
                f"{100.0 * one.fit.share_close:.0f}",
                f"{1e3 * one.fit.stretch:.1f}",
            ]
            for one in found.muscles
        ]
        columns = [
            *("muscle", "length [mm]", "moment arm [mm]", "about", "force [%]", "force, rms [%]"),
            *("at speed [%]", "within 3 % [%]", "tendon [mm]"),
        ]
        output.table(
            columns, rows, "Largest errors compared with the geometry and curves of the file:"
        )
        pairs, within = found.pairs()
        output.text(
            f"Moment arms of {within} of {pairs} pairs of muscle and coordinate are within 3 mm or "
            "10 % RMS."
        )
        output.text(*force_words({one.name: one.fit for one in found.muscles}), "")
        output.table(
            ["", "part", "conversion"],
            [[one.kind, one.part, one.words] for one in found.remarks],
        )
        output.text(f"Model: {files['model']}", f"Report: {files['report']}")
        if found.walks:
            output.text(
                f"Walk with it:  trueup gait optimize walk --model-file {files['model']} "
                "--from nominal"
            )
        return 0


def _heights(text: str | None) -> tuple[float | None, float | None]:
    """Heights of the person and of the model [m], from ``M`` or ``M/M``."""
    if text is None:
        return None, None
    try:
        person, *model = (float(part) for part in text.split("/"))
    except ValueError:
        person, model = float("nan"), []
    if not person > 0.0 or len(model) > 1:
        raise GaitError(f"--height is {text!r}; expected metres, such as 1.65 or 1.65/1.80")
    return person, model[0] if model else None
