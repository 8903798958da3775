"""Assistance of a walk that a walker does not have, or that is no share."""

import pytest
from work import refused


@pytest.mark.parametrize("strength", ["-0.1", "1.5", "nan", "much"])
def test_an_assistance_that_is_no_share_is_refused(strength, tmp_path, capfd):
    words = ["walk3d", f"assistance={strength}"]
    optimised(tmp_path, capfd, words, ("assistance",))


def test_a_planar_walker_has_no_assistance(tmp_path, capfd):
    optimised(tmp_path, capfd, ["walk", "assistance=0.5"], ("planar22", "remove assistance"))


@pytest.mark.parametrize("strength", ["2", "-1", "half"])
def test_a_stage_has_the_same_limits(strength, tmp_path, capfd):
    own = tmp_path / "own.yaml"
    own.write_text(
        f"{{model_file: space26, stages: {{held: {{assistance: {strength}, maxiter: 2}}}}}}"
    )
    optimised(tmp_path, capfd, [f"{own}"], ("held", "assistance"))


def test_a_walker_without_springs_in_a_stage_is_refused(tmp_path, capfd):
    own = tmp_path / "own.yaml"
    own.write_text("{stages: {held: {assistance: 0.5, maxiter: 2}}}")
    optimised(tmp_path, capfd, [f"{own}"], ("planar22", "remove assistance"))


def optimised(folder, capfd, words, named):
    command = ["gait", "optimize", *words, "--save-path", f"{folder}/run"]
    refused(command, folder, capfd, named=named)
