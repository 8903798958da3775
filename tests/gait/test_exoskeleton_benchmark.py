"""The benchmark of exoskeletons: what its folder keeps of the searches in it."""

import importlib
from pathlib import Path

import pytest

from trueup.errors import GaitError


@pytest.fixture
def benchmark_of_exoskeletons(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    return importlib.import_module("gait_exoskeleton")


@pytest.fixture
def searches(benchmark_of_exoskeletons):
    return benchmark_of_exoskeletons.Searches(
        start=benchmark_of_exoskeletons.START,
        generations=60,
        device="ankle",
        slope=5.0,
        gains="near",
        weights={"effort": 6000.0},
    )


def test_a_folder_goes_on_with_the_searches_that_it_was_begun_with(
    benchmark_of_exoskeletons, searches, tmp_path
):
    folder = tmp_path / "exoskeleton"
    benchmark_of_exoskeletons.keep_settings(folder, searches)
    kept = (folder / "settings.json").read_bytes()
    benchmark_of_exoskeletons.keep_settings(folder, searches)
    assert (folder / "settings.json").read_bytes() == kept


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("generations", 10),
        ("device", "hip"),
        ("slope", 0.0),
        ("weights", {"effort": 3000.0}),
    ],
)
def test_other_searches_are_refused(benchmark_of_exoskeletons, searches, tmp_path, name, value):
    benchmark_of_exoskeletons.keep_settings(tmp_path, searches)
    other = searches._replace(**{name: value})
    with pytest.raises(GaitError, match=f"{name} .*, not .*: take another folder"):
        benchmark_of_exoskeletons.keep_settings(tmp_path, other)


@pytest.mark.parametrize(
    ("constant", "told"),
    [
        ("POPULATION", "population 128, not 16"),
        ("REPEATS", "repeats 2, not 16"),
        ("SHIFT", "deviations .*, not"),
    ],
)
def test_a_folder_begun_by_another_version_of_the_search_is_refused(
    benchmark_of_exoskeletons, searches, tmp_path, monkeypatch, constant, told
):
    benchmark_of_exoskeletons.keep_settings(tmp_path, searches)
    monkeypatch.setattr(benchmark_of_exoskeletons, constant, 16)
    with pytest.raises(GaitError, match=told):
        benchmark_of_exoskeletons.keep_settings(tmp_path, searches)


def test_a_start_whose_numbers_changed_is_refused(benchmark_of_exoskeletons, searches, tmp_path):
    start = tmp_path / "walk.json"
    start.write_bytes(searches.start.read_bytes())
    benchmark_of_exoskeletons.keep_settings(tmp_path, searches._replace(start=start))
    start.write_bytes(searches.start.read_bytes().replace(b"1", b"2", 1))
    with pytest.raises(GaitError, match="start "):
        benchmark_of_exoskeletons.keep_settings(tmp_path, searches._replace(start=start))


def test_costs_kept_of_the_candidates_of_another_cma_are_refused(
    benchmark_of_exoskeletons, searches, tmp_path, monkeypatch
):
    benchmark_of_exoskeletons.keep_settings(tmp_path, searches)
    monkeypatch.setattr(benchmark_of_exoskeletons.cma, "__version__", "0.0")
    with pytest.raises(GaitError, match=r"cma .*, not 0\.0: take another folder"):
        benchmark_of_exoskeletons.keep_settings(tmp_path, searches)


def test_both_arms_are_compared_as_they_walk_and_at_equal_speed(benchmark_of_exoskeletons):
    def spared(cost, effort, at_speed):
        beside = benchmark_of_exoskeletons.AtSpeed(at_speed, 0.01 * at_speed, 40)
        return benchmark_of_exoskeletons.Spared(cost, effort, beside)

    device = {1: spared(65.0, 0.90, 0.95), 2: spared(66.0, 0.80, 0.90)}
    without = {1: spared(70.0, 1.00, 1.00), 2: spared(69.0, 1.10, 1.00)}
    lines = benchmark_of_exoskeletons.compared([device, without], 1.02)
    told = {line.partition(": ")[0]: line.partition(": ")[2] for line in lines}
    assert "-10.0 %" in told["seed 1"]
    assert "for each kg of the body it is -8.2 %" in told["seed 1"]
    assert "0.85000 with the device against 1.05000 without, -19.0 %" in told["mean"]
    # of each arm the one that cost least, which need not be of the same seed
    cheapest = "cheapest walk of all seeds"
    assert "0.90000 with the device against 1.10000 without" in told[cheapest]
    at = "from the walks beside, at 1.25 m/s"
    assert told[f"seed 1, {at}"].endswith("-5.0 ± 1.3 %")
    assert told[f"seed 2, {at}"].endswith("-10.0 ± 1.3 %")
    assert told[f"{cheapest}, {at}"].endswith("-5.0 ± 1.3 %")
    assert told[f"mean of the seeds, {at}"] == "-7.5 ± 2.5 %"


def test_one_seed_has_no_mean(benchmark_of_exoskeletons):
    walk = benchmark_of_exoskeletons.Spared(
        1.0, 1.0, benchmark_of_exoskeletons.AtSpeed(1.0, 0.0, 64)
    )
    lines = benchmark_of_exoskeletons.compared([{3: walk}, {3: walk}], 1.0)
    assert [line.partition(" ")[0] for line in lines] == ["seed", "seed"]
