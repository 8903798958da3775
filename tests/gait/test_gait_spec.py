"""What a gait optimisation is of: written, read back, moved, and what a resume may change."""

import json

import pytest
import yaml

from trueup.errors import GaitError, RunDirectoryError
from trueup.gait import GaitConfiguration
from trueup.gait.spec import GaitSpec, fingerprint
from trueup.runs import Budget

LOADED = GaitConfiguration(cost="eff", sim_time=0.5, seed=3)
CHANGES = {"popsize": 6, "maxiter": 9}


@pytest.fixture
def spec():
    """A spec with every field that the file holds different from its default."""
    return GaitSpec(
        name="walk",
        seed=3,
        limits=Budget(max_evaluations=50, max_generations=7, max_seconds=9.0, target_cost=0.5),
        notes=("as it began",),
        configuration=LOADED.with_changes(CHANGES),
        begun_with=fingerprint(LOADED),
        start={"gain": 1.5},
        loaded=LOADED,
        changes=CHANGES,
        source="walk",
        threads=2,
        anyway=True,
    )


def written(spec, directory):
    """Content of the file as it is read again."""
    return yaml.safe_load(yaml.safe_dump(spec.to_dict(directory)))


def read(spec, directory, folder=None, **changes):
    return GaitSpec.from_dict({**written(spec, directory), **changes}, directory, folder)


def called(changes=None, limits=None, loaded=LOADED, **more):
    """The spec of a call that resumes."""
    changes = CHANGES if changes is None else changes
    return GaitSpec(
        name="other",
        limits=limits or Budget(),
        configuration=loaded.with_changes(changes),
        loaded=loaded,
        changes=changes,
        source="mine.yaml",
        **more,
    )


def test_a_spec_is_read_as_it_was_written(spec, tmp_path):
    again = read(spec, tmp_path)
    fields = GaitSpec.model_fields.items()
    kept = [name for name, field in fields if not field.exclude]
    for name in kept:
        assert getattr(again, name) == getattr(spec, name)
    assert [n for n in kept if getattr(spec, n) == GaitSpec.model_fields[n].default] == ["lacking"]
    # what a call has at hand is not written
    assert set(written(spec, tmp_path)) == set(kept)
    assert (again.loaded, again.changes, again.threads, again.anyway) == (None, {}, 0, False)
    # the configuration is one that another search can take
    made = GaitConfiguration.from_dict(written(spec, tmp_path)["configuration"])
    assert made == spec.configuration
    json.dumps(spec.to_dict(tmp_path))


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"start": None}, RunDirectoryError, "the block 'start' is empty"),
        ({"start": {"gain": "much"}}, RunDirectoryError, r"start\.gain"),
        ({"configuration": None}, GaitError, r"experiment\.yaml is not a mapping"),
        ({"configuration": {"sim_tim": 1}}, GaitError, "unknown keys 'sim_tim'"),
        ({"notes": 3}, RunDirectoryError, "notes: "),
    ],
)
def test_a_damaged_file_is_one_sentence(spec, tmp_path, change, kind, message):
    with pytest.raises(kind, match=message) as caught:
        read(spec, tmp_path, **change)
    assert "experiment.yaml" in str(caught.value)


def test_inputs_that_moved_are_found_and_the_configuration_stays(spec, tmp_path):
    model, gait = tmp_path / "walker.xml", tmp_path / "gait.csv"
    changes = {**CHANGES, "model_file": str(model), "reference": (str(gait),)}
    spec = spec.model_copy(update={"configuration": LOADED.with_changes(changes)})
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / "walker.xml").write_text("<mujoco/>")
    gait.write_text("t")  # not moved
    with pytest.raises(RunDirectoryError, match=r"walker\.xml of the run is missing, also in"):
        _ = read(spec, tmp_path, tmp_path / "nowhere").local
    again = read(spec, tmp_path, moved)
    assert again.local.model_file == str(moved / "walker.xml")
    assert again.local.reference == (str(gait),)
    assert again.configuration == spec.configuration  # the history depends on it
    assert again.paths() == [moved / "walker.xml", gait]


def test_a_run_goes_on_with_more_generations(spec, tmp_path):
    former = read(spec, tmp_path)
    more = former.resumed_by(called({**CHANGES, "maxiter": 20}, threads=1))
    assert more.configuration == former.configuration.model_copy(update={"maxiter": 20})
    assert (more.start, more.notes, more.name, more.threads) == (
        {"gain": 1.5},
        ("as it began",),
        "walk",
        1,
    )
    # maxiter counts then, unless the call limits the generations
    assert more.limits.max_generations is None
    assert more.limits.max_evaluations == 50
    few = former.resumed_by(called(limits=Budget(max_generations=3, max_evaluations=60)))
    assert (few.limits.max_generations, few.limits.max_evaluations) == (3, 60)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (called({**CHANGES, "sigma_gain": 2.0}), "resume it without options"),
        (called(loaded=LOADED.model_copy(update={"cost": "vel"})), "configuration than mine.yaml"),
    ],
)
def test_another_configuration_is_refused(spec, tmp_path, call, message):
    with pytest.raises(RunDirectoryError, match=message) as caught:
        read(spec, tmp_path).resumed_by(call)
    assert str(tmp_path) in str(caught.value)


def test_the_file_of_the_run_is_no_other_configuration(spec, tmp_path):
    former = read(spec, tmp_path)
    again = former.resumed_by(called({"maxiter": 30}, loaded=former.configuration))
    assert again.configuration.maxiter == 30
