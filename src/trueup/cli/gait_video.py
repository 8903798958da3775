"""``trueup gait video``."""

from trueup.cli.gait_commands import VideoOfGait
from trueup.cli.gait_show import walk_of
from trueup.cli.output import Output
from trueup.errors import GaitError
from trueup.gait import observe_walks, write_walk_video


def run_gait_video(command: VideoOfGait, output: Output) -> int:
    """Run the command; returns the exit code."""
    _, problem, X = walk_of(command)
    scenario = problem.scenarios[0]
    records, (series,) = observe_walks(scenario.simulation, X)
    if series is None:
        reason = records.invalid.get(0, "")
        raise GaitError(f"{command.target}: the walk cannot start: {reason}")
    path = write_walk_video(
        command.output,
        scenario.simulation.walker,
        series,
        framerate=command.framerate,
        pace=command.pace,
        width=command.width,
        height=command.height,
    )
    lasted = float(series.time[-1])
    output.result({"video": str(path), "lasted_s": lasted, "fell": series.fell})
    others = f" of {scenario.name}, the first of several" if len(problem.scenarios) > 1 else ""
    output.text(f"Film of {lasted:.2f} s{others}: {path}")
    return 0
