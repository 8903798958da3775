"""Entry point of the ``trueup`` command: parses arguments, runs a command, reports errors.

Exit codes: 0 done, 2 wrong input, 3 did not converge, 130 interrupted.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from trueup._version import __version__
from trueup.cli import commands
from trueup.cli.output import Output
from trueup.errors import TrueupError

DONE, WRONG_INPUT, NOT_CONVERGED, INTERRUPTED = 0, 2, 3, 130

DESCRIPTION = """Make simulators match reality: identify MuJoCo models from recordings.

Examples:
  trueup demo                          record a simulated robot, identify it, show a report
  trueup init arm.xml run.csv          write a commented experiment file
  trueup check experiment.yaml         data quality and identifiability, before spending time
  trueup identify experiment.yaml      fit, intervals, held-out check, report
  trueup report runs/arm               write the report of a finished run again
  trueup compare runs/arm runs/arm2    two runs side by side
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    wants_json = "--json" in arguments
    if arguments in (["--version"], ["-V"]):
        print(f"trueup {__version__}")
        return DONE
    output = Output(json=wants_json)
    try:
        command = _parse(arguments)
    except SystemExit as stop:
        return _usage_exit(stop, output, wants_json)
    try:
        return command.run(output)
    except TrueupError as error:
        output.error(type(error).__name__, str(error))
        return WRONG_INPUT
    except KeyboardInterrupt:
        output.error("Interrupted", "interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        return DONE


def _parse(arguments: list[str]) -> Any:
    import tyro

    names: dict[str, Callable[..., Any]] = {
        "identify": commands.Identify,
        "check": commands.Check,
        "report": commands.Report,
        "compare": commands.Compare,
        "init": commands.Init,
        "demo": commands.Demo,
    }
    return tyro.extras.subcommand_cli_from_dict(
        names,
        prog="trueup",
        description=DESCRIPTION,
        args=arguments or ["--help"],
    )


def _usage_exit(stop: SystemExit, output: Output, wants_json: bool) -> int:
    """tyro has printed its message; with --json the same goes out as one object."""
    code = stop.code if isinstance(stop.code, int) else WRONG_INPUT
    if code and wants_json:
        output.error("UsageError", "the command line is wrong; see trueup --help")
    return WRONG_INPUT if code else DONE
