"""Every situation of the bank of verdicts can be made, and its grading is right."""

import sys
from importlib import import_module
from pathlib import Path

import mujoco
import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def bank():
    """Modules of the bank by name."""
    before = set(sys.modules)
    sys.path.insert(0, str(BENCHMARKS))
    yield lambda name: import_module(f"bank.{name}")
    sys.path.remove(str(BENCHMARKS))
    for name in set(sys.modules) - before:
        if name.split(".")[0] == "bank" or name in ("servo_truths", "servo_choice_truths"):
            del sys.modules[name]


@pytest.fixture
def known(bank, monkeypatch):
    monkeypatch.setattr(bank("recorder"), "SETTLE", 0.2)
    published = bank("published").LEAST
    found = bank("registry").all_situations()
    return [s for s in found if not set(getattr(s, "machines", ())) & set(published)]


def test_there_are_enough_situations_of_each_sort(bank):
    found = bank("registry").all_situations()
    assert len({(s.capability, s.name) for s in found}) == len(found)
    assert {s.capability for s in found} == set(bank("situation").CAPABILITIES)
    sorts = [s.sort for s in found]
    assert sorts.count("right") >= 24
    assert sorts.count("wrong") >= 36
    published = [s for s in found if getattr(s, "machines", ("",))[0] in bank("published").LEAST]
    assert len(published) >= 8
    assert all(s.causes for s in found if s.sort == "wrong")


def test_each_situation_of_an_identification_can_be_recorded(bank, known, tmp_path):
    identification = bank("identification")
    for situation in known:
        if not isinstance(situation, identification.Identification):
            continue
        for size in situation.sizes:
            setup, rng = situation.make(size, seed=1)
            setup.motion.seconds = 0.4
            identification.write_log(setup, rng, tmp_path / "log.csv")
            rows = np.loadtxt(tmp_path / "log.csv", delimiter=",", skiprows=1)
            columns = 2 + setup.machine.kind.velocities  # position and control of each joint
            assert rows.shape[1] == 1 + columns * len(setup.machine.joints)
            assert np.isfinite(rows).all(), situation.name


@pytest.mark.parametrize("drive", ["servo", "torque"])
def test_the_truth_is_near_and_a_fault_is_far(bank, drive, tmp_path, monkeypatch):
    monkeypatch.setattr(bank("grading"), "FRESH", 2.0)
    machines, recorder, grading = bank("machines"), bank("recorder"), bank("grading")
    rng = np.random.default_rng(0)
    machine = machines.make_machine("arm2", drive, rng)
    motion = recorder.Motion.draw(machine, rng, seconds=1.0)
    spec = machine.real.copy()
    (tmp_path / "truth.xml").write_text(spec.to_xml())
    spec.body("lower").mass *= 1.3
    (tmp_path / "heavy.xml").write_text(spec.to_xml())

    def away(name, wiring=None):
        wiring = wiring or recorder.Wiring()
        return grading.distance(machine, wiring, motion, tmp_path / name, rng, noise=1.0)

    assert away("truth.xml") < 0.01
    assert away("heavy.xml") > grading.MATTERS
    # what is wrong in the log alone does not move the machine
    assert away("truth.xml", recorder.Wiring(torque_scale=0.5, stale=0.5)) < 0.01
    if drive == "servo":
        assert away("truth.xml", recorder.Wiring(gain=0.5)) > grading.MATTERS


def test_a_fault_behind_the_motor_keeps_the_order_of_the_joints(bank):
    faults, wrong = bank("faults"), bank("wrong_models")
    (situation,) = [s for s in wrong.wrong() if s.name == "backlash" and s.drive == "servo"]
    setup, _ = situation.make(1, seed=2)
    model = setup.machine.real.compile()
    assert model.nq == model.nu + 1
    names = [model.joint(j).name for j in range(model.njnt)]
    assert names[: model.nu] == setup.machine.joints
    assert model.jnt_range[-1] == pytest.approx([-0.06, 0.06])
    assert faults.backlash is situation.plant


def test_what_a_good_answer_is(bank):
    Answered, Row = bank("answers").Answered, bank("results").Row
    by_sort = {s.sort: s for s in bank("wrong_models").situations()}
    right = bank("right_models").by_simulation()[0]

    def good(situation, **about):
        return Row(situation, 0, 0, 0.0, Answered(**about)).good

    assert good(right, grade="use")
    assert not good(right, grade="look")
    # one interval of six misses by chance, three do not
    missed = dict.fromkeys("abc", (0.0, 1.0, 2.0))
    held = dict.fromkeys("def", (0.0, 1.0, 0.5))
    assert good(right, grade="use", intervals={**held, "a": missed["a"], "g": held["d"]})
    assert not good(right, grade="use", intervals={**held, **missed})
    wrong = by_sort["wrong"]
    assert good(wrong, grade="look", distance=9.0)
    assert not good(wrong, grade="use", distance=9.0)
    # absorbed: named, or with intervals that hold
    assert good(wrong, grade="use", distance=0.5, intervals=held)
    assert not good(wrong, grade="use", distance=0.5, intervals=missed)
    text = f"The {wrong.causes[0]} cannot be distinguished."
    assert good(wrong, grade="use", distance=0.5, intervals=missed, causes=[text])
    assert good(by_sort["little"], grade="look", distance=50.0)
    assert not good(by_sort["little"], grade="use", distance=50.0)
    assert good(by_sort["refused"], code=2)
    assert not good(by_sort["refused"], code=0, grade="look")
    assert not good(wrong, code=1)  # an exception is no answer


def test_sentences_of_one_kind_are_counted_as_one(bank):
    kind_of = bank("results").kind_of
    first = kind_of("The residual is not white (log elbow torque): 3.2 times", ["log", "elbow"])
    second = kind_of("The residual is not white (run knee torque, run hip torque): 1.1 times",
                     ["run", "knee", "hip"])  # fmt: skip
    assert first == second


def test_page_and_table_are_made_of_results(bank, tmp_path, capsys):
    results, Answered = bank("results"), bank("answers").Answered
    known = bank("registry").all_situations()
    file = tmp_path / "results.jsonl"
    for situation in known:
        for size in situation.sizes:
            answered = Answered(grade="use", distance=9.0, reasons=["Joint a is late by 3 ms"])
            results.append(file, results.Row(situation, size, 4, 1.0, answered))
    rows = results.read([file], known)
    assert [(r.situation, r.size) for r in rows] == [(s, z) for s in known for z in s.sizes]
    bank("tables").show(rows)
    assert "warnings on pages of right models" in capsys.readouterr().out
    bank("page").write_page(rows, known, tmp_path / "trust.md")
    text = (tmp_path / "trust.md").read_text()
    assert "| identification by torques |" in text
    assert "encoder zero | wrong | 2 of 2" in text
    assert "Not played yet" not in text
    assert max(map(len, text.splitlines())) < 900


def test_models_of_the_bank_compile_as_the_user_has_them(bank, known):
    for situation in known:
        if hasattr(situation, "make"):
            model = situation.make(0, seed=0)[0].machine.model
            mujoco.MjModel.from_xml_string(model)
