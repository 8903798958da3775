"""Experiment files: every mistake named with its line and what is allowed."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.errors import ExperimentError
from trueup.sysid.experiment.file import (
    dump_experiment,
    load_experiment,
    parse_experiment,
)

GOOD = """\
name: arm
model:
  file: arm.xml
  timestep: 0.001
recordings:
  - file: run.csv
    signals:
      angle: {column: q, unit: deg}
      speed: dq
    controls: {motor: u}
parameters:
  armature: {target: joint/elbow/armature, bounds: [0.001, 1], scale: log}
  delay: {bounds: [0, 0.02]}
measurement:
  delays: {angle: delay}
  signals: {angle: {noise: 0.01}}
search: {loss: huber, starts: 4}
"""


def test_a_file_is_read_and_written_out_completely(tmp_path):
    path = tmp_path / "experiment.yaml"
    path.write_text(GOOD)
    experiment = load_experiment(path)
    assert experiment.model.timestep == 0.001
    assert experiment.parameters["armature"].scale == "log"
    assert experiment.control == "zoh"
    text = yaml.safe_dump(experiment.model_dump(mode="json"))
    assert parse_experiment(text) == experiment
    assert "window: 0.0" in text  # every setting stands there


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("name: arm", "nam: arm", 1, ["unknown key 'nam'", "Did you mean 'name'"]),
        ("  timestep: 0.001", "  time_step: 0.001", 4, ["model", "Did you mean 'timestep'"]),
        ("  timestep: 0.001", "  timestep: -1", 4, ["model.timestep", "greater than 0", "-1"]),
        ("  timestep: 0.001", "  timestep: fast", 4, ["model.timestep", "'fast'"]),
        ("    controls: {motor", "    control: {motor", 10, ["Did you mean 'controls'"]),
        ("{column: q, unit: deg}", "{colum: q}", 8,
         ["recordings.0.signals.angle: unknown key 'colum'", "Did you mean 'column'"]),
        ("speed: dq", "speed: [[dq]]", 9, ["speed"]),
        ("controls: {motor: u}", "controls: {motor: [u, v]}", 10, ["motor has the columns"]),
        ("bounds: [0.001, 1], scale: log", "bound: [0, 1]", 12, ["Did you mean 'bounds'"]),
        ("bounds: [0.001, 1], scale: log", "scale: log", 12, ["bounds are missing"]),
        ("bounds: [0.001, 1]", "bounds: [0.001]", 12, ["bounds"]),
        ("scale: log", "scale: cubic", 12, ["'linear', 'log' or 'logit'", "'cubic'"]),
        ("{target: joint/elbow/armature, b", "{target: a, inertia: b, b", 12, ["not both"]),
        ("{target: joint/elbow/armature, bounds: [0.001, 1], scale: log}",
         "{inertia: link, bounds: [0, 1]}", 12, ["bounds cannot be given with inertia"]),
        ("bounds: [0.001, 1], scale: log", "bounds: [0, 1], prior: {sd: 1}", 12,
         ["prior.mean is missing"]),
        ("noise: 0.01", "noise: -1", 16, ["noise", "greater than 0"]),
        ("loss: huber", "loss: hubert", 17, ["search.loss", "'huber'", "'hubert'"]),
        ("starts: 4", "starts: 0", 17, ["search.starts"]),
        ("name: arm", "name: a/b", 1, ["name"]),
        ("controls: {motor: u}", "controls: {motor: u}\n    rate: 1e300", 11,
         ["recordings.0.rate", "less than or equal to 1000000000", "1e300"]),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_line(old, new, line, words):
    assert GOOD.count(old) == 1
    with pytest.raises(ExperimentError) as info:
        parse_experiment(GOOD.replace(old, new), "e.yaml")
    message = str(info.value)
    assert f"e.yaml line {line}:" in message
    for word in words:
        assert word in message
    assert "str" not in message.split("line")[1].split(":")[1]  # no path of pydantic's unions


def test_all_mistakes_are_listed_at_once():
    text = GOOD.replace("name: arm", "nam: arm").replace("starts: 4", "starts: 0")
    with pytest.raises(ExperimentError) as info:
        parse_experiment(text)
    assert "line 1:" in str(info.value) and "line 17:" in str(info.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "found nothing"),
        ("- a\n- b", "found list"),
        ("model: {file: a", "not valid YAML"),
        ("a: 1\nmodel: {}\na: 2", "line 3: duplicate key 'a'"),
        ("model: {file: a, file: b}", "line 1: duplicate key 'file'"),
        ("model: {file: a.xml}", "'recordings' is missing"),
        ("a: 2020-99-99", "not valid YAML"),
        ("a: !!python/object:os.system x", "not valid YAML"),
        ("a: &x {b: *x}", "alias contains itself"),
        ("{" * 3000, "nested too deeply"),
        ("a\x00b", "not valid YAML"),
    ],
)
def test_text_that_is_no_experiment(text, words):
    with pytest.raises(ExperimentError) as info:
        parse_experiment(text)
    assert words in str(info.value)


_KEYS = st.sampled_from(
    ["model", "file", "recordings", "signals", "parameters", "bounds", "target", "x", "1", "null"]
)
_TREES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=4)),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(tree=_TREES)
def test_any_tree_is_read_or_refused_clearly(tree):
    import yaml

    _read(yaml.safe_dump(tree))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(GOOD)), st.integers(0, 12), st.text(max_size=6))
def test_any_damage_is_read_or_refused_clearly(place, length, new):
    _read(GOOD[:place] + new + GOOD[place + length :])


def _read(text):
    try:
        parse_experiment(text, "e.yaml")
    except ExperimentError as error:
        assert "e.yaml" in str(error)


def test_missing_files_folders_and_binary_files(tmp_path):
    with pytest.raises(ExperimentError, match="trueup import"):
        load_experiment(tmp_path / "none.yaml")
    with pytest.raises(ExperimentError, match="folder"):
        load_experiment(tmp_path)
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(ExperimentError, match="not a text file"):
        load_experiment(tmp_path / "b.yaml")


def test_an_experiment_as_it_was_resolved_is_read_again():
    text = """
name: arm
model: {file: arm.xml}
recordings: [{file: a.csv, signals: {q: q}}]
parameters:
  link: {inertia: link, inertia_type: pseudo, prior: {sd: 0.1}}
  load: {inertia: load, inertia_type: mass, prior: {mean: 2.0, sd: 0.1}}
  hand: {inertia: hand, frozen: true}
  armature: {target: joint/elbow/armature, bounds: auto}
"""
    experiment = parse_experiment(text)
    assert parse_experiment(dump_experiment(experiment)) == experiment
