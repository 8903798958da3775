"""Identification of EMPS, a real axis with published parameters, and effect of MuJoCo's defaults.

Run:  python benchmarks/emps.py  [--data FOLDER]   (FOLDER holds emps/DATA_EMPS.mat)
      python benchmarks/emps.py --open-loop 0 0.1 0.5 2

``--open-loop``: recorded motor force in place of the controller, position compared, windows of so
many seconds (0: none), and inverse dynamics. Bar: M within 2 %, friction within 4 %, or a verdict
that says why not.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import yaml

from trueup.sysid import identify
from trueup.sysid.experiment.file import parse_experiment

PUBLISHED = {"M": 95.1089, "viscous": 203.5034, "coulomb": 20.3935, "offset": 3.1648}
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "emps"
VARIANTS = {
    "as identified by one command": {},
    "soft friction (MuJoCo's default)": {"soft": True},
    "implicit integration": {"integrator": "implicitfast"},
    "position only": {"position_only": True},
    "all three defaults": {"soft": True, "integrator": "implicitfast", "position_only": True},
}


def run(data: Path, change: dict) -> dict:
    """Identify one variant in a temporary folder; returns its summary and signals."""
    content = yaml.safe_load((EXAMPLE / "experiment.yaml").read_text())
    model = (EXAMPLE / "emps.xml").read_text()
    if change.get("soft"):
        friction = ' solreffriction="0.002 1" solimpfriction="0.99 0.9999 0.001 0.5 2"'
        model = " ".join(model.split()).replace(friction.strip(), "")
    if "integrator" in change:
        content["model"]["integrator"] = change["integrator"]
    if change.get("position_only"):
        content["recordings"][0]["signals"].pop("force")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder)
        (target / "emps.xml").write_text(model)
        shutil.copy(data / "emps" / "DATA_EMPS.mat", target)
        experiment = parse_experiment(yaml.safe_dump(content))
        result = identify(experiment, target, verbose=False)
        held = next(s for s in result.assessment.signals if s.held_out)
        column = held.channels.index("position")
        error = held.measured[:, column] - held.fitted[:, column]
        return {
            "values": dict(zip(result.problem.space.names, result.solution.x, strict=True)),
            "low": result.assessment.intervals[:, 0],
            "high": result.assessment.intervals[:, 1],
            "second": result.assessment.stability.values,
            "ratios": result.assessment.stability.ratios,
            "position_error": float(np.sqrt(np.mean(error**2))),
            "seconds": result.solution.stats["seconds"],
        }


def open_loop(data: Path, window: float | None) -> None:
    """Print one row: windows of a simulation of recorded forces, or inverse dynamics where None."""
    content = yaml.safe_load((EXAMPLE / "experiment.yaml").read_text())
    model = (EXAMPLE / "emps.xml").read_text()
    first, last = model.index('<general name="loop"'), model.index("</actuator>")
    motor = '<general name="motor" joint="axis" gainprm="1" biastype="affine" biasprm="0 0 0"/>'
    model = model[:first] + motor + model[last:]
    model = model.replace('<actuatorfrc name="force" actuator="loop"/>', "")
    recording = content["recordings"][0]
    recording["controls"] = {"motor": recording["signals"].pop("force")}
    content["parameters"]["offset"]["target"] = "actuator/motor/biasprm/0"
    if window is None:
        content["search"] = {"method": "inverse-dynamics"}
    else:
        content["window"] = window
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "emps.xml").write_text(model)
        shutil.copy(data / "emps" / "DATA_EMPS.mat", folder)
        began = time.process_time()
        result = identify(parse_experiment(yaml.safe_dump(content)), Path(folder), verbose=False)
        seconds = time.process_time() - began
    values = dict(zip(result.problem.space.names, result.solution.x, strict=True))
    off = ", ".join(f"{n} {100 * (values[n] / PUBLISHED[n] - 1):+.2f} %" for n in PUBLISHED)
    verdict = result.summary["verdict"]
    label = "inverse dynamics" if window is None else f"window {window:g} s"
    print(
        f"{label}: {result.solution.status.value}, {off}; {seconds:.0f} CPU s; verdict "
        f"{verdict['grade']}: {verdict['reasons'][0]['sentence']}",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=os.environ.get("TRUEUP_DATA", default))
    parser.add_argument("--open-loop", type=float, nargs="*", metavar="WINDOW")
    options = parser.parse_args()
    data = Path(options.data)
    if options.open_loop is not None:
        for window in (None, *options.open_loop):
            open_loop(data, window)
        return
    for label, change in VARIANTS.items():
        result = run(data, change)
        print(
            f"\n{label}: fit {result['seconds']:.1f} s, held-out position error "
            f"{1e6 * result['position_error']:.2f} um rms"
        )
        for i, (name, value) in enumerate(result["values"].items()):
            true = PUBLISHED[name]
            print(
                f"  {name:8s} {value:9.4f}  [{result['low'][i]:9.4f}, {result['high'][i]:9.4f}]  "
                f"published {true:9.4f}  {100 * (value / true - 1):+6.2f} %  "
                f"second half {result['second'][i]:9.4f} ({result['ratios'][i]:.2f} of what noise "
                f"explains)"
            )


if __name__ == "__main__":
    main()
