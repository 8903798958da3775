"""What is right: what the commands answered, against what was simulated."""

import contextlib
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import mujoco
import numpy as np
import yaml

from trueup.cli import main as trueup
from trueup.errors import TrueupError
from trueup.sysid import load_experiment
from trueup.sysid.experiment.preparation import prepare

WIDER = 0.5  # of an interval's width, added at each end
NEAR = 0.03  # of the estimate


@dataclass
class Case:
    """A situation that was rebuilt.

    Attributes:
      model: file of the model.
      logs: files of the logs.
      positions: true positions by joint, ``(times, values)``, times of the log from its start [s].
      controls: true controls by joint, likewise; commands [rad, m] or torques [N m].
      truth: true values by joint and attribute.
      judge: faults of an outcome, in words; none: right.
      free_zeros: joints whose zero is not known from the log; their offset may be anything.
    """

    model: Path
    logs: list[Path]
    judge: Callable[["Outcome"], list[str]]
    positions: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    controls: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    truth: Mapping[str, float] = field(default_factory=dict)
    free_zeros: tuple[str, ...] = ()


def called(*words: object) -> tuple[int, dict]:
    """Exit code and JSON answer of a command."""
    shown, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(errors):
        code = trueup([*map(str, words), "--json"])
    text = shown.getvalue().strip()
    return code, json.loads(text) if text.startswith("{") else {
        "message": text or errors.getvalue()
    }


@dataclass
class Outcome:
    """What the commands did with a case; each is run when it is first asked for."""

    case: Case
    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "experiment.yaml"

    @cached_property
    def imported(self) -> tuple[int, dict]:
        words = ("import", *self.case.logs, "--model", self.case.model, "-o", self.file)
        return self._kept("import", *words, "--overwrite")

    @cached_property
    def checked(self) -> tuple[int, dict]:
        if not self.file.is_file():
            return self.imported
        return self._kept("check", "check", self.file)

    @cached_property
    def identified(self) -> tuple[int, dict]:
        if not self.file.is_file():
            return self.imported
        words = ("identify", self.file, "-o", self.folder / "run", "--quiet", "--overwrite")
        return self._kept("identify", *words)

    @cached_property
    def explained(self) -> tuple[int, dict]:
        if not self.file.is_file():
            return self.imported
        words = ("explain", self.file, "-o", self.folder / "explain", "--quiet", "--overwrite")
        return self._kept("explain", *words)

    def _kept(self, name: str, *words: object) -> tuple[int, dict]:
        code, answer = called(*words)
        (self.folder / f"{name}.json").write_text(json.dumps({"code": code, **answer}, indent=1))
        return code, answer

    @property
    def grade(self) -> str:
        return self.identified[1].get("verdict", {}).get("grade", "none")

    def text(self) -> str:
        """All words of import and check."""
        answers = [self.imported[1], self.checked[1]]
        return " ".join(self.words(json.dumps(a, ensure_ascii=False)) for a in answers)

    def words(self, text: str) -> str:
        """Lower case, without the path of the case, whose name may be the word that is sought."""
        return text.replace(str(self.folder), "").lower()

    @property
    def reasons(self) -> str:
        """Reasons and insights of identify."""
        answer = self.identified[1]
        reasons = [r for r in answer.get("verdict", {}).get("reasons", []) if r["grade"] != "use"]
        return self.words(json.dumps([reasons, answer.get("insights", [])]))

    @property
    def causes(self) -> str:
        """Causes that explain names."""
        keys = ("chosen", "message", "notes")
        return self.words(json.dumps({k: self.explained[1].get(k) for k in keys}))

    @cached_property
    def experiment(self) -> dict:
        return yaml.safe_load(self.file.read_text()) if self.file.is_file() else {}

    @cached_property
    def loaded(self) -> tuple[mujoco.MjModel, list]:
        """Model and trajectories as the experiment loads them."""
        prepared = prepare(load_experiment(self.file), self.folder, needs_parameters=False)
        groups = [*prepared.training, *prepared.held_out]
        parts = [t for group in groups for t in group.measured_rollout]
        return parts[0].model, parts


# --- faults; each function returns sentences, none if all is right ------------------------------


def imports(o: Outcome) -> list[str]:
    """Import ends with 0 and writes an experiment."""
    code, answer = o.imported
    if code == 0 and o.file.is_file():
        return []
    return [f"import ends with {code}: {answer.get('message', '')[:200]}"]


def loads(o: Outcome) -> list[str]:
    """Import ends with 0, and its experiment loads."""
    if faults := imports(o):
        return faults
    try:
        _ = o.loaded
    except TrueupError as error:
        return [f"the experiment does not load: {str(error)[:200]}"]
    return []


def channels(o: Outcome) -> list[str]:
    """Positions and controls that the experiment loads are those that were simulated."""
    if faults := loads(o):
        return faults
    model, parts = o.loaded
    faults = []
    for joint, truth in o.case.positions.items():
        signal = _named(parts[0].sensordata, (f"{joint}_qpos", f"{joint}_pos", joint))
        if signal is None:
            faults.append(f"{joint} is not measured")
            continue
        found = [(p.sensordata.times, p.sensordata.data[:, signal]) for p in parts]
        zero = joint in o.case.free_zeros
        if (error := _distance(found, truth, zero)) > 0.05:
            faults.append(f"{joint} is loaded wrong (error {error:.2g} of its motion)")
    for joint, truth in o.case.controls.items():
        column = _driving(model, joint)
        if column is None:
            faults.append(f"no actuator drives {joint}")
            continue
        found = [(p.control.times, p.control.data[:, column]) for p in parts]
        if (error := _distance(found, truth, joint in o.case.free_zeros)) > 0.1:
            faults.append(f"the control of {joint} is wrong (error {error:.2g} of its size)")
    return faults


def _named(series: object, names: tuple[str, ...]) -> int | None:
    mapping = getattr(series, "signal_mapping", None) or {}
    for name in names:
        if name in mapping:
            return int(np.ravel(mapping[name][1])[0])
    return None


def _driving(model: mujoco.MjModel, joint: str) -> int | None:
    number = model.joint(joint).id
    for k in range(model.nu):
        on_joint = int(model.actuator_trntype[k]) == int(mujoco.mjtTrn.mjTRN_JOINT)
        if on_joint and int(model.actuator_trnid[k, 0]) == number:
            return k
    for k in range(model.nu):  # the tendon of a gripper
        if int(model.actuator_trntype[k]) == int(mujoco.mjtTrn.mjTRN_TENDON):
            return k
    return None


def _distance(
    found: list[tuple[np.ndarray, np.ndarray]],
    truth: tuple[np.ndarray, np.ndarray],
    free_zero: bool,
) -> float:
    """Median error as a part of the motion, at the best of the plausible shifts of the clock."""
    times, values = truth
    size = max(float(np.std(values)), 1e-9)
    errors = []
    for t, y in found:
        best = np.inf
        for start in (0.0, float(t[0]), float(found[0][0][0])):
            shifted = t - start
            inside = (shifted >= times[0]) & (shifted <= times[-1])
            if inside.mean() < 0.5:
                continue
            between = np.interp(shifted[inside], times, values)
            after = np.searchsorted(times, shifted[inside] + 1e-9, side="right") - 1
            held = values[np.clip(after, 0, len(values) - 1)]
            for expected in (between, held):
                error = y[inside] - expected
                error = error - np.median(error) if free_zero else error
                best = min(best, float(np.mean(np.abs(error)) / size))
        errors.append(best)
    return float(np.median(errors)) if errors else np.inf


def intervals(o: Outcome) -> list[str]:
    """Every true value is an unknown of the experiment and lies in its interval."""
    if faults := imports(o):
        return faults
    code, answer = o.identified
    if code not in (0, 3):
        return [f"identify ends with {code}: {answer.get('message', '')[:300]}"]
    named = {name: spec.get("target", "") for name, spec in o.experiment["parameters"].items()}
    rows = {}
    for row in answer.get("parameters", []):
        targets = named.get(row["name"], "")
        for target in targets if isinstance(targets, list) else [targets]:
            rows[target.removeprefix("joint/")] = row
        for ending, attribute in _ENDINGS.items():
            if row["name"].endswith(ending):
                rows.setdefault(f"{row['name'].removesuffix(ending)}/{attribute}", row)
    faults = []
    for place, value in o.case.truth.items():
        row = rows.get(place)
        if row is None:
            faults.append(f"{place} is no unknown")
        elif not _inside(row, value):
            shown = [row.get(k) for k in ("value", "low", "high")]
            shown = ["none" if x is None else f"{x:.3g}" for x in shown]
            faults.append(f"{place} {shown[0]} ({shown[1]} to {shown[2]}), true {value:.3g}")
    if code == 3:
        faults.append("identify did not converge")
    return faults


def holds(o: Outcome, values: Iterable[float]) -> list[str]:
    """Each value lies in the interval of some unknown."""
    rows = o.identified[1].get("parameters", [])
    return [
        f"no unknown is {value:.4g}" for value in values if not any(_inside(r, value) for r in rows)
    ]


_ENDINGS = {"_armature": "armature", "_damping": "damping", "_friction": "frictionloss"}


def _inside(row: Mapping, value: float) -> bool:
    estimate, low, high = row.get("value"), row.get("low"), row.get("high")
    if estimate is not None and abs(estimate - value) <= NEAR * abs(value):
        return True
    if low is None or high is None:
        return False
    wide = WIDER * (high - low)
    return bool(low - wide <= value <= high + wide)


def usable(o: Outcome) -> list[str]:
    """Identify ends, and does not say "do not use"."""
    if faults := imports(o):
        return faults
    code, answer = o.identified
    if code not in (0, 3):
        return [f"identify ends with {code}: {answer.get('message', '')[:300]}"]
    if o.grade == "do not use":
        reasons = [r["sentence"] for r in answer["verdict"].get("reasons", [])]
        return [f"do not use: {'; '.join(reasons)[:300]}"]
    return []


def not_used(o: Outcome) -> list[str]:
    """The result is not called usable."""
    return ["use is said of a wrong model"] if o.file.is_file() and o.grade == "use" else []


def refused(o: Outcome, *groups: tuple[str, ...], where: str = "import") -> list[str]:
    """Exit code 2 with one sentence that has a word of each group; nothing is written."""
    code, answer = o.imported if where == "import" else o.identified
    message = o.words(str(answer.get("message", answer)))
    faults = [] if code == 2 else [f"{where} ends with {code} in place of 2"]
    for group in groups:
        if not any(word in message for word in group):
            faults.append(f"the message has none of {', '.join(group)}: {message[:200]}")
    if where == "import" and o.file.is_file():
        faults.append("an experiment was written")
    return faults


def says(o: Outcome, *groups: tuple[str, ...]) -> list[str]:
    """Import or check has a word of each group."""
    return _missing(o.text(), groups)


def names(o: Outcome, *groups: tuple[str, ...]) -> list[str]:
    """Import and check, or identify and explain, name a cause with a word of each group."""
    by_fit = says(o, *groups) and _missing(o.reasons, groups)
    return by_fit and _missing(o.causes, groups)  # explain takes longest


def _missing(text: str, groups: tuple[tuple[str, ...], ...]) -> list[str]:
    return [
        f"nothing says {' or '.join(group)}"
        for group in groups
        if not any(word in text for word in group)
    ]


def either(*choices: list[str]) -> list[str]:
    """No fault if one of several outcomes has none; else the faults of the nearest."""
    return min(choices, key=len)
