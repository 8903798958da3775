"""Situations from public threads, rebuilt with known truth and run as a user would.

    python benchmarks/public_situations/run.py FOLDER
    python benchmarks/public_situations/run.py FOLDER --only kinova_wrap --again
    python benchmarks/public_situations/run.py FOLDER --table

Results are appended to FOLDER/results.jsonl; cases that it holds are not run again.
"""

import argparse
import json
import shutil
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import arm_logs
import legged_logs
import lerobot_logs
import mechanisms
import model_files
import motor_logs
import ros_logs
import yaml
from judging import Case, Outcome, imports

LIST = Path(__file__).with_name("situations.yaml")
MODULES = (ros_logs, legged_logs, lerobot_logs, arm_logs, motor_logs, mechanisms, model_files)


def maker(name: str) -> Callable[[Path], Case]:
    """The function that rebuilds a situation."""
    return next(getattr(module, name) for module in MODULES if hasattr(module, name))


def run(name: str, folder: Path) -> dict:
    """Rebuild one situation, run it and judge it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    began = time.process_time()
    case = maker(name)(folder)
    made = time.process_time()
    outcome = Outcome(case, folder)
    try:
        faults = case.judge(outcome)
    except Exception:  # a crash of a command is an outcome of its case, not the end of the run
        faults = [f"raises: {traceback.format_exc().strip().splitlines()[-1][:300]}"]
        (folder / "traceback.txt").write_text(traceback.format_exc())
    identified = "identified" in outcome.__dict__
    return {
        "id": name,
        "outcome": "right" if not faults else _partly(outcome, faults),
        "faults": faults,
        "import": outcome.imported[0] if "imported" in outcome.__dict__ else None,
        "identify": outcome.identified[0] if identified else None,
        "grade": outcome.grade if identified else "",
        "seconds": [round(made - began, 1), round(time.process_time() - made, 1)],
    }


def _partly(outcome: Outcome, faults: list[str]) -> str:
    """Half if only the fit fails, or a refusal only in its words; else wrong."""
    if outcome.imported[0] == 2 and all(f.startswith("the message") for f in faults):
        return "half"
    of_fit = all(f.startswith(("identify ", "do not use")) or ", true " in f for f in faults)
    return "half" if of_fit and "imported" in outcome.__dict__ and not imports(outcome) else "wrong"


def table(rows: dict[str, dict], listed: list[dict]) -> None:
    """Print wanted and came, and a count."""
    for entry in listed:
        row = rows.get(entry["id"])
        if row is None:
            continue
        print(f"{entry['id']:24}{row['outcome']:7}import {row['import']}  identify "
              f"{row['identify']} {row['grade']:12}{sum(row['seconds']):6.1f} s")  # fmt: skip
        print(f"    wanted {entry['right']}")
        print(
            "    came   "
            + ("as wanted" if not row["faults"] else "\n           ".join(row["faults"]))
        )
    count = {k: sum(r["outcome"] == k for r in rows.values()) for k in ("right", "half", "wrong")}
    print(f"{len(rows)} of {len(listed)}: {count}")


def main() -> None:
    """Run the situations that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=None, metavar="ID")
    parser.add_argument("--again", action="store_true", help="run cases that have a result too")
    parser.add_argument("--table", action="store_true", help="print the table only")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    listed = yaml.safe_load(LIST.read_text())
    file = given.folder / "results.jsonl"
    lines = file.read_text().splitlines() if file.is_file() else []
    rows = {row["id"]: row for row in map(json.loads, lines)}
    for entry in listed if not given.table else ():
        name = entry["id"]
        if given.only is not None and name not in given.only:
            continue
        if name in rows and not given.again:
            continue
        rows[name] = run(name, (given.folder / name).resolve())
        with file.open("a") as out:
            out.write(json.dumps(rows[name]) + "\n")
        print(f"{name:24}{rows[name]['outcome']:7}{rows[name]['seconds']}", flush=True)
    chosen = rows if given.only is None else {k: r for k, r in rows.items() if k in given.only}
    table(chosen, listed)


if __name__ == "__main__":
    main()
