"""Bank of verdicts: right models, planted faults and too little data, by the default path.

Each case is made, recorded and answered in a folder: of an identification ``import``, ``check``
and ``identify``, with nothing edited unless the situation says so. What is right is computed: the
result and the machine move side by side on a fresh motion.

    python benchmarks/verdict_bank.py FOLDER --seeds 0 3
    python benchmarks/verdict_bank.py FOLDER --seeds 100 110 --capability torque --part 1/2
    python benchmarks/verdict_bank.py FOLDER --table
    python benchmarks/verdict_bank.py FOLDER --page docs/trust.md

Results are appended to FOLDER/results.jsonl, which several parts may share; cases that it holds are
not run again.
"""

import argparse
import resource
import tempfile
import time
import traceback
from pathlib import Path

from bank import results, tables
from bank.answers import Answered
from bank.registry import all_situations
from bank.results import Row
from bank.situation import CAPABILITIES, SORTS, Situation

STOPPED = (130, 143)
"""Exit codes of a command that was interrupted or terminated."""


def main() -> None:
    """Run the cases that are missing, print the table, or write the page."""
    options = _options()
    options.folder.mkdir(parents=True, exist_ok=True)
    file, known = options.folder / "results.jsonl", all_situations()
    if not (options.table or options.page):
        for situation, size, seed in cases(known, options):
            # another part may have done it meanwhile
            done = {(id(r.situation), r.size, r.seed) for r in results.read([file], known)}
            if (id(situation), size, seed) not in done:
                row = played(situation, size, seed, options)
                if row.answered.code in STOPPED:
                    raise SystemExit(row.answered.code)  # the case is played again
                results.append(file, row)
    rows = [r for r in results.read([file], known) if _chosen(r.situation, options)]
    if options.page:
        from bank.page import write_page

        write_page(rows, known, options.page)
    else:
        tables.show([r for r in rows if options.table or r.seed in range(*options.seeds)])


def cases(known: list[Situation], options: argparse.Namespace) -> list[tuple[Situation, int, int]]:
    """Cases of this part."""
    part, parts = (int(number) for number in options.part.split("/"))
    found = [
        (situation, size, seed)
        for seed in range(*options.seeds)
        for situation in known
        if _chosen(situation, options)
        for size in situation.sizes
    ]
    return found[part - 1 :: parts]


def played(situation: Situation, size: int, seed: int, options: argparse.Namespace) -> Row:
    """One case; an exception of the product is an answer too."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.keep:
            words = f"{situation.capability} {situation.name} {size} {seed}"
            folder = options.folder / words.replace(" ", "-").replace(",", "")
            folder.mkdir(parents=True, exist_ok=True)
        before = _cpu()
        try:
            answered = situation.play(size, seed, folder)
        except Exception:  # a bank that runs for hours goes on
            answered = Answered(code=results.CRASHED, message=traceback.format_exc())
    print(f"{time.strftime('%H:%M:%S')} {situation.capability}: {situation.name} {size} {seed} "
          f"{answered.grade}", flush=True)  # fmt: skip
    return Row(situation, size, seed, round(_cpu() - before, 1), answered)


def _chosen(situation: Situation, options: argparse.Namespace) -> bool:
    return (
        options.only in situation.name
        and situation.sort in options.sort
        and situation.capability in options.capability
    )


def _cpu() -> float:
    """CPU time of this process and its children [s]."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(t.ru_utime + t.ru_stime for t in times)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 1), metavar=("FIRST", "END"))
    parser.add_argument("--only", default="", help="part of the names of situations")
    parser.add_argument("--sort", nargs="+", choices=SORTS, default=SORTS)
    parser.add_argument("--capability", nargs="+", choices=CAPABILITIES, default=CAPABILITIES)
    parser.add_argument("--part", default="1/1", metavar="K/N", help="every N-th from the K-th")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the cases")
    parser.add_argument("--table", action="store_true", help="print the table of all results only")
    parser.add_argument("--page", type=Path, help="write the page of the documentation only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
