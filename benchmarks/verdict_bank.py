"""Bank of verdicts: right models, planted faults and too little data, by the default path.

Each case is a model and a log in a folder: ``import``, then ``identify``, nothing edited. What is
right is computed: fitted model and machine move on a fresh motion.

    python benchmarks/verdict_bank.py FOLDER --seeds 0 3
    python benchmarks/verdict_bank.py FOLDER --seeds 100 110 --only arm2
    python benchmarks/verdict_bank.py FOLDER --table

Results are appended to FOLDER/results.jsonl; cases that it holds are not run again.
"""

import argparse
import contextlib
import io
import json
import resource
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np

from bank.grading import distance, torque_noise
from bank.machines import write_model
from bank.recorder import record
from bank.situations import Situation, situations
from trueup.cli import main as trueup


def called(*words: object) -> tuple[int, dict]:
    """Exit code and JSON answer of a command."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(io.StringIO()):
        code = trueup([*map(str, words), "--json"])
    text = shown.getvalue().strip()
    return code, json.loads(text) if text.startswith("{") else {"message": text}


def run(situation: Situation, size: int, seed: int, keep: Path | None) -> dict:
    """One case."""
    rng = np.random.default_rng([zlib.crc32(situation.name.encode()), size, seed])
    machine, wiring, motion = situation.make(size, rng)
    log = record(machine, motion, wiring, rng, situation.noise)
    with contextlib.ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        write_model(machine, folder)
        commands = log.command
        if machine.drive == "torque":
            spread = torque_noise(commands) * max(situation.noise, 1.0)
            commands = commands + spread * rng.normal(size=commands.shape)
        suffix = "cmd" if machine.drive == "servo" else "torque"
        names = [f"{j}_pos" for j in machine.joints] + [f"{j}_{suffix}" for j in machine.joints]
        np.savetxt(
            folder / "log.csv",
            np.column_stack([log.time, log.position, commands]),
            delimiter=",", header=",".join(["time", *names]), comments="", fmt="%.9g",
        )  # fmt: skip
        began, used = time.time(), cpu()
        experiment = folder / "experiment.yaml"
        words = (folder / "log.csv", "--model", folder / "model.xml", "-o", experiment)
        imported, answer = called("import", *words, "--overwrite")
        row = {
            "situation": situation.name, "sort": situation.sort, "size": size, "seed": seed,
            "import": imported,
        }  # fmt: skip
        if imported == 0:
            out = folder / "run"
            code, answer = called("identify", experiment, "-o", out, "--quiet", "--overwrite")
            row |= judged(code, answer, situation, machine.truth)
            if (out / "model.xml").is_file():
                row["distance"] = distance(machine, wiring, out / "model.xml", rng, situation.noise)
        else:
            row["message"] = answer.get("message", "")
        row |= {"seconds": round(time.time() - began, 1), "cpu": round(cpu() - used, 1)}
    return row


def cpu() -> float:
    """CPU time of this process [s]."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def judged(code: int, answer: dict, situation: Situation, truth: dict[str, float]) -> dict:
    """Verdict, reasons, and how many intervals hold the truth."""
    verdict = answer.get("verdict", {})
    reasons = [r for r in verdict.get("reasons", []) if r["grade"] != "use"]
    texts = [r["sentence"] for r in reasons]
    held = [
        (p["name"], p["low"] <= truth[key] <= p["high"])
        for p in answer.get("parameters", [])
        if (key := p["name"].replace("_friction", "_frictionloss")) in truth
        and p.get("low") is not None
    ]
    named = [i for i, text in enumerate(texts) if any(w in text.lower() for w in situation.causes)]
    return {
        "code": code,
        "grade": verdict.get("grade", "none"),
        "reasons": texts,
        "insights": answer.get("insights", []),
        "held": sum(inside for _, inside in held),
        "intervals": len(held),
        "named": named[0] if named else None,
        "message": answer.get("message", "")[:300],
    }


def table(rows: list[dict]) -> None:
    """Print grades by situation, and the bars."""
    print(f"{'situation':36}{'size':>5}{'n':>4}{'use':>5}{'look':>6}{'no':>5}{'none':>6}"
          f"{'held':>8}{'distance':>10}{'CPU s':>8}")  # fmt: skip
    for name, size in dict.fromkeys((r["situation"], r["size"]) for r in rows):
        own = [r for r in rows if (r["situation"], r["size"]) == (name, size)]
        count = {g: sum(r.get("grade", "none") == g for r in own)
                 for g in ("use", "look", "do not use", "none")}  # fmt: skip
        held = sum(r.get("held", 0) for r in own), sum(r.get("intervals", 0) for r in own)
        away = np.median([r.get("distance", np.nan) for r in own])
        print(f"{name:36}{size:5d}{len(own):4d}{count['use']:5d}{count['look']:6d}"
              f"{count['do not use']:5d}{count['none']:6d}{held[0]:5d}/{held[1]:<3d}"
              f"{away:9.1f}{np.mean([r['cpu'] for r in own]):8.1f}")  # fmt: skip
    right = [r for r in rows if r["sort"] == "right"]
    wrong = [r for r in rows if r["sort"] == "wrong" and r.get("distance", np.inf) >= 2.0]
    used = [r for r in right if r.get("grade") == "use"]
    held = sum(r["held"] for r in used), sum(r["intervals"] for r in used)
    print(f"right: use {len(used)} of {len(right)}; intervals of these {held[0]} of {held[1]}")
    print(f"wrong and not absorbed: use {sum(r.get('grade') == 'use' for r in wrong)} of "
          f"{len(wrong)}; cause named {sum(r.get('named') is not None for r in wrong)}, "
          f"first {sum(r.get('named') == 0 for r in wrong)}")  # fmt: skip


def main() -> None:
    """Run the cases that are missing, or print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 1), metavar=("FIRST", "END"))
    parser.add_argument("--only", default="", help="part of the names of situations")
    parser.add_argument("--sort", default="", help="right, wrong or little")
    parser.add_argument("--table", action="store_true", help="print the table only")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the cases")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    file = options.folder / "results.jsonl"
    lines = file.read_text().splitlines() if file.is_file() else []
    rows = [json.loads(line) for line in lines]
    done = {(r["situation"], r["size"], r["seed"]) for r in rows}
    for seed in range(*options.seeds) if not options.table else ():
        for situation in situations():
            if options.only not in situation.name or options.sort not in situation.sort:
                continue
            for size in (0, 1) if situation.sort == "wrong" else (0,):
                if (situation.name, size, seed) in done:
                    continue
                place = options.folder / f"{situation.name}_{size}_{seed}".replace(" ", "-")
                row = run(situation, size, seed, place if options.keep else None)
                rows.append(row)
                with file.open("a") as out:
                    out.write(json.dumps(row) + "\n")
    table(rows)


if __name__ == "__main__":
    main()
