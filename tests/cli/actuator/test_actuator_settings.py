"""Settings of ``trueup actuator``: the same as options, as keys and in the library."""

import re
from pathlib import Path

import pytest

from trueup.actuators import ServoModel, save_model
from trueup.actuators.search.fit_settings import FitSettings
from trueup.cli import main
from trueup.cli.actuator.commands import Actuator
from trueup.cli.settings import keys_of, settings_of
from trueup.deploy import ServoExport

BENCH = {"port": "simulated", "motor": "xl330", "mass": "0.5", "length": "0.1"}
BASES = {
    "fit": (("--actuator", "xl330", "--logdir", "logs"), {}, "fit.run_fit"),
    "evaluate": (("--logdir", "logs", "--params", "m1.json"), {}, "evaluate.show_evaluation"),
    "compare": (("--logdir", "logs"), {}, "compare.run_compare"),
    "plot": (("--logdir", "logs"), {}, "show.run_plot"),
    "drive-backdrive": (("--params", "m1.json"), {}, "show.run_drive_backdrive"),
    "process": (("--raw", "raw", "--logdir", "logs"), {}, "data.run_process"),
    "jitter": (("--raw", "raw"), {}, "data.run_jitter"),
    "list": ((), {}, "list.run_list"),
    "record": (
        ("--kp", "100", "--trajectory", "sin_sin", "--output", "a.json"),
        BENCH,
        "record.run_record",
    ),
    "sweep": (("--logdir", "raw"), BENCH, "record.run_sweep"),
    "read": ((), {name: BENCH[name] for name in ("port", "motor")}, "record.run_read"),
}  # fmt: skip
"""Words of a command, settings that it requires, and the function that it calls."""

SAMPLES = {
    "scheme": "bam", "reset_period": "0.5", "vin": "6.5", "method": "cmaes", "trials": "500",
    "seed": "7", "objective": "rmse", "speed_weight": "0.1", "duty_weight": "0.2",
    "terms": "backlash,command_delay", "models": "m1,m3", "try_terms": "torque_saturation",
    "quadratic": "ungated", "fixed": "R:2.5,kt:0.4", "validation_kp": "100,200",
    "validation_mass": "0.5,1", "validation_trajectory": "steps,sin_sin", "level": "0.9",
    "catalogue": "servos.yaml", "skip_bad_logs": "1", "extended": "1", "split_by": "kp",
    "compat": "bam", "png": "1", "speeds": "0,1", "port": "/dev/ttyUSB7", "motor": "mx64",
    "id": "3", "baud_rate": "57600", "timeout": "0.1", "zero": "-0.2", "reverse": "1",
    "bus": "feetech", "driver": "driver.py", "mass": "0.4", "length": "0.2", "arm_mass": "0.05",
    "rate": "100", "start_speed": "0.5", "settle": "1", "finish": "hold", "margin": "0.1",
    "lowest_volts": "5", "highest_volts": "9", "highest_temperature": "50", "patience": "5",
    "most_retries": "0.1", "kp": "300", "timestep": "0.002",
}  # fmt: skip
"""A value of each setting that is not its default."""


@pytest.fixture
def called(monkeypatch):
    """What a command hands to the function that does its work."""

    def call(command, *words):
        found = []

        def take(*arguments, **named):
            shown = [a for a in arguments if type(a).__name__ != "Output"]
            found.append((shown, {k: v for k, v in named.items() if k != "output"}))
            return 0

        monkeypatch.setattr(f"trueup.cli.actuator.{BASES[command][2]}", take)
        assert main(["actuator", command, *words]) == 0
        return found[0]

    return call


def base(command, without=""):
    """Words of a command that works, without one of its settings."""
    words, required, _ = BASES[command]
    return [*words, *(f"{name}={value}" for name, value in required.items() if name != without)]


def settings(command):
    """Settings that a command accepts, by key."""
    kind = Actuator.COMMANDS[command]
    known = settings_of(kind.KEYS)
    return {key: known[key] for key in keys_of(kind)}


KEYS = [(command, key) for command in BASES for key in settings(command)]
OPTIONS = [
    (command, key, spelling)
    for command, key in KEYS
    if key in Actuator.COMMANDS[command].__dataclass_fields__
    for option in [settings(command)[key].option]
    if option is not None
    for spelling in (f"--{option.name or key}", *option.aliases)
]


@pytest.mark.parametrize(("command", "key"), KEYS)
def test_every_key_reaches_the_library(called, command, key):
    given = called(command, *base(command, key), f"{key}={SAMPLES[key]}")
    assert given != called(command, *base(command))


@pytest.mark.parametrize(("command", "key", "spelling"), OPTIONS)
def test_an_option_is_the_same_as_its_key(called, command, key, spelling):
    words, expected = (
        base(command, key),
        called(command, *base(command, key), f"{key}={SAMPLES[key]}"),
    )
    for name in (spelling.replace("_", "-"), "--" + spelling[2:].replace("-", "_")):
        assert called(command, *words, name, *SAMPLES[key].split(",")) == expected


@pytest.mark.parametrize("key", sorted(settings("export")))
def test_every_key_of_an_export_reaches_the_library(monkeypatch, tmp_path, key):
    params = str(save_model(ServoModel.create("xl330", "m1"), tmp_path / "m1.json"))
    found = []
    monkeypatch.setattr("trueup.actuators.catalogue.entries.use_catalogue", found.append)
    monkeypatch.setattr("trueup.actuators.read_logs", lambda *a, **k: found.append(k["skip_bad"]))

    def export(model, form, *, output, report, **settings):
        found.append({name: settings.get(name) for name in ("kp", "vin", "timestep")})
        return ServoExport("")

    monkeypatch.setattr("trueup.deploy.servo.export_servo", export)
    words = ["actuator", "export", "--params", params, "--logdir", str(tmp_path)]
    assert main(words) == 0
    before = found.copy()
    found.clear()
    assert main([*words, f"{key}={SAMPLES[key]}"]) == 0
    assert found != before


def test_settings_are_those_of_the_library(called):
    words = [f"{key}={SAMPLES[key]}" for key in settings("fit") if key != "models"]
    ((spec, _), _) = called("fit", *BASES["fit"][0], *words)
    weights = {"speed": 0.1, "duty": 0.2}
    made = spec.fit_settings
    assert made == FitSettings(
        "cmaes", 500, 7, type(made.objective)("rmse", **weights), scheme="bam", reset_period=0.5,
        vin=6.5, terms=("backlash", "command_delay"), try_terms=("torque_saturation",),
        quadratic="ungated", fixed={"R": 2.5, "kt": 0.4}, validation_kp=(100.0, 200.0),
        validation_mass=(0.5, 1.0), validation_trajectory=("steps", "sin_sin"), level=0.9,
    )  # fmt: skip
    assert (spec.catalogue, spec.skip_bad_logs) == (Path("servos.yaml"), True)


def test_spellings_of_better_actuator_models(called):
    words = ["--actuator", "xl330", "--model", "m6", "--logdir", "logs", "--output", "m6.json"]
    words += ["--method", "cmaes", "--trials", "10", "--workers", "2", "--load_study", "s.db"]
    words += ["--reset_period", "0.4", "--validation_kp", "0", "200", "--wandb", "--set", "R=2.0"]
    ((spec, execution), _) = called("fit", *words)
    found = spec.fit_settings
    assert (spec.actuator, spec.model, spec.output.name) == ("xl330", "m6", "m6.json")
    assert (found.method, found.trials, found.reset_period) == ("cmaes", 10, 0.4)
    assert (found.validation_kp, found.fixed) == ((200.0,), {"R": 2.0})
    assert (execution.workers, execution.trackers) == (2, ("wandb",))
    assert (spec.start_from, execution.load_study) == ("s.db", None)
    hyphened = [w.replace("_", "-") if w.startswith("--") else w for w in words]
    assert called("fit", *hyphened) == called("fit", *words)
    ((_, execution), _) = called("fit", *words, "--storage", "sqlite:///s.db")
    assert (execution.storage, execution.load_study) == ("sqlite:///s.db", "s.db")


@pytest.mark.parametrize(
    "words",
    [
        ("--set", "R=2.0,kt=0.4"),
        ("--set", "{'R': 2.0, 'kt': 0.4}"),
        ("--set", "R=2.0", "--set", "kt=0.4"),
        ("--set", "R=2.0", "kt=0.4"),
        ("--set=R=2.0", "--set", "kt=0.4"),
        ("fixed=R:2.0,kt:0.4",),
        ("fixed={R: 2.0, kt: 0.4}",),
    ],
)
def test_forms_of_fixed_parameters(called, words):
    ((spec, _), _) = called("fit", *BASES["fit"][0], *words, "vin=7.4")
    assert spec.fit_settings.fixed == {"R": 2.0, "kt": 0.4}
    assert spec.fit_settings.vin == 7.4


def test_no_terms_to_try_differ_from_the_default(called, capsys):
    assert called("fit", *BASES["fit"][0])[0][0].fit_settings.try_terms is None
    assert called("fit", *BASES["fit"][0], "try_terms=none")[0][0].fit_settings.try_terms == ()
    assert main(["actuator", "compare", *BASES["compare"][0], "try_terms=none"]) == 2
    assert "--friction-only" in capsys.readouterr().err


def test_eval_names_the_parameter_file(called, monkeypatch):
    monkeypatch.setitem(BASES, "fit", (*BASES["fit"][:2], "fit.run_fit_evaluation"))
    ((spec,), _) = called("fit", *BASES["fit"][0], "--eval", "--output", "m1.json", "scheme=bam")
    assert spec.output.name == "m1.json"
    assert spec.fit_settings.scheme == "bam"


@pytest.mark.parametrize("words", [("--friction-only",), ("extended=0",), ("extended=false",)])
def test_friction_only_is_a_setting(called, words):
    ((spec, *_), _) = called("compare", *BASES["compare"][0], *words)
    assert spec.settings.extended is False


@pytest.mark.parametrize(
    ("command", "words", "message"),
    [
        ("fit", ["vim=7"], "unknown key 'vim'.*vin"),
        ("fit", ["vin=7", "vin=8"], "vin is given twice"),
        ("fit", ["--trials", "7", "trials=8"], "trials is given twice"),
        ("fit", ["--evaluations", "7", "trials=8"], "trials is given twice"),
        ("fit", ["--set", "R=2", "fixed=kt:0.3"], "fixed is given twice"),
        ("fit", ["--set", "R=2,R=3"], "'R' is given twice"),
        ("fit", ["--model", "m1,m2", "models=m3"], "models is given twice"),
        ("fit", ["--model", "m1", "models=m3"], "remove models"),
        ("fit", ["--model", "m1", "try_terms=backlash"], "remove try_terms"),
        ("fit", ["vin="], "vin requires a value"),
        ("fit", ["vin"], "'vin': expected the form KEY=VALUE"),
        ("fit", ["vin=high"], "vin=high: .*number"),
        ("fit", ["vin=-1"], "vin is -1.*above 0"),
        ("fit", ["vin=nan"], "vin"),
        ("fit", ["trials=1.5"], "trials=1.5: .*integer"),
        ("fit", ["trials=0"], "trials.*1 or more"),
        ("fit", ["level=1"], "level is 1.0"),
        ("fit", ["scheme=euler"], "scheme=euler: .*'bam'"),
        ("fit", ["objective=mse"], "objective=mse: .*'huber'"),
        ("fit", ["fixed=R"], "fixed=R: expected values by name"),
        ("fit", ["fixed=R:nan"], "fixed"),
        ("fit", ["skip_bad_logs=perhaps"], "skip_bad_logs=perhaps: .*boolean"),
        ("compare", ["terms=backlash"], "terms is not supported"),
        ("compare", ["fit=1"], "fit is not supported"),
        ("compare", ["objective=huber"], "objective=huber: .*'rmse'"),
        ("compare", ["split_by=length"], "split_by=length: .*'kp'"),
        ("evaluate", ["method=cmaes"], "unknown key 'method'"),
        ("evaluate", ["reset_period=-1"], "reset_period is -1"),
        ("record", ["rate=fast"], "rate=fast: .*number"),
        ("record", ["finish=float"], "finish=float: .*'hold'"),
        ("record", ["limits=1"], "limits is not supported"),
        ("sweep", ["id=1.5"], "id=1.5: .*integer"),
        ("process", ["compat=mujoco"], "compat=mujoco: .*'bam'"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_one_sentence(capsys, monkeypatch, tmp_path, command, words, message):
    monkeypatch.chdir(tmp_path)
    assert main(["actuator", command, *base(command), *words]) == 2
    said = capsys.readouterr().err
    assert re.search(message, " ".join(said.split()))
    assert said.count("trueup:") == 1 and "Traceback" not in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "words", "replacement"),
    [
        ("fit", ["--objective", "rmse"], "objective=VALUE"),
        ("fit", ["--try-terms", "none"], "try_terms=VALUE"),
        ("fit", ["--skip_bad_logs"], "skip_bad_logs=VALUE"),
        ("fit", ["--vin=7"], "vin=VALUE"),
        ("evaluate", ["--scheme", "bam"], "scheme=VALUE"),
        ("compare", ["--terms", "backlash"], "try_terms=TERM"),
        ("compare", ["--error", "rmse"], "objective=mae or objective=rmse"),
        ("compare", ["--trials", "9"], "--evaluations"),
        ("compare", ["--workers=2"], "--threads"),
        ("compare", ["--extended"], "extended=VALUE"),
        ("plot", ["--png"], "png=VALUE"),
        ("drive-backdrive", ["--speeds", "0"], "speeds=VALUE"),
        ("process", ["--compat", "bam"], "compat=VALUE"),
        ("jitter", ["--report", "a.html"], "--output"),
        ("record", ["--baud_rate", "57600"], "baud_rate=VALUE"),
        ("read", ["--bus", "feetech"], "bus=VALUE"),
    ],
)
def test_a_former_option_names_its_replacement(capsys, command, words, replacement):
    assert main(["actuator", command, *base(command), *words]) == 2
    assert replacement in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--port", "simulated"], "missing: --actuator SERVO"),
        (["motor=xl330"], "missing: --port PORT"),
        ([], "missing: --port PORT, --actuator SERVO"),
    ],
)
def test_a_missing_setting_is_named(capsys, words, message):
    assert main(["actuator", "read", *words, "id=2"]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
