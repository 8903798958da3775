"""A search that ended at a local optimum goes on from where other data have their optimum."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from trueup import sysid
from trueup.fitting.losses import Loss
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.fit import run as running
from trueup.sysid.starts.second_optimum import SHARE, SecondOptimum, second_optimum

TRUE = (2 * np.pi * 2.0) ** 2  # 2 Hz

MODEL = """<mujoco><option timestep=".005" integrator="implicitfast"/><worldbody><body>
<joint name="slide" type="slide" axis="1 0 0" stiffness="{k}" damping=".05"/>
<geom size=".05" mass="1" contype="0"/></body></worldbody>
<sensor><jointpos name="x" joint="slide"/></sensor></mujoco>"""

EXPERIMENT = """
name: swing
model: {{file: swing.xml}}
recordings:
  - {{file: swing.csv, time: t, signals: {{x: x, slide_qvel: v}}, initial: {initial}}}
parameters:
  stiffness: {{target: joint/slide/stiffness, bounds: [20, 600], start: {start}}}
held_out: {{fraction: {held_out}}}
output: {{report: false}}
"""


KNOWN = "{qpos: {slide: 0.3}}"


def identified(
    folder: Path, ratio: float, held_out: float = 0.2, seconds: float = 16.0, initial="measured"
):
    """A mass that swings on a spring: the cost has a minimum for each whole number of periods."""
    model = mujoco.MjModel.from_xml_string(MODEL.format(k=TRUE))
    data, rows = mujoco.MjData(model), []
    data.qpos[0] = 0.3
    for step in range(int(seconds / 0.005)):
        if step % 4 == 0:
            rows.append((data.time, data.qpos[0], data.qvel[0]))
        mujoco.mj_step(model, data)
    table = np.array(rows)
    table[:, 1:] += 1e-3 * np.random.default_rng(0).normal(size=(len(table), 2))
    np.savetxt(folder / "swing.csv", table, delimiter=",", header="t,x,v", comments="")
    (folder / "swing.xml").write_text(MODEL.format(k=TRUE))
    text = EXPERIMENT.format(start=ratio**2 * TRUE, held_out=held_out, initial=initial)
    experiment = parse_experiment(text)
    return sysid.identify(experiment, folder, output=folder / "run", verbose=False)


@pytest.mark.parametrize(("ratio", "held_out"), [(1.05, 0.2), (0.93, 0.2), (1.05, 0.0)])
def test_a_local_optimum_is_left_for_that_of_other_data(tmp_path, ratio, held_out):
    found = identified(tmp_path, ratio, held_out)
    assert found.solution.x[0] == pytest.approx(TRUE, rel=1e-3)
    assert found.summary["verdict"]["grade"] == "use"
    part = "the held-out data" if held_out else "the last quarter of each recording"
    (note,) = [n for n in found.summary["notes"] if "local optimum" in n]
    assert note.startswith(f"The optimum of {part} gave a start of a second search")
    assert "training data alone decided" in note
    costs = [record["cost"] for record in found.solution.history if "cost" in record]
    assert costs[-1] == min(costs) == found.solution.cost


def test_without_the_second_search_the_first_optimum_is_the_result(tmp_path, monkeypatch):
    """What the test above finds is not what the first search finds."""
    monkeypatch.setattr(
        running, "second_optimum", lambda prepared, problem, solution, *_: SecondOptimum(solution)
    )
    found = identified(tmp_path, 1.05)
    assert abs(found.solution.x[0] / TRUE - 1) > 0.05
    assert found.summary["verdict"]["grade"] == "do not use"
    assert not any("local optimum" in note for note in found.summary["notes"])


def test_a_lower_cost_of_other_data_alone_is_not_accepted(tmp_path):
    """Held-out data of another spring have another optimum, of a higher training cost."""
    right = identified(tmp_path, 1.01, initial=KNOWN)
    assert not any("local optimum" in note for note in right.summary["notes"])
    table = np.loadtxt(tmp_path / "swing.csv", delimiter=",", skiprows=1)
    late = table[:, 0] > 12.8
    table[late, 0] = 12.8 + 1.03 * (table[late, 0] - 12.8)  # a slower spring
    np.savetxt(tmp_path / "swing.csv", table, delimiter=",", header="t,x,v", comments="")
    text = EXPERIMENT.format(start=TRUE, held_out=0.2, initial=KNOWN)
    prepared = prepare(parse_experiment(text), tmp_path)
    kept = second_optimum(prepared, prepared.problem(), right.solution, Loss())
    assert kept.solution is right.solution and kept.was_tried and not kept.notes
    assert kept.elsewhere is not None
    assert kept.elsewhere.x[0] < 0.99 * TRUE
    # nothing is tried without time
    late_one = second_optimum(prepared, prepared.problem(), right.solution, Loss(), time_limit=0.0)
    assert late_one.solution is right.solution and not late_one.was_tried
    assert SHARE <= 0.3
