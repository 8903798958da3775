"""The section of a report that shows how a walk goes under perturbations it was not scored on."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from given_configurations import FIRST_WALK
from made_up_walks import walk

from trueup.cli import main
from trueup.gait import PerturbationSizes, Survival, Walker, WalkSettings, WalkSimulation, survival
from trueup.gait.report.survival_section import survival_figure, survival_section
from trueup.gait.walk.frames import FRAME
from trueup.reports import Page

LASTED = np.array([10.0, 3.0, 10.0, 0.0, 6.0])
ENDED = np.array([0, 1, 0, 3, 2])


@pytest.fixture(scope="module")
def simulation():
    settings = WalkSettings(duration=0.3, delayed=False, threads=1)
    return WalkSimulation(Walker.load("planar22"), settings)


@pytest.fixture(scope="module")
def real(simulation):
    return survival(simulation, simulation.parameters.start, n=5)


@pytest.fixture
def found(real) -> Survival:
    """Two repeats that stay up, one that falls, one that cannot start and one that diverges."""
    draws = real.draws._replace(
        push=np.array([40.0, -20.0, 10.0, 5.0, 0.0]),
        push_start=np.array([2.0, 8.0, 9.0, 1.0, 1.0]),
    )
    return replace(
        real, walked=1.2 * LASTED, lasted=LASTED, fell=ENDED > 0, ended=ENDED, duration=10.0,
        draws=draws,
    )  # fmt: skip


def test_what_is_told_is_what_was_walked(simulation, real):
    """The same repeats walk the same, and their poses are those that are told."""
    again = survival(simulation, simulation.parameters.start, n=5)
    np.testing.assert_array_equal(real.walked, again.walked)
    assert real.to_dict() == again.to_dict()
    names = [name for name, _ in real.entries]
    assert names[-1].startswith("vel") and "knee_angle_r" in names
    # as drawn, but for joints at the end of their range
    inside = np.abs(real.moved - real.draws.pose) < 1e-12
    assert inside.mean() > 0.7 and (np.abs(real.moved) <= np.abs(real.draws.pose) + 1e-12).all()
    still = survival(simulation, simulation.parameters.start, 2, sizes=PerturbationSizes(angle=0.0))
    assert (still.turned == 0.0).all() and (still.quicker != 0.0).all()


def test_figure_of_the_repeats(found):
    time, distance = survival_figure(found).plots
    for plot, values, unit in ((time, LASTED, "s"), (distance, 1.2 * LASTED, "m")):
        bars = {trace["legendgroup"]: trace for trace in plot.data if trace["type"] == "bar"}
        np.testing.assert_allclose(bars["up"]["x"], values[[0, 2]])
        np.testing.assert_allclose(bars["down"]["x"], values[[4, 1, 3]])
        assert f"[{unit}]" in plot.layout["xaxis"]["title"]["text"]
        # the longest first, by the number in the table
        assert plot.layout["yaxis"]["ticktext"] == ["1", "3", "5", "2", "4"]
    # a push that came after the end, or of no force, never happened
    (marks,) = (trace for trace in time.data if trace["type"] == "scatter")
    assert marks["x"] == [2.0, 9.0] and marks["y"] == [0, 1]
    assert time.layout["shapes"][0]["x0"] == 10.0


def test_section_of_the_repeats(found):
    section = survival_section(found)
    assert section.summary.startswith("2 of 5 repeats")
    assert "6.96 m in 5.80 s" in section.summary and "± 50 N" in section.summary
    html = Page("Walk").add(section).html()
    for word in ("keeps walking", "fell", "diverged", "could not start"):
        assert word in html
    (group,) = section.content[1:]
    (table,) = group.content if isinstance(group.content, list | tuple) else (group.content,)
    assert [row[3] for row in table.rows] == [
        "keeps walking", "fell", "keeps walking", "could not start", "diverged",
    ]  # fmt: skip
    assert [row[4] for row in table.rows] == [40.0, None, 10.0, None, None]
    nothing = replace(found, sizes=PerturbationSizes(0.0, 0.0, 0.0, 0.0, 0.0))
    assert "No perturbation" in survival_section(nothing).summary


def test_a_repeat_that_slows_to_half_its_speed_has_not_survived(simulation, monkeypatch):
    """The end of each repeat is compared with the speed of the walk without perturbations."""
    shares = np.array([1.0, 0.55, 0.45, 0.0])

    def walks(X, perturbations=None):
        """Walks of 10 s, of which the repeats have a part of the speed from half of the time."""
        alone = perturbations is None
        records = walk(speed=1.2)
        n = 1 if alone else len(shares)
        frames = np.repeat(records.frames, n, axis=0)
        if not alone:
            time = records.column("time")[0]
            slow = 1.2 * (np.minimum(time, 5.0) + shares[:, None] * np.maximum(time - 5.0, 0.0))
            frames[:, :, FRAME.index("x")] = slow
        return replace(
            records, frames=frames, length=np.repeat(records.length, n), ended=np.zeros(n, int)
        )

    monkeypatch.setattr(simulation, "run", walks)
    found = survival(simulation, simulation.parameters.start, n=4)
    assert found.slowed.tolist() == [False, False, True, True]
    assert found.survived == found.to_dict()["survived"] == 2
    assert found.to_dict()["ended"] == ["keeps walking", "keeps walking", "slowed", "slowed"]
    section = survival_section(found)
    assert "2 of 4 repeats" in section.summary and "2 slowed to less than half" in section.summary
    assert "slowed" in Page("Walk").add(section).html()


def called(capsys, *words):
    code = main([*map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_report_of_a_vector_shows_it(capsys, tmp_path, simulation):
    np.savetxt(tmp_path / "walk.txt", simulation.parameters.start)
    words = ["gait", "evaluate", tmp_path / "walk.txt", "model_file=planar22"]
    words += ["sim_time=0.3", "--perturbations", 4]
    code, alone = called(capsys, *words)
    assert code == 0 and alone["survival"][""]["perturbations"] == 4
    code, answer = called(capsys, *words, "--report", tmp_path / "walk.html")
    assert code == 0 and answer["survival"] == alone["survival"]
    html = (tmp_path / "walk.html").read_text()
    assert "<h2>Under perturbations</h2>" in html and "perturbed repeats that keep walking" in html
    code, answer = called(capsys, *words[:-1], -1)
    assert code == 2 and "must be from 0 to" in answer["message"]


def test_the_report_of_a_robust_run_shows_it(capsys, tmp_path):
    run = tmp_path / "run"
    words = ["gait", "optimize", FIRST_WALK, "--sim-time", 0.2, "--popsize", 4, "--maxiter", 1]
    words += ["perturbed_repeats=2", "--save-path", run, "--quiet", "stairs=-0.1,0.4"]
    code, answer = called(capsys, *words)
    assert code == 0 and answer["survival"][""]["perturbations"] == 20
    html = (run / "report.html").read_text()
    assert "<h2>Under perturbations</h2>" in html
    assert "on stairs, 0.1 m down every 0.4 m" in html and "on level ground" not in html
    assert main(["report", str(run), "--output", str(tmp_path / "again.html")]) == 0
    again = (tmp_path / "again.html").read_text()
    (first, second) = (re.search(r"\d+ of 20 repeats[^<]*", text) for text in (html, again))
    assert first and second and first.group() == second.group()
