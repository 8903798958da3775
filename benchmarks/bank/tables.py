"""Tables of the bank in the terminal."""

import numpy as np

from bank.results import Row, alarms
from bank.situation import CAPABILITIES

GRADES = ("use", "look", "do not use", "none")


def show(rows: list[Row]) -> None:
    """Print grades by situation, false alarms, wrong verdicts, and the bars by capability."""
    by_situation(rows)
    false_alarms(rows)
    wrong_verdicts(rows)
    bars(rows)


def by_situation(rows: list[Row]) -> None:
    """Grades, intervals that hold, distance, place of the cause and CPU time."""
    print(f"{'situation':52}{'size':>5}{'n':>4}{'use':>5}{'look':>5}{'no':>4}{'none':>5}{'held':>9}"
          f"{'dist':>9}{'first':>6}{'3':>4}{'CPU s':>7}")  # fmt: skip
    keys = dict.fromkeys((r.situation.capability, r.situation.name, r.size) for r in rows)
    for capability, name, size in sorted(keys, key=lambda k: CAPABILITIES.index(k[0])):
        own = [
            r
            for r in rows
            if (r.situation.capability, r.situation.name, r.size) == (capability, name, size)
        ]
        count = [sum(r.answered.grade == g for r in own) for g in GRADES]
        held = f"{sum(r.held for r in own)}/{sum(len(r.answered.intervals) for r in own)}"
        away = [r.answered.distance for r in own if r.answered.distance is not None]
        places = [r.place for r in own]
        print(f"{f'{capability}: {name}':52}{size:5d}{len(own):4d}{count[0]:5d}{count[1]:5d}"
              f"{count[2]:4d}{count[3]:5d}{held:>9}{np.median(away) if away else np.nan:9.2f}"
              f"{sum(p == 0 for p in places):6d}{sum(p is not None and p < 3 for p in places):4d}"
              f"{np.mean([r.cpu for r in own]):7.1f}")  # fmt: skip


def false_alarms(rows: list[Row]) -> None:
    """Kinds of sentences that warn on pages of right models."""
    found, count = alarms(rows)
    pages = ", ".join(f"{n} {name}" for name, n in count.items())
    print(f"\nwarnings on pages of right models ({pages}); those after * are true there")
    for alarm in found:
        shown = ", ".join(f"{name} {n} of {count[name]}" for name, n in alarm.pages.items())
        print(f"{'*' if alarm.true else ' '} {alarm.where:8} {shown}: {alarm.kind}")


def wrong_verdicts(rows: list[Row]) -> None:
    """Cases whose answer is not what is right."""
    print("\nwrong verdicts")
    for row in rows:
        if not row.good:
            situation, found = row.situation, row.answered
            away = "-" if found.distance is None else f"{found.distance:.2f}"
            text = (found.reasons or [found.message])[0][:150]
            print(f"  {situation.capability}: {situation.name}, size {row.size}, seed {row.seed} "
                  f"({found.about}), {situation.sort}: {found.grade}, distance {away}, "
                  f"held {row.held}/{len(found.intervals)}. {text}")  # fmt: skip


def bars(rows: list[Row]) -> None:
    """The bars, by capability."""
    print()
    for capability in (*CAPABILITIES, "all"):
        own = [r for r in rows if capability in (r.situation.capability, "all")]
        if not own:
            continue
        found = figures(own)
        print(f"{capability}: " + "; ".join(f"{k} {v[0]} of {v[1]}" for k, v in found.items()))
    print(f"CPU time {sum(r.cpu for r in rows) / 3600:.2f} h")


def figures(rows: list[Row]) -> dict[str, tuple[int, int]]:
    """Counts and of how many, for each bar."""
    right = [r for r in rows if r.situation.sort == "right"]
    used = [r for r in right if r.answered.grade == "use"]
    wrong = [r for r in rows if r.situation.sort == "wrong"]
    matter = [r for r in wrong if not r.absorbed]
    absorbed = [r for r in wrong if r.absorbed]
    little = [r for r in rows if r.situation.sort == "little"]
    refused = [r for r in rows if r.situation.sort == "refused"]
    compared = [r for r in rows if r.answered.check]
    return {
        "right: use": (len(used), len(right)),
        "right: without a false warning": (sum(not r.false_warnings for r in right), len(right)),
        "intervals of these that hold": (
            sum(r.held for r in used), sum(len(r.answered.intervals) for r in used)),
        "wrong: use": (sum(r.answered.grade == "use" for r in matter), len(matter)),
        "cause first": (sum(r.place == 0 for r in matter), len(matter)),
        "cause among three": (
            sum(r.place is not None and r.place < 3 for r in matter), len(matter)),
        "absorbed and good": (sum(r.good for r in absorbed), len(absorbed)),
        "too little and good": (sum(r.good for r in little), len(little)),
        "refused": (sum(r.good for r in refused), len(refused)),
        "check contradicts": (sum(r.contradicts for r in compared), len(compared)),
    }  # fmt: skip
