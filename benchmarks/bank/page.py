"""Page of the documentation that says how far verdicts can be trusted, made from results alone."""

from pathlib import Path

from bank.results import Row
from bank.situation import CAPABILITIES, Situation
from bank.tables import figures

HEAD = """# How far the verdict can be trusted

`use`, `look`, `do not use` is a judgement, and judgements can be wrong. How often was measured on
machines whose truth is known. A bank of situations makes them: right models, planted faults of
two sizes, and too little data. Each case takes the path of a user (`import`, `check`, `identify`;
`actuator fit`; `network train`; `gait evaluate`). What the answer should have been is computed:
the result and the machine move side by side on a motion that no fit has seen. A planted fault
that makes the prediction err by twice the noise or more must never be called `use`.

{cases} cases of {situations} situations, {drawn}. `benchmarks/verdict_bank.py` runs them and
writes this page:

<!-- not executed: hours -->
```console
$ python benchmarks/verdict_bank.py runs/bank --seeds 100 110
$ python benchmarks/verdict_bank.py runs/bank --page docs/trust.md
```
"""

NAMES = {
    "simulation": "identification by simulation",
    "torque": "identification by torques",
    "servo bench": "servo bench",
    "network": "learned actuator",
    "walk": "walk",
}

RIGHT = """
## Right models

A right model should be `use`, with a page that warns of nothing, and intervals of 95 % should
hold the truth in 95 of 100 parameters.

| capability | cases | called `use` | without a warning | intervals that hold |
|---|---|---|---|---|
"""

WRONG = """
## Wrong models and logs

Counted are the faults that the parameters do not absorb. None should be `use`. A cause counts as
named where a sentence of the verdict names it, or something that the data cannot distinguish from
it.

| capability | cases | called `use` | cause first | cause among the first three |
|---|---|---|---|---|
"""

OTHERS = """
## Absorbed faults, too little data, refusals

An absorbed fault does no harm to the prediction; it is answered well where it is not `use`, is
named, or has left the intervals right. Too little data is answered well where the result is not
`use`, or is right all the same. Input that says nothing, such as a held-out recording that is a
copy of the training recording, has to be refused.

| capability | absorbed, answered well | too little data, answered well | refused |
|---|---|---|---|
"""

CHECK = """
## check

`check` and the result that follows it disagreed about what the data determine in {0} of {1}
cases.
"""


def write_page(rows: list[Row], known: list[Situation], file: Path) -> None:
    """Write the page of the results of the bank."""
    seeds = sorted({row.seed for row in rows})
    played = {(r.situation.capability, r.situation.name) for r in rows}
    drawn = f"seeds {seeds[0]} to {seeds[-1]}" if seeds else "none yet"
    head = HEAD.format(cases=len(rows), situations=len(played), drawn=drawn)
    by_capability = {
        name: figures(own)
        for name in CAPABILITIES
        if (own := [r for r in rows if r.situation.capability == name])
    }
    tables = [
        _table(RIGHT, by_capability, ("right: use", "right: without a false warning",
                                      "intervals of these that hold")),
        _table(WRONG, by_capability, ("wrong: use", "cause first", "cause among three"), True),
        _others(by_capability),
    ]  # fmt: skip
    compared = figures(rows)["check contradicts"]
    parts = [head, *tables, CHECK.format(*compared), _wrong(rows), _situations(rows, known)]
    file.write_text("".join(parts), encoding="utf-8")


def _table(
    head: str,
    by_capability: dict[str, dict[str, tuple[int, int]]],
    keys: tuple[str, ...],
    absolute: bool = False,
) -> str:
    lines = []
    for name, found in by_capability.items():
        if not found[keys[0]][1]:
            continue
        cells = [_share(*found[key]) for key in keys]
        if absolute:
            cells[0] = str(found[keys[0]][0])
        lines.append(f"| {NAMES[name]} | {found[keys[0]][1]} | {' | '.join(cells)} |\n")
    return head + "".join(lines)


def _others(by_capability: dict[str, dict[str, tuple[int, int]]]) -> str:
    keys = ("absorbed and good", "too little and good", "refused")
    lines = [
        f"| {NAMES[name]} | {' | '.join(_share(*found[key], counted=True) for key in keys)} |\n"
        for name, found in by_capability.items()
    ]
    return OTHERS + "".join(lines)


def _share(part: int, of: int, counted: bool = False) -> str:
    if not of:
        return "none played"
    return f"{part} of {of}" if counted else f"{100 * part / of:.0f} % ({part} of {of})"


def _wrong(rows: list[Row]) -> str:
    """Situations of which a case was answered wrongly."""
    missed: dict[tuple[str, str, str], int] = {}
    count: dict[tuple[str, str, str], int] = {}
    for row in rows:
        key = (row.situation.capability, row.situation.name, row.situation.sort)
        count[key] = count.get(key, 0) + 1
        missed[key] = missed.get(key, 0) + (not row.good)
    lines = [
        f"| {NAMES[capability]} | {name} | {sort} | {missed[capability, name, sort]} of {cases} |\n"
        for (capability, name, sort), cases in count.items()
        if missed[capability, name, sort]
    ]
    if not lines:
        return "\n## Where it was wrong\n\nNowhere in these cases.\n"
    head = "| capability | situation | model | wrong verdicts |\n|---|---|---|---|\n"
    return f"\n## Where it was wrong\n\n{head}{''.join(lines)}"


def _situations(rows: list[Row], known: list[Situation]) -> str:
    """What the bank covers, and what it does not."""
    played = {(r.situation.capability, r.situation.name) for r in rows}
    text = "\n## What is covered\n"
    for capability in CAPABILITIES:
        own = [s for s in known if s.capability == capability]
        text += f"\n**{NAMES[capability].capitalize()}.**"
        for sort, title in (("right", "Right models"), ("wrong", "Faults"),
                            ("little", "Too little data"), ("refused", "Refused")):  # fmt: skip
            names = [s.name for s in own if s.sort == sort and (capability, s.name) in played]
            text += f" {title}: {', '.join(names)}." if names else ""
        text += "\n"
        left = [s.name for s in own if (capability, s.name) not in played]
        text += f"Not played yet: {', '.join(left)}.\n" if left else ""
    return text + NOT_COVERED


NOT_COVERED = """
## What is not covered

- Machines that stand or walk on the ground, and objects that are pushed: a finger that touches
  the ground is the only contact.
- Faults in combination. Each case has one.
- Temperature, wear, and friction with memory.
- Logs of real machines, whose truth nobody knows.
- Natural walks. Each walk of the shipped walker leans on its joint stops, so that the bank holds
  no right walk.
"""
