"""What designs are of: written, read back, moved, and compared with a call that resumes."""

import pytest
import yaml

import servo_arm
from trueup.design import BenchChoices, BenchLimits
from trueup.design.bench.spec import BenchDesignSpec
from trueup.design.spec import DesignSpec
from trueup.errors import ExperimentError, FitError, RunDirectoryError, TrueupError
from trueup.runs import Budget
from trueup.sysid.experiment.settings import Experiment

SEARCH = {"anyway": True, "library": 7, "polish": 8, "turns": 9, "seed": 5}
CHOICES = BenchChoices(2, 9.0, (0.2, 0.4), (0.1,), (100.0, 300.0), 250.0)
LIMITS = BenchLimits(1.5, 8.0, 0.2, 0.4, 0.2)


def experiment(**changes):
    return Experiment.model_validate({**servo_arm.experiment(), **changes})


@pytest.fixture
def place(tmp_path):
    """Folder of an experiment with a run, a design and a servo fit in it."""
    folder = tmp_path / "arm"
    for name in ("runs/last", "runs/before", "fits/m1.run"):
        (folder / name).mkdir(parents=True)
    return folder


@pytest.fixture(params=["robot", "bench"])
def spec(request, place):
    """A spec with every field different from its default."""
    limits = Budget(max_seconds=3.0, max_evaluations=40)
    common = {**SEARCH, "predicted": place / "runs" / "before", "limits": limits}
    if request.param == "robot":
        made = DesignSpec.of(experiment(), place, place / "runs" / "last", **common)
    else:
        run = place / "fits" / "m1.run"
        made = BenchDesignSpec.of(run, CHOICES, LIMITS, target=0.05, **common)
    return made.model_copy(update={"notes": ("as it was prepared",)})


def written(spec, directory):
    """Content of the file as it is read again."""
    return yaml.safe_load(yaml.safe_dump(spec.to_dict(directory)))


def test_a_spec_is_read_as_it_was_written(spec, place):
    directory = place / "runs" / "next"
    content = written(spec, directory)
    assert not any(str(place) in str(value) for value in content.values())
    again = type(spec).from_dict(content, directory, None)
    assert again == spec
    fields = type(spec).model_fields.items()
    same = [name for name, field in fields if getattr(spec, name) == field.get_default()]
    assert same == ["lacking"]


def test_run_and_inputs_move_together(spec, place, tmp_path):
    content = written(spec, place / "runs" / "next")
    moved = tmp_path / "elsewhere"
    place.rename(moved)
    again = type(spec).from_dict(content, moved / "runs" / "next", None)
    assert again.predicted == moved / "runs" / "before"
    assert again.after.is_dir() and moved in again.after.parents


def test_inputs_that_moved_alone_are_found_in_a_folder(spec, place, tmp_path):
    directory = tmp_path / "next"
    content = written(spec, directory)
    moved = tmp_path / "elsewhere"
    place.rename(moved)
    with pytest.raises(
        RunDirectoryError,
        match=r"which is missing: give the folder of (last|m1\.run) with --folder",
    ):
        type(spec).from_dict(content, directory, None)
    for name in ("runs/last", "runs/before", "fits/m1.run"):
        (moved / name).rename(moved / name.partition("/")[2])
    again = type(spec).from_dict(content, directory, moved)
    assert again.predicted == moved / "before"
    assert again.after.parent == moved
    if isinstance(spec, DesignSpec):
        # also where a folder of the same name is within
        (moved / moved.name).mkdir()
        assert type(spec).from_dict(content, directory, moved).folder == moved


@pytest.mark.parametrize(
    ("key", "value", "kind", "message"),
    [
        ("turns", None, RunDirectoryError, "damaged: missing 'turns'"),
        ("turns", "often", RunDirectoryError, "turns: Input should be a valid integer"),
        ("library", 0, TrueupError, "the library of pieces must be between 1 and 1000000, found 0"),
    ],
)
def test_a_wrong_value_is_one_sentence(spec, place, key, value, kind, message):
    directory = place / "runs" / "next"
    content = {**written(spec, directory), key: value}
    if value is None:
        del content[key]
    with pytest.raises(kind, match=message):
        type(spec).from_dict(content, directory, None)


def test_another_experiment_or_seed_is_another_design(place):
    spec = DesignSpec.of(experiment(), place, **SEARCH)
    part = {**servo_arm.experiment()["design"], "duration": 9.0}
    others = {
        "design": DesignSpec.of(experiment(design=part), place, **SEARCH),
        "seed": DesignSpec.of(experiment(), place, **{**SEARCH, "seed": 6}),
    }
    for key, other in others.items():
        assert differing(spec, other) == [key]
    free = {"library": 9, "polish": 1, "turns": 2, "anyway": False}
    assert differing(spec, DesignSpec.of(experiment(), place, **{**SEARCH, **free})) == []


def test_another_fit_or_bench_is_another_design(place, monkeypatch):
    run = place / "fits" / "m1.run"
    spec = BenchDesignSpec.of(run, CHOICES, LIMITS, **SEARCH)
    (place / "fits" / "m2.run").mkdir()
    others = {
        ("after",): BenchDesignSpec.of(run.with_name("m2.run"), CHOICES, LIMITS, **SEARCH),
        ("masses",): BenchDesignSpec.of(
            run, BenchChoices(2, 9.0, (0.3,), (0.1,), (100.0, 300.0), 250.0), LIMITS, **SEARCH
        ),
        ("heat",): BenchDesignSpec.of(run, CHOICES, BenchLimits(1.5, 8.0, 0.2, 0.3, 0.2), **SEARCH),
        ("target",): BenchDesignSpec.of(run, CHOICES, LIMITS, target=0.1, **SEARCH),
    }
    for keys, other in others.items():
        assert differing(spec, other) == list(keys)
    # however the fit is named
    monkeypatch.chdir(place)
    assert (
        differing(spec, BenchDesignSpec.of("runs/../fits/m1.run", CHOICES, LIMITS, **SEARCH)) == []
    )


def differing(one, other):
    """Names of the values that a resumed run may not change, and that differ."""
    first, second = one.identity(), other.identity()
    return [key for key in first if first[key] != second[key]]


def test_what_resumes_may_change_is_taken_from_the_call(spec, place):
    former = type(spec).from_dict(written(spec, place / "run"), place / "run", None)
    call = spec.model_copy(
        update={
            "anyway": False,
            "predicted": None,
            "library": 100,
            "turns": 1,
            "limits": Budget(max_evaluations=80),
        }
    )
    resumed = former.resumed_by(call)
    assert (resumed.anyway, resumed.predicted) == (False, None)
    assert (resumed.library, resumed.turns, resumed.notes) == (7, 9, spec.notes)
    assert resumed.limits == Budget(max_seconds=3.0, max_evaluations=80)
    with pytest.raises(RunDirectoryError, match="does not support --generations"):
        former.with_limits(Budget(max_generations=3))


def test_a_folder_that_is_read_is_not_written_over(spec, place):
    named = spec.paths()
    assert spec.predicted not in named  # it is compared before anything is written
    assert spec.after in named
    if isinstance(spec, DesignSpec):
        assert place / "arm.xml" in named


def test_wrong_numbers_are_refused_as_a_spec_is_made(place):
    with pytest.raises(
        ExperimentError, match="the library of pieces must be between 1 and 1000000, found 0"
    ):
        DesignSpec.of(experiment(), place, library=0)
    with pytest.raises(
        ExperimentError, match="--seed must be between 0 and 9223372036854775807, found -1"
    ):
        BenchDesignSpec.of(place / "fits" / "m1.run", seed=-1)
    with pytest.raises(FitError, match="max_seconds must be positive, found -1"):
        DesignSpec.of(experiment(), place, limits=Budget(max_seconds=-1))
