"""Published servos: what is written is read back, refitted, and refused where it is damaged."""

import hashlib
import json
import runpy
import shutil
from pathlib import Path

import pytest
import yaml

from trueup import actuators
from trueup.actuators import FitSettings, load_model
from trueup.cli import main
from trueup.errors import ParameterError, RunDirectoryError
from trueup.runs import publish, read_entry

ROOT = Path(__file__).resolve().parents[3]
ENTRIES = [
    path.parent
    for path in sorted((ROOT / "catalogue").glob("*/entry.yaml"))
    if read_entry(path.parent).kind == "servo"
]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory) -> Path:
    """A fit of the simulated XL330 to its published logs."""
    folder = tmp_path_factory.mktemp("published")
    entry = read_entry(ROOT / "catalogue" / "simulated-xl330")
    shutil.copytree(entry.folder / "logs", folder / "logs")
    refit(entry, folder / "logs", folder / "m3.json")
    return folder


def refit(entry, logs, output) -> None:
    """Fit logs as the entry was fitted."""
    settings = FitSettings.from_dict(entry.content["settings"])
    servo, model = entry.content["servo"], entry.content["model"]
    actuators.fit(servo, model, logs, settings=settings, output=output)


def values_of(folder: Path) -> dict:
    return yaml.safe_load((folder / "entry.yaml").read_text())["values"]


@pytest.mark.parametrize("folder", ENTRIES, ids=lambda folder: folder.name)
def test_an_entry_of_the_repository_is_whole(folder):
    entry = read_entry(folder)
    assert entry.name == folder.name and entry.grade == "use"
    for path, digest in zip(entry.log_files, entry.logs.values(), strict=True):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
    model = load_model(folder)
    values = values_of(folder)
    assert {n: model.values[n] for n in values} == {n: v["value"] for n, v in values.items()}
    error = actuators.evaluate(model, actuators.read_logs(folder / "logs")).mae
    stated = yaml.safe_load((folder / "entry.yaml").read_text())["position_error"]["fit"]
    assert 1e3 * error == pytest.approx(stated, abs=2e-3)


def test_the_entries_of_the_repository_hold_the_truth():
    assert len(ENTRIES) >= 2
    servos = runpy.run_path(str(ROOT / "catalogue" / "make.py"))["SERVOS"]
    held = []
    for name, truth in servos.items():
        for parameter, row in values_of(ROOT / "catalogue" / name).items():
            low, high = row["interval"]
            held.append(low <= truth.values[parameter] <= high)
    assert sum(held) >= len(held) - 1, held  # of intervals at 95 %


def test_a_refit_gives_the_published_values(fitted, tmp_path):
    other = read_entry(ROOT / "catalogue" / "simulated-mx64")
    refit(other, other.log_files, tmp_path / "m1.json")
    for name, path in (("xl330", fitted / "m3.json"), ("mx64", tmp_path / "m1.json")):
        found = load_model(path).values
        for parameter, row in values_of(ROOT / "catalogue" / f"simulated-{name}").items():
            low, high = row["interval"]
            tolerance = 0.05 * (high - low)
            assert found[parameter] == pytest.approx(row["value"], abs=tolerance), parameter


def test_what_is_published_is_read_back(fitted, tmp_path):
    run = fitted / "m3.run"
    entry = publish(run, tmp_path / "mine", licence="CC0-1.0", by="A. Name")
    assert entry == read_entry(tmp_path / "mine")
    assert len(entry.log_files) == len(entry.logs) == 6
    assert load_model(tmp_path / "mine").values == load_model(fitted / "m3.json").values
    text = "".join(path.read_text() for path in (tmp_path / "mine").glob("*.*"))
    assert str(fitted) not in text
    page = (tmp_path / "mine" / "report.html").read_text()
    assert "<svg" in page and "<script" not in page and len(page) < 300_000
    assert "arguments" not in json.loads(entry.file("parameters").read_text())["provenance"]
    assert "A. Name" in text
    # the hashes alone
    hashes = publish(run, tmp_path / "hashes", licence="CC0-1.0", with_logs=False)
    assert hashes.logs == entry.logs and hashes.log_files == []


def test_the_command_refuses_what_it_must_not_write(fitted, tmp_path, capsys):
    run, output = str(fitted / "m3.run"), tmp_path / "entry"
    words = ["publish", run, "--output", str(output)]
    assert main([*words, "--licence", " "]) == 2
    assert "licence is required" in capsys.readouterr().err
    assert main(["publish", str(fitted / "logs"), *words[2:], "--licence", "X"]) == 2
    assert not output.exists()
    assert main([*words, "--licence", "CC0-1.0"]) == 0
    assert main([*words, "--licence", "CC0-1.0"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert main([*words, "--licence", "MIT", "--overwrite"]) == 0
    assert read_entry(output).licence == "MIT"
    other = tmp_path / "mine"
    other.mkdir()
    assert main([*words[:-1], str(other), "--licence", "MIT", "--overwrite"]) == 2
    assert "it holds no entry" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["entry", "mine"]


def test_a_fit_that_is_not_one_to_use_is_not_published(fitted, tmp_path):
    settings = FitSettings(method="least-squares", trials=30)
    actuators.fit("xl330", "m1", fitted / "logs", settings=settings, output=tmp_path / "m1.json")
    with pytest.raises(ParameterError, match="not one to use: "):
        publish(tmp_path / "m1.run", tmp_path / "entry", licence="MIT")
    assert not (tmp_path / "entry").exists()


def test_changed_logs_are_not_published(fitted, tmp_path):
    shutil.copytree(fitted, tmp_path / "copy")
    log = next((tmp_path / "copy" / "logs").iterdir())
    content = json.loads(log.read_text())
    content["mass"] *= 2
    log.write_text(json.dumps(content))
    with pytest.raises(RunDirectoryError, match="changed since"):
        publish(tmp_path / "copy" / "m3.run", tmp_path / "entry", licence="MIT")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "other"}, "not an entry"),
        ({"format_version": 99}, "version 99"),
        ({"parameters": "../m3.json"}, "expected the name of a file"),
        ({"kind": "identification"}, "no servo"),
        ({"kind": None}, "kind"),
        ({"parameters": None}, "expected the name of a file"),
        ({"parameters": "m9.json"}, "m9.json is missing"),
        ({"logs": [1]}, "logs"),
        ({"logs": {"../x.json": "00"}}, "expected the name of a file"),
        ({"licence": None}, "licence"),
    ],
)
def test_a_damaged_entry_is_refused(change, words, tmp_path):
    source = ROOT / "catalogue" / "simulated-xl330"
    for name in ("entry.yaml", "m3.json"):
        shutil.copyfile(source / name, tmp_path / name)
    content = yaml.safe_load((tmp_path / "entry.yaml").read_text())
    (tmp_path / "entry.yaml").write_text(yaml.safe_dump({**content, **change}))
    with pytest.raises(ParameterError, match=words):
        load_model(tmp_path)
