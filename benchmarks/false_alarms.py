"""False alarms of the tests that raise warnings of an identification, on right models.

Each draw is a machine whose model is right except for its unknowns, and a noisy log; it is imported
and identified by the default path. A warning is then a false alarm. The power figures plant an
error of the measured signals of about twice their noise.

    python benchmarks/false_alarms.py FOLDER --draws 200
    python benchmarks/false_alarms.py FOLDER --table

Results are appended to FOLDER/alarms.jsonl; draws that it holds are not repeated.
"""

import argparse
import contextlib
import json
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bank.machines import make_machine, write_model
from bank.recorder import Motion, Wiring, record
from trueup import sysid
from verdict_bank import called

LEVEL = 0.01
"""Bar of the false alarms of one test."""


@dataclass(frozen=True)
class Case:
    """A kind of right model, or of a planted error.

    Attributes:
      machine: kind of machine of the bank.
      drive: its drive.
      seconds: length of the log [s].
      rate: rate of the log [Hz].
      noise: factor of the encoder noise.
      friction: factor of the dry friction of the machine; the model always has some.
      quantum: count of the encoders [rad, m].
      known: whether the model has the true values already.
      lines: replacements in the experiment file.
      planted: change of the measured positions ``(n, nu)``, or None.
    """

    machine: str = "arm2"
    drive: str = "servo"
    seconds: float = 8.0
    rate: float = 250.0
    noise: float = 1.0
    friction: float = 1.0
    quantum: float = 0.0
    known: bool = False
    lines: tuple[tuple[str, str], ...] = ()
    planted: Callable[..., np.ndarray] | None = None
    wiring: dict[str, object] = field(default_factory=dict)


def _windows(length: float) -> tuple[tuple[str, str], ...]:
    return (("window: 0\n", f"window: {length:g}\n"),)


def _slip(position: np.ndarray, noise: float) -> np.ndarray:
    """Positions with an offset of twice the noise in the last quarter, which is held out."""
    late = np.arange(len(position)) >= 0.75 * len(position)
    return position + 2.0 * noise * late[:, None]


CASES = {
    "axis": Case("axis"),
    "arm2": Case(),
    "wrist": Case("wrist"),
    "arm2 100 Hz": Case(rate=100.0, seconds=12.0),
    "arm2 known": Case(known=True),
    "axis no friction": Case("axis", friction=0.0),
    "arm2 no friction": Case(friction=0.0),
    "arm2 quantised": Case(noise=0.05, quantum=2 * np.pi / 4096),
    "arm2 windows": Case(lines=_windows(0.5)),
    "arm2 all data": Case(lines=(("fraction: 0.25", "fraction: 0"),)),
    "axis slip": Case("axis", planted=_slip),
    "arm2 slip": Case(planted=_slip),
}
"""Right models; the last two have a planted error of twice the noise."""


def draw(case: Case, name: str, seed: int) -> dict:
    """One draw: what each test said."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    machine = make_machine(case.machine, case.drive, rng)
    for joint in machine.real.joints:
        joint.frictionloss = float(joint.frictionloss) * case.friction
        machine.truth[f"{joint.name}_frictionloss"] *= case.friction
    motion = Motion.draw(machine, rng, seconds=case.seconds, rate=case.rate)
    wiring = Wiring(quantum=case.quantum, **case.wiring)  # type: ignore[arg-type]
    log = record(machine, motion, wiring, rng, case.noise)
    position = log.position
    if case.planted is not None:
        position = case.planted(position, case.noise * machine.kind.noise)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if case.known:
            machine.model = machine.real.to_xml()
        write_model(machine, folder)
        suffix = "cmd" if machine.drive == "servo" else "torque"
        names = [f"{j}_pos" for j in machine.joints] + [f"{j}_{suffix}" for j in machine.joints]
        np.savetxt(
            folder / "log.csv", np.column_stack([log.time, position, log.command]),
            delimiter=",", header=",".join(["time", *names]), comments="", fmt="%.9g",
        )  # fmt: skip
        file = folder / "experiment.yaml"
        words = (folder / "log.csv", "--model", folder / "model.xml", "-o", file)
        code, answer = called("import", *words, "--overwrite", "--no-check")
        if code:
            raise RuntimeError(answer["message"])
        text = file.read_text()
        for old, new in case.lines:
            assert old in text, old
            text = text.replace(old, new)
        file.write_text(text + "\noutput: {report: false}\n")
        experiment = sysid.load_experiment(file)
        result = sysid.identify(
            experiment, folder, output=folder / "run", overwrite=True, verbose=False
        )
    return {"case": name, "seed": seed, **_findings(result, machine.truth)}


def _findings(result: sysid.Identification, truth: dict[str, float]) -> dict:
    """The answer of each test, and the intervals that hold the truth."""
    summary, assessment = result.summary, result.assessment
    stability = assessment.stability
    white = [t.p_value for tests in assessment.whiteness.values() for t in tests]
    size = [[t.p_value, t.ratio] for tests in assessment.size.values() for t in tests]
    verdict = summary["verdict"]
    rows = summary["parameters"]
    held, sides = [], []
    for row in rows:
        key = row["name"].replace("_friction", "_frictionloss")
        if key in truth and np.isfinite(row["low"]):
            held.append(bool(row["low"] <= truth[key] <= row["high"]))
            sides.append((truth[key] - row["value"]) / (0.5 * (row["high"] - row["low"]) or 1.0))
    return {
        "grade": verdict["grade"],
        "status": summary["status"],
        "reasons": [r["sentence"] for r in verdict["reasons"] if r["grade"] != "use"],
        "warnings": [i["sentence"] for i in summary["insights"] if i["severity"] != "good"],
        "white": white,
        "size": size,
        "stability": [] if stability is None else list(map(float, stability.ratios)),
        "limits": [] if stability is None else list(map(float, stability.limits)),
        "horizons": [
            [h["horizon"], h["channel"], h["identified"], h["state_held"], h["velocity_held"]]
            for h in summary["horizons"]
        ],
        "comparisons": [
            [c["channel"], c["held_out"], c["error"], c["baselines"]]
            for c in verdict["comparisons"]
        ],
        "widths": [(r["high"] - r["low"]) / 2 / abs(r["value"] or 1e-9) for r in rows],
        "at_bound": [r["name"] for r in rows if r["at_bound"]],
        "held": sum(held),
        "intervals": len(held),
        "sides": sides,
        "seconds": summary["stats"].get("seconds"),
    }


KINDS = {
    "whiteness": "not white",
    "size of residual": "times as large where",
    "held-out values": "held-out data, a difference",
    "horizons": "worse than a prediction without a model",
    "single channels": "Single channels are worse",
    "no better": "Not better than",
    "worse": "Worse than",
    "score remarks": "the RMSE of the identified model is",
    "overfit": "% on the training data but",
    "weak": "weakly d",
    "limits": "physical limit",
    "bounds": "ended on its",
    "missing terms": "would ",
    "torques": "torques",
    "mean of a recording": "mean of a recording",
    "folds": "between the folds",
    "undetermined": "do not determine",
    "too little": "Too little",
    "poor fit": "poor fit",
}
"""Words by which a test is known on a page."""


def table(rows: list[dict]) -> None:
    """Print the rate of each test by case."""
    for name in dict.fromkeys(r["case"] for r in rows):
        own = [r for r in rows if r["case"] == name]
        n = len(own)
        grades = {g: sum(r["grade"] == g for r in own) for g in ("use", "look", "do not use")}
        clean = sum(not r["warnings"] and not r["reasons"] for r in own)
        held, count = sum(r["held"] for r in own), sum(r["intervals"] for r in own)
        print(f"\n{name}: {n} draws, {grades}, pages without a warning {clean}, "
              f"intervals {held}/{count} = {100 * held / max(count, 1):.1f} %")  # fmt: skip
        for kind, words in KINDS.items():
            reasons = sum(any(words in t for t in r["reasons"]) for r in own)
            marks = sum(any(words in t for t in r["warnings"]) for r in own)
            if reasons or marks:
                print(f"  {kind:22}{reasons:5d} reasons {100 * reasons / n:5.1f} %"
                      f"{marks:6d} warnings {100 * marks / n:5.1f} %")  # fmt: skip
        other = [
            t for r in own for t in (*r["reasons"], *r["warnings"])
            if not any(w in t for w in KINDS.values())
        ]  # fmt: skip
        for text in list(dict.fromkeys(other))[:3]:
            print(f"  other: {text[:150]}")


def main() -> None:
    """Run the draws that are missing, or print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default="", help="name of a case")
    parser.add_argument("--table", action="store_true", help="print the table only")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    file = options.folder / "alarms.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []
    done = {(r["case"], r["seed"]) for r in rows}
    for name, case in CASES.items() if not options.table else ():
        if options.only and options.only != name:
            continue
        for seed in range(options.first, options.first + options.draws):
            if (name, seed) in done:
                continue
            rows.append(draw(case, name, seed))
            with file.open("a") as out:
                out.write(json.dumps(rows[-1]) + "\n")
    table(rows)


if __name__ == "__main__":
    main()
