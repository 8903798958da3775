"""Steps after an explanation, with the commands."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueup.reports import Step
from trueup.reports.symptoms import pages_of_causes

AT_NOISE = 1.05
"""Error relative to noise up to which a part of the data has no gap."""

_IN_EXPERIMENT = {
    "payload": "Add the payload to the model as a body",
    "gravity": "Set gravity in the options of the model, or the mounting of its base",
    "gravity-compensation": "Set gravcomp on the bodies of the model",
    "command-range": "Set ctrlrange of the actuators in the model",
    "joint-range": "Set the range of the joints in the model",
    "limits": "Set forcerange of the actuators in the model",
    "delay": "Add the delay of the actuators to parameters (target: actuator/NAME/delay)",
}
"""Change for a cause, where it is not a parameter like others."""


def next_steps(summary: Mapping[str, Any], experiment: Path | None = None) -> list[Step]:
    """Steps after an explanation.

    Args:
      summary: content of ``solution.json``.
      experiment: experiment file, for the commands; None: ``EXPERIMENT`` stands for it.
    """
    file = "EXPERIMENT" if experiment is None else shlex.quote(str(experiment))
    identify = f"trueup identify {file}"
    if summary["chosen"]:
        by_name = {row["cause"]: row for row in summary["causes"]}
        first = summary["chosen"][0]
        check = by_name[first]["check"]
        change = _IN_EXPERIMENT.get(
            first, "Set the values in the model, or add them to parameters of the experiment"
        )
        return [
            Step(f"Check it on the machine: {check}."),
            *(Step(page.sentence) for page in pages_of_causes([first])),
            Step(f"{change}, and identify:", identify),
            Step("See what is left after the change:", f"trueup explain {file}"),
        ]
    if summary["verdict"]["grade"] == "use":
        return [Step("Nothing is to be explained. Identify what the model leaves open:", identify)]
    gap = summary["gap"]
    if min(gap["model"] / max(gap["noise"], 1e-300), gap["training"]) <= AT_NOISE:
        again = "Record a longer log, or hold out another part (held_out), and explain again:"
        return [Step(again, f"trueup explain {file}")]
    return [
        Step("Check columns, units, signs and clocks of the log:", f"trueup check {file}"),
        Step("Look for what the model lacks, term by term, after a fit:", identify),
    ]
