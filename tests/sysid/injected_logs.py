"""Mistakes put into logs, and what an import has to say about each of them."""

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from log_writers import (
    JOINTS,
    WITH_COMMANDS,
    WITH_TORQUE,
    WITH_VELOCITY,
    WRITERS,
    Log,
    changed,
    motion_of_leg,
)

from trueup.errors import TrueupError
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.importing.import_log import Import, propose_import

_HEADS = ("joint", "column", "order", "unit", "sign", "zero", "velocity")
_DEGREE = np.pi / 180


@dataclass(frozen=True)
class Case:
    """One mistake in one log."""

    source: str
    kind: str
    """``unit``, ``velocity unit``, ``current``, ``swap``, ``swap of positions``, ``mirror``,
    ``shift``, ``turns``, ``currents``, ``error``, ``exchange``, ``names`` or ``clock``."""
    joints: tuple[int, ...]
    size: float = 1.0

    @property
    def name(self) -> str:
        """Name of the case, as the benchmark lists it."""
        joints = "+".join(JOINTS[j] for j in self.joints)
        return f"{self.source}: {self.kind} of {joints} {self.size:g}"


def every_case() -> list[Case]:
    """All cases that the sources allow."""
    alone = [(0,), (1,), (2,)]
    pairs = list(itertools.combinations(range(3), 2))
    out = []
    for source in WRITERS:
        out += [Case(source, "unit", j) for j in [*alone, (0, 1, 2)]]
        out += [Case(source, "swap", j) for j in pairs]
        out += [Case(source, "mirror", j) for j in alone]
        out += [Case(source, "shift", j, s) for j in alone for s in (-1.57, -0.5, 0.3, 1.2)]
        if source in WITH_VELOCITY:
            out += [Case(source, "velocity unit", (0, 1, 2), s) for s in (30 / np.pi, -1.0, 3.0)]
        if source in WITH_TORQUE:
            out += [Case(source, "current", (0, 1, 2), s) for s in (1 / 12.0, -1.0)]
        if source in WITH_COMMANDS:
            out += [Case(source, "swap of positions", j) for j in pairs]
            out.append(Case(source, "exchange", (0, 1, 2)))
        out.append(Case(source, "turns", (0, 1, 2)))
        if source in WITH_TORQUE:
            out += [Case(source, kind, (0, 1, 2)) for kind in ("currents", "error")]
    out += [Case("table", "names", (0, 1, 2), k) for k in range(2 * len(NAMES))]
    out += [Case("table", "clock", (0, 1, 2), k) for k in range(len(CLOCKS))]
    return out


NAMES = (
    ("ax{}_actual", "ax{}_rate", "ax{}_load"),
    ("meas_j{}", "spd_j{}", "trq_j{}"),
    ("q_{}", "dq_{}", "tau_{}"),
    ("motor[{}].pos", "motor[{}].speed", "motor[{}].torque"),
    ("/arm/joint{}/position", "/arm/joint{}/velocity", "/arm/joint{}/effort"),
    ("x{}_1", "x{}_2", "x{}_torque"),
    ("servo{}Angle", "servo{}Speed", "servo{}Torque"),
    ("left_leg_{}_q", "left_leg_{}_dq", "left_leg_{}_tau"),
    ("theta{}", "omega{}", "torque{}"),
    ("id1{}_enc", "id1{}_vel", "id1{}_trq"),
)
"""Names of position, velocity and torque with a number from 0 or 1."""

CLOCKS = (
    *(("t", 1e3), ("time", 1e6), ("timestamp", 1e9), ("stamp_ms", 1e3), ("t [us]", 1e6)),
    *(("micros", 1e6), ("millis", 1e3), ("__time", 1.0), ("Time (s)", 1.0), ("time_ns", 1e9)),
    *(("usec", 1e6), ("elapsed", 1.0)),
)
"""Names of a time column, and its numbers per second."""


def drawn_cases(count: int, seed: int = 38) -> list[Case]:
    """So many of all cases, drawn without replacement, one kind of mistake after the other."""
    cases = every_case()
    order = np.random.default_rng(seed).permutation(len(cases))
    by_kind: dict[str, list[Case]] = {}
    for i in order:
        by_kind.setdefault(cases[i].kind, []).append(cases[i])
    rounds = itertools.zip_longest(*(by_kind[k] for k in sorted(by_kind)))
    return [c for round_ in rounds for c in round_ if c is not None][:count]


def with_mistake(case: Case) -> Log:
    """The log of a case."""
    log = motion_of_leg()
    if case.kind == "turns":
        return changed(log, q=log.q / (2 * np.pi), v=log.v / (2 * np.pi), cmd=log.cmd / (2 * np.pi))
    if case.kind == "currents":
        return changed(log, tau=log.tau / np.array([12.0, 9.0, 7.0]))
    if case.kind in ("error", "exchange"):
        # an encoder with noise follows by 20 ms
        noise = 2e-4 * np.random.default_rng(1).normal(size=log.q.shape)
        follows = np.vstack([np.repeat(log.q[:1], 4, axis=0), log.q[:-4]]) + noise
        if case.kind == "exchange":
            return changed(log, q=log.q, cmd=follows)
        return changed(log, q=follows, cmd=log.q, tau=log.q - follows)
    if case.kind in ("names", "clock"):
        return log
    chosen = np.isin(np.arange(3), case.joints)
    if case.kind == "unit":
        # what a LeRobot log writes in degrees is there in radians instead
        factor = _DEGREE if case.source == "lerobot" else 1 / _DEGREE
        factors = np.where(chosen, factor, 1.0)
        return changed(log, q=log.q * factors, cmd=log.cmd * factors)
    if case.kind == "velocity unit":
        return changed(log, v=log.v * case.size)
    if case.kind == "current":
        return changed(log, tau=log.tau * case.size)
    if case.kind.startswith("swap"):
        order = np.arange(3)
        order[list(case.joints)] = order[list(case.joints)[::-1]]
        if case.kind == "swap of positions":
            return changed(log, q=log.q[:, order])
        parts = {k: getattr(log, k)[:, order] for k in ("q", "v", "tau", "cmd")}
        return changed(log, **parts)
    if case.kind == "mirror":
        sign = np.where(chosen, -1.0, 1.0)
        return changed(log, **{k: getattr(log, k) * sign for k in ("q", "v", "tau", "cmd")})
    moved = np.where(chosen, case.size, 0.0)
    return changed(log, q=log.q + moved, cmd=log.cmd + moved)


def imported(case: Case, folder: Path) -> Import | TrueupError:
    """The import of a case, or the error that refuses it."""
    model, log = WRITERS[case.source](with_mistake(case), folder)
    if case.kind in ("names", "clock"):
        _rewrite(case, log)
    try:
        return propose_import(model, [log], folder)
    except TrueupError as error:
        return error


def _rewrite(case: Case, path: Path) -> None:
    """Other names, or another clock, in a table."""
    head, _, rows = path.read_text().partition("\n")
    names = head.split(",")
    if case.kind == "names":
        first, which = divmod(int(case.size), len(NAMES))
        names = ["t", *(name.format(k + first) for name in NAMES[which] for k in range(3))]
    else:
        values = np.loadtxt(path, delimiter=",", skiprows=1)
        names[0], factor = CLOCKS[int(case.size)]
        if factor > 1:
            values[:, 0] = np.round(factor * values[:, 0])
        rows = "\n".join(",".join(f"{x:.12g}" for x in row) for row in values) + "\n"
    path.write_text(",".join(names) + "\n" + rows)


def is_loaded_right(found: Import, folder: Path) -> bool:
    """Whether the experiment loads the positions and torques of the motion at their times."""
    log = motion_of_leg()
    prepared = prepare(parse_experiment(found.proposal.text), folder, needs_parameters=False)
    part = prepared.training[0].measured_rollout[0]
    names = part.sensordata.signal_mapping or {}
    for k, joint in enumerate(JOINTS):
        if f"{joint}_qpos" not in names:
            return False
        values = part.sensordata.data[:, names[f"{joint}_qpos"][1][0]]
        wanted = np.interp(part.sensordata.times - part.sensordata.times[0], log.times, log.q[:, k])
        if np.median(np.abs(values - wanted)) > 0.02 * np.std(log.q[:, k]):
            return False
        applied = part.control.data[:, k]
        wanted = np.interp(part.control.times - part.control.times[0], log.times, log.tau[:, k])
        if np.median(np.abs(applied - wanted)) > 0.05 * np.std(log.tau[:, k]):
            return False
    return True


def verdict(case: Case, found: Import | TrueupError, folder: Path) -> str:
    """``found``, ``ask``, ``assumed`` or ``refused``; ``silent`` where the mistake passes."""
    if isinstance(found, TrueupError):
        # names and clocks are no mistakes: a log that cannot be imported is one of the import
        return "silent" if case.kind in ("names", "clock") else "refused"
    text, points = found.proposal.text, " ".join(found.proposal.open_points)
    if case.kind in ("names", "clock"):
        return "found" if is_loaded_right(found, folder) else "silent"
    if case.kind in ("currents", "error", "exchange"):
        words = {
            "currents": ("they are currents", "assumed to be torques in N m"),
            "error": ("position error", "they are currents", "assumed to be torques in N m"),
            "exchange": ("columns of command and measurement exchanged",),
        }[case.kind]
        return "ask" if any(w in points for w in words) else "silent"
    if case.kind == "current":
        # of the blocks without names the one in N m is taken, and said which
        words = ("they are currents", "check the sign", "assumed to be torques in N m")
        return "ask" if any(w in points for w in words) else "silent"
    aspect = {
        "unit": "unit",
        "turns": "unit",
        "velocity unit": "velocity",
        "swap": "order",
        "swap of positions": "order",
        "mirror": "sign",
        "shift": "zero",
    }[case.kind]
    rows = {row[0]: row[_HEADS.index(aspect)].partition(":")[0] for row in found.rows}
    said = [rows.get(JOINTS[j], "") for j in case.joints]
    if case.kind == "swap of positions" and "ask" in said:
        return "ask"
    if not said or any(s in ("confirmed", "") for s in said):
        return "silent"
    if "ask" in said:
        return "ask"
    if "found" not in said:
        return "assumed"
    # what was found has to be put right in the file
    right = {
        "unit": "unit: deg",
        "turns": "unit: turn",
        "velocity unit": {-1.0: "scale: -1", 3.0: ""}.get(case.size, "unit: rpm"),
        "mirror": "scale: -1",
    }.get(case.kind, "")
    return "found" if right in text else "silent"


def false_alarms(source: str, folder: Path) -> list[str]:
    """Aspects of a log without a mistake that an import asks about or changes."""
    model, log = WRITERS[source](motion_of_leg(), folder)
    found = propose_import(model, [log], folder)
    out = []
    for row in found.rows:
        for aspect in _HEADS[2:]:
            sure = row[_HEADS.index(aspect)].partition(":")[0]
            if sure in ("ask", "found"):
                out.append(f"{row[0]} {aspect} {sure}")
    return out
