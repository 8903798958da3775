"""Clock of a recording as its entry in the experiment file has it: one run, and a scaled axis."""

from dataclasses import replace

from trueup.errors import ExperimentError
from trueup.signals import Recording
from trueup.signals.clocks.runs import runs_of
from trueup.sysid.experiment.settings import RecordingPart


def clock_as_given(recording: Recording, part: RecordingPart, name: str) -> Recording:
    """The chosen run of a recording, with its times scaled.

    Args:
      recording: the recording as it was read.
      part: the recording in the experiment file.
      name: name of the recording, for messages.

    Raises:
      ExperimentError: a run that the recording does not have.
    """
    if part.run is not None:
        runs = runs_of(recording)
        if part.run > len(runs):
            many = "one run" if len(runs) == 1 else f"{len(runs)} runs"
            raise ExperimentError(
                f"recording {name!r}: run is {part.run}, but the clock of {part.file} shows "
                f"{many}: give run: {len(runs)} or less, or remove it"
            )
        recording = runs[part.run - 1]
    if part.time_scale == 1.0:
        return recording
    streams = tuple(
        replace(stream, times=part.time_scale * stream.times) for stream in recording.streams
    )
    return recording.noted(f"times are scaled by {part.time_scale:.6g}", streams=streams)
