"""What to do after an identification: each command can be typed, and fits the verdict."""

from pathlib import Path
from typing import Any

import pytest

from trueup.cli import main
from trueup.sysid.results.next_steps import next_steps


def summary(grade: str, **changes: Any) -> dict[str, Any]:
    reason = {"grade": grade, "sentence": "The joint lags.", "section": "scores"}
    rows = [{"name": name, "determined": True} for name in ("mass", "link[0]", "link[1]")]
    return {
        "verdict": {"grade": grade, "reasons": [reason]},
        "success": True,
        "parameters": rows,
        **changes,
    }


def commands(*arguments: Any) -> list[str]:
    return [step.command for step in next_steps(*arguments) if step.command]


def loose() -> list[dict[str, Any]]:
    return [{"name": name, "determined": name == "mass"} for name in ("mass", "link[0]", "link[1]")]


def test_a_result_to_use_is_exported(tmp_path):
    (tmp_path / "model.xml").write_text("<mujoco/>")
    steps = next_steps(summary("use"), tmp_path)
    assert str(tmp_path / "model.xml") in steps[0].sentence
    assert commands(summary("use"), tmp_path) == [f"trueup export dr {tmp_path} --form mjlab"]


def test_a_result_to_look_at_names_the_place_and_the_command():
    first, *_ = next_steps(summary("look"), Path("runs/arm"))
    assert "errors on held-out data" in first.sentence
    assert commands(summary("look"), Path("runs/arm")) == ["trueup explain runs/arm"]


def test_what_is_not_determined_is_designed_for():
    found = summary("look", parameters=loose())
    found["verdict"]["reasons"][0]["section"] = "identifiability"
    assert commands(found, Path("runs/arm")) == ["trueup design runs/arm"]
    texts = [step.sentence for step in next_steps(found)]
    assert any(text.startswith("link (2 elements) is not determined") for text in texts)


def test_a_design_for_motors_says_that_it_needs_the_controller():
    settings = {"model": {"actuators": "torque"}, "search": {"method": "inverse-dynamics"}}
    found = summary("look", parameters=loose(), provenance={"settings": settings})
    assert any("actuators: position" in step.sentence for step in next_steps(found))
    assert not any("actuators: position" in step.sentence for step in next_steps(summary("look")))


def test_a_result_not_to_use_leads_with_its_first_cause():
    causes = [{"cause": "delay", "share": 0.83, "sentence": "Commands act 12 ms late"}]
    first, *_ = next_steps(summary("do not use", causes=causes))
    assert first.sentence.startswith("Mend the most likely cause")
    assert commands(summary("do not use")) == ["trueup explain RUN"]
    assert commands(summary("do not use", success=False)) == ["trueup check EXPERIMENT"]


def test_a_folder_with_a_blank_is_quoted():
    assert commands(summary("use"), Path("my runs/arm"))[0].split("dr ")[1].startswith("'my runs")


@pytest.mark.parametrize("grade", ["use", "look", "do not use"])
def test_commands_exist(grade, capsys):
    for command in commands(summary(grade, parameters=loose()), Path("run")):
        words = command.split()[1:]
        name = words[:2] if words[0] == "export" else words[:1]
        assert main([*name, "--help"]) == 0
        assert "RUN" in capsys.readouterr().out


@pytest.mark.parametrize("grade", ["look", "do not use"])
def test_a_reason_leads_to_the_page_that_explains_it(grade):
    found = summary(grade)
    for section, page in (("parameters", "bounds"), ("scores", "perfect-fit")):
        found["verdict"]["reasons"][0]["section"] = section
        texts = [step.sentence for step in next_steps(found)]
        assert any(text.endswith(f"docs/symptoms/{page}.md.") for text in texts)
    found["verdict"]["reasons"][0]["section"] = "course"
    assert not any("docs/" in step.sentence for step in next_steps(found))
