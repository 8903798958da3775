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
        if self.partial:
            raise GaitError("--partial only applies to models of OpenSim (.osim); remove it")
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
        from trueup.runs.loop.progress import Progress

        folder = Path(self.file.stem) if self.output is None else self.output
        check_target(folder, overwrite=self.overwrite)
        with Progress(not output.json) as progress:
            found = import_opensim(self.file, partial=self.partial, show=progress.update)
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
                f"{100.0 * one.fit.velocity_error:.1f}",
            ]
            for one in found.muscles
        ]
        columns = [
            *("muscle", "length [mm]", "moment arm [mm]", "about", "force [%]", "force, rms [%]"),
            "velocity [%]",
        ]
        output.table(
            columns, rows, "Largest errors compared with the geometry and curves of the file:"
        )
        pairs, within = found.pairs()
        output.text(
            f"Moment arms of {within} of {pairs} pairs of muscle and coordinate are within 3 mm or "
            "10 % RMS."
        )
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
