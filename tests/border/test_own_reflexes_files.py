"""Files of own reflexes that ``gait optimize --controller`` refuses, in one sentence."""

import pytest
import yaml
from work import refused

from trueup.gait import shipped_reflexes

CASES = {
    "muscle": (lambda c: c["reflexes"][0].update(muscle="SOLL"), ("'SOLL'", "'SOL'")),
    "signal": (lambda c: c["signals"][0].update(measured="presure_x"), ("'presure_x'",)),
    "signal of a reflex": (
        lambda c: c["reflexes"][0]["terms"][0].update(signal="force_SOLL"),
        ("'force_SOLL'", "'force_SOL'"),
    ),
    "gain": (lambda c: c["reflexes"][0]["terms"][0].update(gain="1_GLU"), ("'1_GLU'",)),
    "a muscle that the walker lacks": (
        lambda c: c["muscles"].append({"name": "GRA", "delay": 0.01}),
        ("no muscle group 'GRA'", "'SOL'"),
    ),
    "delay": (lambda c: c["signals"][0].update(delay=-1), ("delay", "greater than or equal")),
    "scale": (lambda c: c["gains"][0].update(scale="big"), ("scale", "number")),
    "a gain of a taken name": (lambda c: c["gains"][0].update(name="load"), ("'load'",)),
    "nothing": (lambda c: c.clear(), ("not a valid reflex controller",)),
}


@pytest.mark.parametrize("case", CASES)
def test_reflexes_that_cannot_be_are_refused(case, tmp_path, capfd):
    change, named = CASES[case]
    content = yaml.safe_load(shipped_reflexes())
    change(content)
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    optimised(tmp_path, capfd, named)


@pytest.mark.parametrize("text", ["a: [", "\x00", "- 1", "", "x: &a [*a]"])
def test_files_that_are_no_reflexes_are_refused(text, tmp_path, capfd):
    (tmp_path / "mine.yaml").write_text(text)
    optimised(tmp_path, capfd, ("mine.yaml",))


def test_reflexes_have_no_place_in_myoassist(tmp_path, capfd):
    (tmp_path / "mine.yaml").write_text(shipped_reflexes())
    own = tmp_path / "own.yaml"
    own.write_text("{compat: myoassist, cost: eff}")
    optimised(tmp_path, capfd, ("compat=myoassist", "remove controller"), f"{own}")


def optimised(folder, capfd, named, configuration="walk"):
    command = ["gait", "optimize", configuration, "--controller", f"{folder}/mine.yaml"]
    refused([*command, "--save-path", f"{folder}/run"], folder, capfd, named=named)
