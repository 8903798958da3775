"""Text of a proposed experiment file, with a comment on every setting."""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import mujoco
import numpy as np

from trueup.fitting.losses import LOSSES
from trueup.signals.units import find_unit
from trueup.sysid.experiment.model_loading import INTEGRATORS
from trueup.sysid.importing.clock import Clock
from trueup.sysid.importing.columns.matching import Match, Place
from trueup.sysid.importing.further_logs import FurtherLog
from trueup.sysid.importing.proposed_parameters import ProposedLink, ProposedParameter, rounded

_PLAIN = re.compile(r"[A-Za-z_][\w./ -]*[\w./-]|[A-Za-z_]")
_NOT_TEXT = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan"}
_SHOWN = 40  # maximum unmatched names and columns in a comment


def experiment_text(
    *,
    name: str,
    model_file: str,
    recording_file: str,
    clock: Clock,
    signals: list[Match],
    controls: list[Match],
    units: dict[str, tuple[str, str]],
    unmatched_signals: list[Place],
    unmatched_controls: list[Place],
    free_columns: list[str],
    parameters: Sequence[ProposedParameter | ProposedLink],
    noise: dict[str, float],
    model: mujoco.MjModel,
    header: bool | None = None,
    model_lines: Sequence[str] = (),
    further: Sequence[str] = (),
    runs: Sequence[int] = (),
    search_lines: Sequence[str] = (),
    episodes: Sequence[int | None] = (),
    biases: Mapping[str, str] | None = None,
    later: Sequence[FurtherLog] = (),
) -> str:
    """Return the file's text.

    ``header``: whether the file has column names; ``model_lines``: settings of the model;
    ``further``: recordings with the same columns; ``runs``: number of runs in the first recording
    and in each of those; ``search_lines``: settings of the search; ``episodes``: episode of each
    recording, where it is a data set; ``biases``: parameter of the bias of a signal; ``later``:
    clock and names of the columns of each further recording.
    """
    runs = runs or [1] * (1 + len(further))
    shared = bool(further) or runs[0] > 1
    columns = ", ".join(quoted(c) for c in free_columns[:_SHOWN]) or "none"
    if len(free_columns) > _SHOWN:
        columns += f" and {len(free_columns) - _SHOWN} more"
    lines = [
        "# An identification: model, recordings, parameters and settings of the fit.",
        "#   trueup check FILE      checks the data and the model before the fit",
        "#   trueup identify FILE   fits, and writes the report",
        "# Units are SI (m, rad, s, kg, N, N m) unless a unit is given.",
        "",
        "# Name of the run.",
        f"name: {quoted(name)}",
        "",
        "model:",
        "  # MJCF or URDF file, relative to this file.",
        f"  file: {quoted(model_file)}",
        *(f"  {line}" for line in model_lines),
        "  # Simulation step [s] and integrator (Euler, RK4, implicit, implicitfast); defaults are",
        "  # those of the model:",
        f"  # timestep: {model.opt.timestep:g}",
        f"  # integrator: {_integrator(model)}",
        "  # Joint friction is soft in MuJoCo: a fit then exchanges Coulomb for viscous friction.",
        "  # Hard friction:",
        f"  # friction: {{solref: [{rounded(2 * model.opt.timestep):g}, 1.0], "
        "solimp: [0.99, 0.9999, 0.001, 0.5, 2.0]}",
        "",
        "recordings:",
        f"  - file: {quoted(recording_file)}",
        *_run_lines(recording_file, 1, runs[0]),
        *_episode_lines(recording_file, episodes[0] if episodes else None),
        *([] if header is None else [f"    header: {str(header).lower()}"]),
        *_clock_lines(clock),
        "    # Measured signal: its column, and its unit if that is not SI. A signal is a",
        "    # sensor of the model, or a joint's name with _qpos or _qvel. scale and offset are",
        "    # possible too: {column: raw, offset: 2048, scale: 0.000244140625, unit: turn}",
        "    # A sensor with several components has one column for each: [x, y, z].",
        *_mapping_lines("signals", signals, units, shared),
        *_open_lines("sensor or joint", unmatched_signals, columns, bool(signals)),
        "    # Actuator: the column with its command.",
        *_mapping_lines("controls", controls, units, shared),
        *_open_lines("actuator", unmatched_controls, columns, not unmatched_controls),
        "    # Initial state: measured, default (that of the model), or estimated, which is more",
        "    # accurate with noisy signals and takes several times as long.",
        "    initial: measured",
        "    # Use a part of the recording [s]:",
        "    # trim: {start: 0.5, end: 20.0}",
        *_further_lines(
            [recording_file, *further],
            runs,
            clock,
            header,
            episodes,
            later,
            {"signals": signals, "controls": controls},
            units,
        ),
        "  # More recordings go here, each with its own - file.",
        "",
        *_parameter_lines(parameters, model),
        "",
        *_measurement_lines(signals, units, noise, biases or {}),
        "",
        "# Command between samples: zoh (held, as a digital controller does) or linear.",
        "control: zoh",
        "",
        "# Length [s] of windows that restart from the measured state; 0 simulates each",
        "# recording without windows. Windows help with contact and with unstable motion.",
        "window: 0",
        "",
        "search:",
        *(f"  {line}" for line in search_lines),
        "  # Number of starts: the given one, then others spread over the bounds.",
        "  starts: 1",
        f"  # {next(iter(LOSSES))}, or {', '.join(list(LOSSES)[1:])} for data with outliers.",
        "  loss: linear",
        "",
        "held_out:",
        "  # Last part of each recording, held out of the fit for testing; or whole recordings:",
        "  # recordings: [other_run]",
        "  fraction: 0.25",
        "",
        "# Seed of all random draws.",
        "seed: 0",
    ]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """Text as YAML; quotation marks only where they are needed."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT
    return text if plain else json.dumps(text, ensure_ascii=False)


def plain_name(text: str) -> str:
    """Text as the name of a run: letters, digits, points and dashes."""
    return re.sub(r"[^\w.-]+", "_", text).strip("._-") or "experiment"


def _clock_lines(clock: Clock) -> list[str]:
    if clock.rate is not None:
        return ["    # Samples per second, as given.", f"    rate: {clock.rate:.9g}"]
    if not clock.column:
        return ["    # The clock is defined by the file format."]
    return [
        "    # Column with the time, and its unit.",
        f"    time: {quoted(clock.column)}",
        f"    time_unit: {clock.unit}",
    ]


def _episode_lines(file: str, episode: int | None) -> list[str]:
    """The episode of a data set, after which the recording is named."""
    if episode is None:
        return []
    name = plain_name(f"{file.rstrip('/').rsplit('/', 1)[-1]}_episode_{episode}")
    return [f"    name: {quoted(name)}", f"    episode: {episode}"]


def _further_lines(
    files: Sequence[str],
    runs: Sequence[int],
    clock: Clock,
    header: bool | None,
    episodes: Sequence[int | None],
    later: Sequence[FurtherLog],
    matches: Mapping[str, list[Match]],
    units: dict[str, tuple[str, str]],
) -> list[str]:
    """Recordings with the columns of the first run of the first file, or own names for them."""
    lines = []
    chosen = episodes or [None] * len(files)
    names = [{}, *(log.names for log in later)]
    clocks = [clock, *(log.clock for log in later)]
    for place, (file, count, episode) in enumerate(zip(files, runs, chosen, strict=True)):
        for run in range(2 if place == 0 else 1, count + 1):
            lines += [f"  - file: {quoted(file)}", *_run_lines(file, run, count)]
            lines += _episode_lines(file, episode)
            if header is not None:
                lines.append(f"    header: {str(header).lower()}")
            lines += [
                line for line in _clock_lines(clocks[place]) if not line.lstrip().startswith("#")
            ]
            for key, each in matches.items():
                renamed = [match.named(names[place]) for match in each] if names[place] else []
                lines += _mapping_lines(key, renamed, units) if renamed else [f"    {key}: *{key}"]
    return lines


def _run_lines(file: str, run: int, count: int) -> list[str]:
    """Name and number of a run of a file with several."""
    if count == 1:
        return []
    return [f"    name: {quoted(f'{plain_name(Path(file).stem)}_run{run}')}", f"    run: {run}"]


def _mapping_lines(
    key: str, matches: list[Match], units: dict[str, tuple[str, str]], shared: bool = False
) -> list[str]:
    head = f"    {key}: &{key}" if shared else f"    {key}:"
    if not matches:
        return [f"{head} {{}}"]
    lines = [head]
    for match in matches:
        unit, why = units.get(match.place.name, ("", ""))
        columns = [quoted(column) for column in match.columns]
        column = f"[{', '.join(columns)}]" if match.others else columns[0]
        further = [f"unit: {quoted(unit)}"] if unit else []
        if match.scale != 1.0:
            further.append(f"scale: {match.scale:.12g}")
        if match.offset != 0.0:
            further.append(f"offset: {match.offset:.12g}")
        if match.sign_bit:
            further.append(f"sign_bit: {match.sign_bit}")
        if match.unwrap:
            further.append(f"unwrap: {_period(match.unwrap)}")
        value = f"{{column: {column}, {', '.join(further)}}}" if further else column
        remarks = [match.place.what]
        if why:
            remarks.append(f"{unit}: {why}")
        if match.remark:
            remarks.append(match.remark)
        if not match.sure:
            remarks.append("CHECK: a guess")
        lines.append(f"      {quoted(match.place.name)}: {value}  # {'; '.join(remarks)}")
    return lines


def _period(unwrap: bool | float) -> str:
    return "true" if unwrap is True else f"{unwrap:.12g}"


def _open_lines(kind: str, places: list[Place], columns: str, optional: bool) -> list[str]:
    if not places:
        return []
    names = ", ".join(p.name for p in places[:_SHOWN])
    head = "Not matched, and optional" if optional else "FILL IN if recorded"
    lines = _wrapped(f"{head}: {kind} {names}")
    return [*lines, *_wrapped(f"Unused columns: {columns}")]


def _wrapped(text: str, indent: str = "      # ", width: int = 100) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
    )


def _parameter_lines(
    parameters: Sequence[ProposedParameter | ProposedLink], model: mujoco.MjModel
) -> list[str]:
    lines = [
        "# Parameters to identify. target: attribute of the model, kind/name/attribute;",
        "# bounds: search range; widen: true moves a bound that the fit reaches, except zero:",
        "# these are guesses; start: start value (default: that of the model);",
        "# scale: log for a value known to an order of magnitude only; prior: {mean: 1, sd: 0.1}",
        "# for a roughly known value; frozen: true to fix a value; tied_to: another parameter.",
        "parameters:",
    ]
    lines += [f"  {quoted(p.name)}: {{{_settings(p)}}}" for p in parameters]
    lines.append("  # Other parameters, such as a mass, a command gain, or the delay of a sensor:")
    bodies = [
        model.body(i)
        for i in range(1, model.nbody)
        if model.body(i).name and model.body_mass[i] > 0
    ]
    if bodies:
        last, mass = bodies[-1].name, float(bodies[-1].mass[0])
        low, high = rounded(mass / 3), rounded(mass * 3)
        lines.append(
            f"  # {quoted(last + '_mass')}: {{target: {quoted(f'body/{last}/mass')}, "
            f"bounds: [{low:g}, {high:g}], unit: kg}}"
        )
    if model.nu and model.actuator(0).name and model.actuator_gear[0, 0]:
        actuator, gear = model.actuator(0).name, float(model.actuator_gear[0, 0])
        ends = sorted((rounded(gear / 2), rounded(gear * 2)))
        lines.append(
            f"  # {quoted(actuator + '_gear')}: {{target: {quoted(f'actuator/{actuator}/gear/0')}, "
            f"bounds: [{ends[0]:g}, {ends[1]:g}]}}"
        )
    lines += [
        "  # sensor_delay: {start: 0.005, bounds: [0, 0.05], unit: s}",
        "  # sensor_gain: {start: 1, bounds: [0.8, 1.25]}",
    ]
    return lines


def _settings(p: ProposedParameter | ProposedLink) -> str:
    """Keys and values of a parameter."""
    if isinstance(p, ProposedLink):
        return (
            f"inertia: {quoted(p.body)}, inertia_type: {p.inertia_type}, prior: {{sd: {p.prior:g}}}"
        )
    start = "" if p.start is None else f"start: {p.start:g}, "
    scale = ", scale: log" if p.log else ""
    widen = ", widen: true" if p.widens else ""
    return (
        f"{_target(p)}{start}bounds: [{p.lower:g}, {p.upper:g}]{widen}{scale}, "
        f"unit: {quoted(p.unit)}"
    )


def _target(p: ProposedParameter) -> str:
    """The targets of a parameter; empty for one of the measurement."""
    targets = [quoted(target) for target in (p.target, *p.also) if target]
    if not targets:
        return ""
    return f"target: [{', '.join(targets)}], " if p.also else f"target: {targets[0]}, "


def _measurement_lines(
    signals: list[Match],
    units: dict[str, tuple[str, str]],
    noise: dict[str, float],
    biases: Mapping[str, str],
) -> list[str]:
    some = quoted(signals[0].place.name) if signals else "elbow_qpos"
    lines = [
        "# Sensor model from true to recorded signals; names may contain wildcards. noise is a",
        "# standard deviation in SI units; without it each signal is normalised by its size.",
        "# measurement:",
        "#   signals:            # noise estimated from the recording",
    ]
    for match in signals:
        if match.place.name in noise:
            unit = units.get(match.place.name, ("1", ""))[0]
            level = noise[match.place.name] * find_unit(unit).factor
            if np.isfinite(level) and level > 0:
                lines.append(f"#     {quoted(match.place.name)}: {{noise: {level:.2g}}}")
    return [
        *lines,
        f"#   delays: {{{some}: sensor_delay}}",
        f"#   gains: {{{some}: sensor_gain}}",
        f"#   filters: {{{some}: {{kind: butterworth, cutoff: 50}}}}",
        *(["measurement:", "  biases:"] if biases else []),
        *(f"    {quoted(signal)}: {quoted(name)}" for signal, name in biases.items()),
    ]


def _integrator(model: mujoco.MjModel) -> str:
    return next(n for n, value in INTEGRATORS.items() if int(value) == int(model.opt.integrator))
