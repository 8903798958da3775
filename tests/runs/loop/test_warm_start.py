"""Start values from earlier results: names matched, what is missing said, nothing unpickled."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from toy_study import Evolution, Sphere

from trueup.errors import ParameterError
from trueup.parameters import Parameter, ParameterDict
from trueup.runs import Budget, RunDirectory, run_search, warm_start

_SPACE = ParameterDict(
    {
        "mass": Parameter("mass", 1.0, 0.1, 10.0, scale="log"),
        "friction": Parameter("friction", [0.2, 0.3], 0.0, 1.0),
        "delay": Parameter("delay", 0.01, 0.0, 0.05),
    }
).space()


def test_names_are_matched_and_what_is_not_there_is_said(tmp_path):
    path = tmp_path / "earlier.json"
    path.write_text(
        json.dumps({"delay": 0.09, "mass": 2.0, "inertia": 5, "provenance": {"seed": 1}})
    )
    warm = warm_start(path, _SPACE)
    np.testing.assert_array_equal(warm.x, [2.0, 0.2, 0.3, 0.05])
    assert warm.matched == ("mass", "delay")
    assert warm.missing == ("friction[0]", "friction[1]")
    assert warm.unused == ("inertia",)
    assert warm.clipped == ("delay",)
    said = " ".join(warm.sentences)
    for words in (
        "default: 'friction[0]'",
        "not a parameter here: 'inertia'",
        "so clipped: 'delay'",
    ):
        assert words in said
    np.testing.assert_array_equal(warm.space(_SPACE).start, warm.x)
    np.testing.assert_array_equal(_SPACE.start, [1.0, 0.2, 0.3, 0.01])


def test_a_run_gives_its_best_so_far(tmp_path):
    directory = RunDirectory.create(tmp_path / "run")
    problem = Sphere()
    solution = run_search(
        problem,
        Evolution(problem.space),
        directory,
        budget=Budget(max_generations=20),
        verbose=False,
    )
    warm = warm_start(tmp_path / "run", problem.space)
    assert warm.x.tobytes() == solution.x.tobytes()
    assert not (warm.missing or warm.unused or warm.clipped)


FORMATS = {
    "parameter file": ("a.yaml", None),
    "values by name": ("a.json", {"mass": 3.0, "friction": [0.4, 0.5], "delay": 0.02}),
    "what a run writes": (
        "a.json",
        {"parameters": {"mass": 3.0, "friction[0]": 0.4, "friction[1]": 0.5, "delay": 0.02}},
    ),
    "a solution": (
        "a.json",
        {
            "parameters": [
                {"name": "mass", "value": 3.0, "low": "NaN"},
                {"name": "friction[0]", "value": 0.4},
                {"name": "friction[1]", "value": 0.5},
                {"name": "delay", "value": 0.02},
            ]
        },
    ),
    "a list": ("a.json", [3.0, 0.4, 0.5, 0.02]),
    "numpy": ("a.npy", np.array([[3.0, 0.4, 0.5, 0.02]])),
    "one a line": ("a.txt", "# a comment\n3.0\n4.0e-1\n.5\n2e-2\n"),
    "commas": ("a.csv", "3, 0.4, 0.5, 0.02\n"),
    "names and values": ("a.txt", "mass: 3\nfriction[0] 0.4\nfriction[1],0.5\ndelay 0.02\n"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_formats(tmp_path, name):
    file, content = FORMATS[name]
    path = tmp_path / file
    if content is None:
        ParameterDict(
            {
                "mass": Parameter("mass", 3.0, 0.1, 10.0, frozen=True),
                "friction": Parameter("friction", [0.4, 0.5], 0.0, 1.0),
                "delay": Parameter("delay", 0.02, 0.0, 0.05),
            }
        ).save_to_disk(path)
    elif isinstance(content, np.ndarray):
        np.save(path, content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    np.testing.assert_array_equal(warm_start(path, _SPACE).x, [3.0, 0.4, 0.5, 0.02])
    np.testing.assert_array_equal(warm_start(tmp_path, _SPACE).x, [3.0, 0.4, 0.5, 0.02])


def test_a_shorter_vector_is_named_by_a_layout(tmp_path):
    path = tmp_path / "best.txt"
    np.savetxt(path, [4.0, 0.03])
    with pytest.raises(ParameterError, match="contains 2 numbers without names; expected 4"):
        warm_start(path, _SPACE)
    warm = warm_start(path, _SPACE, layouts=[("mass", "delay")])
    np.testing.assert_array_equal(warm.x, [4.0, 0.2, 0.3, 0.03])
    assert warm.missing == ("friction[0]", "friction[1]")


class Trap:
    """Something that notices when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("it was unpickled",)


@pytest.mark.parametrize(
    "name", ["state.pkl", "state.npy", "state.json", "state.txt", "state.yaml"]
)
def test_nothing_is_ever_unpickled(tmp_path, name):
    path = tmp_path / name
    if name.endswith(".npy"):
        np.save(path, np.array([Trap()], object), allow_pickle=True)
    else:
        path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ParameterError) as refused:
        warm_start(path, _SPACE)
    if name.endswith(".pkl"):
        assert "can run arbitrary code" in str(refused.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"weight": 1}', "no name in .* matches: it contains 'weight', expected 'mass'"),
        ('{"mass": "NaN"}', "not finite: 'mass'"),
        ('{"parameters": 3}', "must contain values by name"),
        ('{"mass": ', "not a JSON file"),
        ("3", "contains no parameters"),
        ("[1, [2, 3]]", "cannot be read"),
        ("[null, 1, 2, 3]", "cannot be read"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_reason(tmp_path, content, said):
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(ParameterError, match=said):
        warm_start(path, _SPACE)


def test_folders_and_missing_files(tmp_path):
    with pytest.raises(ParameterError, match="; give a parameter file"):
        warm_start(tmp_path / "none", _SPACE)
    with pytest.raises(ParameterError, match="is not a run of trueup and contains none"):
        warm_start(tmp_path, _SPACE)
    for name in ("Best.txt", "BestLast.txt"):
        (tmp_path / name).write_text("1 2 3 4")
    with pytest.raises(ParameterError, match=r"contains 'Best.txt', 'BestLast.txt': give the"):
        warm_start(tmp_path, _SPACE)
    RunDirectory.create(tmp_path / "run")
    with pytest.raises(ParameterError, match="no parameters yet"):
        warm_start(tmp_path / "run", _SPACE)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@example(content=b"PK\x05\x06", suffix="npy")
@given(content=st.binary(max_size=200), suffix=st.sampled_from(["json", "yaml", "npy", "txt"]))
def test_any_bytes_give_a_start_or_one_error(tmp_path, content, suffix):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(content)
    try:
        warm = warm_start(path, _SPACE)
    except ParameterError:
        return
    assert (warm.x >= _SPACE.lower).all()
    assert (warm.x <= _SPACE.upper).all()
