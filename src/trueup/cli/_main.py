"""Entry point of the ``trueup`` command: parses arguments, runs a command, reports errors.

Exit codes: 0 done, 2 wrong input, 3 "do not use" or not converged, 130
interrupted, 143 terminated.
"""

import contextlib
import dataclasses
import functools
import inspect
import io
import operator
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from trueup import _stop_signals
from trueup._mujoco_files import check_mujoco
from trueup._secrets import mask
from trueup._version import __version__
from trueup.cli import commands
from trueup.cli.failures import check_paths, in_words, show_traceback, terminated_in_words
from trueup.cli.help import HELP_KEYS, keys_line, keys_table, with_help
from trueup.cli.key_words import split_keys
from trueup.cli.opengl import explained_graphics
from trueup.cli.option_names import check_options, commands_by_name
from trueup.cli.output import Output
from trueup.cli.registered_names import add_registered_names
from trueup.cli.settings import keys_of
from trueup.cli.whole_numbers import whole_numbers
from trueup.errors import TrueupError, TrueupWarning

DONE, WRONG_INPUT, NOT_CONVERGED = 0, 2, 3

DESCRIPTION = """Make simulators match reality: identify MuJoCo models from recordings.

Examples:
  trueup demo                          record a simulated robot, identify it, show a report
  trueup import run.csv --model arm.xml  experiment file from logs and a model, checked
  trueup check experiment.yaml         data quality and identifiability, before the fit
  trueup identify experiment.yaml      fit, intervals, held-out check, report
  trueup explain experiment.yaml       causes of the gap between robot and simulation
  trueup report runs/arm               write the report of a finished run again
  trueup view runs/arm                 robot and model in the viewer, or a film
  trueup compare runs/arm runs/arm2    two runs side by side
  trueup reconcile runs/*              runs that agree, and outliers with their likely cause
  trueup export dr runs/arm            domain randomisation from the remaining uncertainty
  trueup publish runs/arm              entry of a catalogue, with logs and verdict
  trueup study run sphere              run, list, show, resume and export searches
  trueup actuator list                 servos: record, fit, evaluate and compare friction models
  trueup network train                 learned actuators: train, score and export networks
  trueup gait list                     walking: reflex controllers and exoskeletons

Exit codes: 0 done, 2 wrong input, 3 "do not use" or not converged, 130
interrupted, 143 terminated.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
      arguments: words after ``trueup``; by default those of the process.

    Returns:
      The exit code.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments in (["--version"], ["-V"]):
        print(f"trueup {__version__}")
        return DONE
    output = Output(json="--json" in arguments)
    _stop_signals.clear()
    try:
        check_paths(arguments)
        with _plain_warnings(), explained_graphics(), terminated_in_words():
            command = _parse(arguments, output)
            if isinstance(command, int):
                return command
            check_mujoco()
            return command.run(output)
    except TrueupError as error:
        output.error(type(error).__name__, str(error))
        return WRONG_INPUT
    except BrokenPipeError:
        # the reader has closed the pipe; the close of the stream at exit must not fail either
        with contextlib.suppress(OSError):
            sys.stdout = io.TextIOWrapper(io.BytesIO())
        return DONE
    except Exception as error:
        message = in_words(error)
        if message is None:
            raise
        show_traceback(error)
        output.error(type(error).__name__, message)
        return WRONG_INPUT
    except KeyboardInterrupt as stop:
        message = str(stop) or "stopped; nothing new was saved"
        output.error("Interrupted", message)
        return _stop_signals.exit_code()


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings of trueup without the line of code that they come from."""
    former = warnings.showwarning

    def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, TrueupWarning):
            print(f"trueup: {mask(str(message))}", file=sys.stderr, flush=True)
        else:
            former(message, category, *where, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = former


def _parse(arguments: list[str], output: Output) -> Any:
    """The requested command, or the exit code if help is requested."""
    words = [word for word in arguments if word != "--json"]
    names = commands.COMMANDS
    group: Any = names.get(words[0]) if words else None
    if group is not None and hasattr(group, "COMMANDS"):
        program = f"trueup {words[0]}"
        return _choose(words[1:], group.COMMANDS, program, _description(group, True), output)
    return _choose(words, names, "trueup", DESCRIPTION, output)


def _choose(
    words: list[str], names: Mapping[str, type], program: str, description: str, output: Output
) -> Any:
    """The requested command among ``names``, or the exit code."""
    import tyro

    if output.json and not words:
        output.error("UsageError", f"the command is missing; see {program} --help")
        return WRONG_INPUT
    alone = bool(words) and words[0] in names
    if len(names) == 1 and not alone:
        return _the_only_one(words, names, program, description, output)
    keys: tuple[str, ...] = ()
    if alone:
        command, name = names[words[0]], f"{program} {words[0]}"
        given, keys = split_keys(getattr(command, "prepare_words", list)(words[1:]), command)
        if HELP_KEYS in given and keys_of(command):
            output.text(*keys_table(command))
            return DONE
        check_options(given, name, command, lambda: commands_by_name(commands.COMMANDS))
        with_help(command)
        # the parser builds the options of all commands that it is given
        names, program, description = {words[0]: command}, name, _description(command, True)
        words = given
    described = [
        Annotated[command, tyro.conf.subcommand(name, description=_description(command, alone))]
        for name, command in names.items()
    ]
    choices = functools.reduce(operator.or_, described)
    if alone and output.json:
        words.append("--json")  # accepted at any position
    messages = io.StringIO()
    try:
        with contextlib.redirect_stderr(messages):
            parsed = tyro.cli(
                choices,  # type: ignore[arg-type]
                prog=program,
                description=description,
                args=words if words or alone else ["--help"],
                config=(tyro.conf.FlagCreatePairsOff,),
                registry=add_registered_names(whole_numbers(words)),
            )
        return dataclasses.replace(parsed, keys=(*keys, *parsed.keys)) if keys else parsed
    except SystemExit as stop:
        if not stop.code:
            return DONE
        if output.json:
            output.error("UsageError", _without_frame(messages.getvalue()))
        else:
            sys.stderr.write(mask(messages.getvalue()))
        return WRONG_INPUT


def _the_only_one(
    words: list[str], names: Mapping[str, type], program: str, description: str, output: Output
) -> int:
    """Print the help of a group of one command, or an error for another; returns the exit code."""
    ((name, command),) = names.items()
    if words and words[0] not in ("-h", "--help"):
        output.error(
            "UsageError", f"{program} has no command {words[0]!r}; the only one is {name!r}"
        )
        return WRONG_INPUT
    output.text(
        f"usage: {program} [-h] {name} ...",
        "",
        description,
        "",
        f"{name:<12}{_description(command, False)}",
        f"{'':<12}See {program} {name} --help",
    )
    return DONE


def _description(command: type, alone: bool) -> str:
    """Help of a command: the whole text, or the first line for the list of commands."""
    text = inspect.cleandoc(command.__doc__ or "")
    return text + keys_line(command) if alone else text.splitlines()[0]


def _without_frame(text: str) -> str:
    """A framed message of the argument parser as plain sentences."""
    lines = [re.sub(r"[╭╮╰╯│─]+", " ", line).strip() for line in text.splitlines()]
    return "\n".join(line for line in lines if line)
