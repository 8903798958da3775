"""Settings of commands: an option, a key and a setting of the library are the same."""

import re

import pytest

from trueup.cli import main
from trueup.cli.command_settings import made_of, settings_in
from trueup.cli.network.commands import SynthesizeRecordings
from trueup.cli.network.motion import TrainMotion
from trueup.cli.robot.design_commands import Design
from trueup.cli.robot.export_commands import ExportDr
from trueup.cli.settings import settings_of
from trueup.cli.study.commands import StudyResume, StudyRun
from trueup.cli.study.options import execution_of
from trueup.design.bench.choices import BenchChoices
from trueup.design.bench.limits import BenchLimits
from trueup.design.search_settings import DesignSearchSettings
from trueup.networks import MotionSettings, SyntheticSettings
from trueup.randomise.settings import DrawSettings
from trueup.runs import Budget, StudySettings

WORDS = {
    "study run": (StudyRun, ["study", "run", "sphere"]),
    "study resume": (StudyResume, ["study", "resume", "runs/sphere"]),
    "network synthesize": (SynthesizeRecordings, ["network", "synthesize", "data"]),
    "network train-motion": (TrainMotion, ["network", "train-motion", "logs", "-o", "run"]),
    "design": (Design, ["design", "arm.yaml"]),
    "export dr": (ExportDr, ["export", "dr", "runs/arm"]),
}
"""Class and words of each command whose settings are made of the library's."""

VALUES = {"method": "sobol", "device": "cpu"}
"""Values of settings that are not numbers."""


@pytest.fixture
def parsed(monkeypatch):
    """A function that parses words and returns the command, which does not run."""

    def parse(name, *words):
        kind, command = WORDS[name]
        found = []
        monkeypatch.setattr(kind, "run", lambda self, output: found.append(self) or 0)
        assert main([*command, *words]) == 0
        return found[0]

    return parse


def marked():
    """Command and name of each setting that is an option."""
    return [
        (name, setting.name)
        for name, (kind, _) in WORDS.items()
        for setting in settings_of(kind.KEYS).values()
        if setting.option is not None and setting.name in kind.__dataclass_fields__
    ]


@pytest.mark.parametrize(("name", "setting"), marked(), ids=" ".join)
def test_an_option_and_a_key_give_the_same_setting(name, setting, parsed):
    found = settings_of(WORDS[name][0].KEYS)[setting]
    option = f"--{(found.option.name or setting).replace('_', '-')}"
    value = VALUES.get(setting, 7)
    by_option = settings_in(parsed(name, option, str(value)))
    by_key = settings_in(parsed(name, f"{setting}={value}"))
    assert by_option == by_key == {setting: value}


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        (
            "study run",
            ("restarts=none", "cma_options=tolfun:1e-9,maxiter:5", "sigma=5e-2", "polish=1"),
            StudySettings(
                restarts="none", cma_options="tolfun:1e-9,maxiter:5", sigma=0.05, polish=True
            ),
        ),
        ("study run", ("population=1e2", "--seed", "3"), StudySettings(population=100, seed=3)),
        (
            "study run",
            ("target_cost=1e-3", "--generations", "4"),
            Budget(max_generations=4, target_cost=1e-3),
        ),
        ("study resume", ("max_seconds=2", "target_cost=-1"), Budget(None, None, 2.0, -1.0)),
        (
            "network synthesize",
            ("inertias=0.05,0.1", "signals=steps", "no_load_speed=12", "kd=0"),
            SyntheticSettings((0.05, 0.1), ("steps",), no_load_speed=12.0, kd=0.0),
        ),
        ("network synthesize", ("inertias=[0.05, 1e-1]",), SyntheticSettings((0.05, 0.1))),
        (
            "network train-motion",
            ("learn_base=0", "horizons=0.05", "max_steps=2", "inputs=kp,load", "--seconds", "90"),
            MotionSettings(
                learn_base=False, horizons=(0.05,), max_steps=2, inputs=("kp", "load"), seconds=90.0
            ),
        ),
        ("design", ("masses=0.2,0.5", "logs=4"), BenchChoices(logs=4, masses=(0.2, 0.5))),
        ("design", ("speed=10", "margin=0.2"), BenchLimits(speed=10.0, margin=0.2)),
        (
            "design",
            ("library=20", "--evaluations", "60"),
            DesignSearchSettings(max_evaluations=60, library=20),
        ),
        ("export dr", ("draws=4096", "joints=12", "--seed", "1"), DrawSettings(4096, 1, 12)),
    ],
)
def test_words_give_settings_of_the_library(name, words, expected, parsed):
    assert made_of(type(expected), settings_in(parsed(name, *words))) == expected


def test_names_that_look_like_numbers_stay_names(parsed):
    values = settings_in(parsed("network train-motion", "test=400,2024-01-01", "test_kp=400"))
    assert values == {"test": ("400", "2024-01-01"), "test_kp": (400.0,)}


def test_trackers_are_switches_and_keys(parsed):
    command = parsed("study resume", "--tensorboard", "workers=2", "scheduler=local")
    execution = execution_of(command, settings_in(command))
    assert (execution.workers, execution.scheduler) == (2, "local")
    assert execution.trackers == ("tensorboard",)
    command = parsed("study run", "--wandb", "trackers=tensorboard,wandb")
    assert set(execution_of(command, settings_in(command)).trackers) == {"wandb", "tensorboard"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["study", "run", "sphere", "sigmaa=1"], r"unknown key 'sigmaa'.* Did you mean 'sigma'\?"),
        (["study", "run", "sphere", "seed=1", "--seed", "2"], "seed is given twice; give it once"),
        (["study", "run", "sphere", "sigma=1", "sigma=2"], "sigma is given twice; give it once"),
        (["study", "run", "sphere", "sigma="], "sigma requires a value; give one or remove it"),
        (["study", "run", "sphere", "sigma=wide"], "sigma=wide: input should be a valid number"),
        (["study", "run", "sphere", "restarts=thrice"], "'none', 'ipop' or 'bipop'"),
        (["study", "run", "sphere", "population=1.5"], "population=1.5: input should be a valid"),
        (
            ["study", "run", "sphere", "trackers=diary"],
            "unknown tracker 'diary'; available: 'wandb'",
        ),
        (["study", "run", "sphere", "--max-evaluations", "9"], "no option .*; it is --evaluations"),
        (["study", "run", "sphere", "--max-seconds=9"], "no option .*; it is --seconds"),
        (["study", "run", "sphere", "--sigma", "0.1"], "give it as sigma=VALUE"),
        (["study", "run", "sphere", "--target-cost", "1"], "give it as target_cost=VALUE"),
        (["study", "resume", "x", "--max-generations", "9"], "it is --generations"),
        (["study", "resume", "x", "--workers", "2"], "give it as workers=VALUE"),
        (["gait", "optimize", "walk", "--max-seconds", "9"], "Did you mean '--seconds'"),
        (["network", "synthesize", "d", "--inertias", "1"], "give it as inertias=VALUE"),
        (["network", "synthesize", "d", "signals=sines"], "signals=sines: input should be 'sine'"),
        (["network", "synthesize", "d", "inertias=0"], "inertia is 0.0; it must be positive"),
        (["network", "train-motion", "l", "--steps", "9"], "Did you mean 'max_steps'"),
        (["network", "train-motion", "l", "--no-learn-base"], "Did you mean 'learn_base'"),
        (["network", "train-motion", "l", "--test-kp", "9"], "give it as test_kp=VALUE"),
        (["network", "export", "n", "--format", "onnx"], "Did you mean '--form'"),
        (["design", "arm.yaml", "--masses", "1"], "give it as masses=VALUE"),
        (["design", "arm.yaml", "target_interval=half"], "no .*arm.yaml|does not exist"),
        (["design", "arm.yaml", "rate=100"], "rate is not supported by this command; remove it"),
        (["export", "dr", "runs/arm", "--draws", "64"], "give it as draws=VALUE"),
        (["export", "dr", "draws=64"], "the run directory is missing"),
    ],
    ids=" ".join,
)
def test_a_wrong_word_is_refused_in_a_sentence(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert re.search(message, " ".join(capsys.readouterr().err.split()))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", WORDS)
def test_every_key_of_a_command_is_described(name, capsys):
    kind, command = WORDS[name]
    assert (
        main([*command[:2], "--help-keys"] if name != "design" else ["design", "--help-keys"]) == 0
    )
    out = capsys.readouterr().out
    for setting in settings_of(kind.KEYS).values():
        others = (*getattr(kind, "WITHOUT", ()), *kind.__dataclass_fields__)
        if setting.name not in others:
            assert f"\n{setting.key}: " in out and setting.text
