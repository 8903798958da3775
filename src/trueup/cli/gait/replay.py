"""``trueup gait replay``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli.output import Output
from trueup.cli.study.options import Json


@dataclass(frozen=True, kw_only=True)
class ReplayMotion:
    """Set a model to the poses of a motion: muscle lengths and moment arms over time.

    Examples:
      trueup gait replay walker/model.xml subject01_walk_ik.mot
      trueup gait replay walker/model.xml states.sto --output replays/states --film
      trueup gait replay planar22 angles.csv --dry-run

    The motion is a .mot or .sto file of OpenSim, or a CSV with a time column; its columns have the
    names of coordinates, their paths (/jointset/knee_r/knee_angle_r/value), or names with a unit,
    such as "knee_angle_r [deg]". Coupled joints follow; coordinates without a column keep their
    default. The folder contains replay.csv, replay.html and, with --film, replay.mp4, in which
    muscles are red in proportion to the activations of the motion. Nothing is simulated.
    Exit codes: 0 done, 2 wrong input, or no column is a coordinate of the model.
    """

    model: Annotated[Positional[Path], arg(metavar="MODEL")]
    """MJCF file such as model.xml of  trueup gait import, or a shipped model by its name."""
    file: Annotated[Positional[Path], arg(metavar="MOTION")]
    """The .mot, .sto or .csv file."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="DIRECTORY")] = None
    """Folder to write; by default MOTION_replay in this folder."""
    film: bool = False
    """Film of the motion, also in the report; requires the extra video, and EGL or OSMesa."""
    overwrite: bool = False
    """Replace existing files."""
    dry_run: bool = False
    """Report what would be replayed; write nothing."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.gait.replay.motion_replay import check_replay_folder, replay_motion
        from trueup.reports import counted

        folder = Path(f"{self.file.stem}_replay") if self.output is None else self.output
        check_replay_folder(folder, overwrite=self.overwrite)
        found = replay_motion(self.model, self.file)
        files = {} if self.dry_run else found.save(folder, film=self.film, overwrite=self.overwrite)
        output.result({**found.to_dict(), "files": {key: str(path) for key, path in files.items()}})
        times = found.motion.times
        output.text(
            f"{counted(len(times), 'instant')} from {times[0]:.4g} to {times[-1]:.4g} s, "
            f"{counted(len(found.motion.coordinates), 'coordinate')}, "
            f"{counted(len(found.lengths), 'muscle')}",
            *(f"Note: {one}" for one in found.notes),
        )
        rows = [
            [
                name,
                f"{1e3 * length.min():.1f}",
                f"{1e3 * length.max():.1f}",
                *_widest(found.arms[name]),
            ]
            for name, length in found.lengths.items()
        ]
        if rows:
            output.table(
                ["muscle", "shortest [mm]", "longest [mm]", "about", "moment arm [mm]"],
                rows,
                "Lengths, and the moment arm of the largest size:",
            )
        for kind, path in files.items():
            output.text(f"{kind.capitalize()}: {path}")
        return 0


def _widest(arms) -> tuple[str, str]:
    """Coordinate and smallest to largest value of the moment arm of the largest size."""
    if not arms:
        return "-", "-"
    about = max(arms, key=lambda name: abs(arms[name]).max())
    return about, f"{1e3 * arms[about].min():.1f} to {1e3 * arms[about].max():.1f}"
