"""``trueup view``: motions of a run in MuJoCo's viewer, or as a film."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli.output import Output
from trueup.cli.study.options import Json, OfRuns


@dataclass(frozen=True)
class View(OfRuns):
    """Show a run in MuJoCo's viewer: the recording, and the models as ghosts with residuals.

    The recording is blue, the model before the fit red, the identified model green; of an
    explanation, the model with the named causes changed is green; of a design, the commanded
    motion is blue. Recordings play one after the other, at most 10 s of each, at the speed of the
    log. Without a display, or with --output, films are written instead.

    Examples:
      trueup view runs/arm
      trueup view runs/arm --output arm.mp4

    Exit codes: 0 done, 2 wrong input, or neither a display nor OpenGL and an encoder.
    """

    directory: Annotated[Positional[Path], arg(metavar="RUN")]
    """Run directory of an identification, an explanation or a design."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """MP4 file of a film of the first recording; by default a window is opened."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup import runs
        from trueup.runs.store import atomic
        from trueup.sysid.results.overlay_video import film_of
        from trueup.sysid.results.viewer import missing_display, show

        motions = runs.motions(self.directory, anyway=self.anyway)
        missing = missing_display() if self.output is None else ""
        if self.output is None and not missing:
            output.text(motions[0].legend, "Close the window to end.")
            show(motions)
            output.result({"film": None, "recordings": [motion.name for motion in motions]})
            return 0
        target = self.directory / "motion.mp4" if self.output is None else self.output
        atomic.write_bytes(target, film_of(motions[0]))
        output.result({"film": str(target), "recordings": [motions[0].name]})
        if missing:
            output.text(f"No window, as {missing}.")
        output.text(f"Film of {motions[0].name}: {target}", motions[0].legend)
        return 0
