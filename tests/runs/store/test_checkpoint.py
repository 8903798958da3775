"""Checkpoints follow each generation where they are cheap, and are shared where they are not."""

import json

import pytest

from trueup.runs import EventLog, RunDirectory, Store
from trueup.runs.store import checkpoint


class _World:
    """A clock, and checkpoints that take a given time by it."""

    def __init__(self, tmp_path, monkeypatch, checkpoint_seconds):
        self.now = 50.0
        self.saved = []
        monkeypatch.setattr(checkpoint.time, "monotonic", lambda: self.now)
        directory = RunDirectory.create(tmp_path / "run")
        self.store = Store.create(directory.study, ("a",))
        self.checkpoints = checkpoint.Checkpoints(directory, self.store, EventLog(directory.log))
        flush = Store.flush

        def timed(store, state):
            self.now += checkpoint_seconds
            flush(store, state)

        monkeypatch.setattr(Store, "flush", timed)

    def go(self, generations, generation_seconds):
        for generation in range(generations):
            self.now += generation_seconds
            self.store.record(generation, [[0.0]], [1.0])
            if self.checkpoints.is_due:
                self.checkpoints.save({}, generation, 1.0, None)
                self.saved.append(generation)
        self.store.close()


@pytest.mark.parametrize("checkpoint_seconds", [0.001, 0.01, 0.1])
def test_slow_generations_are_saved_each(tmp_path, monkeypatch, checkpoint_seconds):
    world = _World(tmp_path, monkeypatch, checkpoint_seconds)
    world.go(5, generation_seconds=51 * checkpoint_seconds + 0.5)
    assert world.saved == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("checkpoint_seconds", [0.001, 0.01, 0.1])
def test_fast_generations_share_two_percent_of_the_time(tmp_path, monkeypatch, checkpoint_seconds):
    world = _World(tmp_path, monkeypatch, checkpoint_seconds)
    world.go(2000, generation_seconds=checkpoint_seconds)
    share = len(world.saved) * checkpoint_seconds / (world.now - 50.0)
    assert 0.005 < share <= 0.0225  # the first one is made before its cost is known


def test_a_slow_disk_does_not_postpone_checkpoints_for_ever(tmp_path, monkeypatch):
    world = _World(tmp_path, monkeypatch, checkpoint_seconds=5.0)
    world.go(300, generation_seconds=1.0)
    assert len(world.saved) >= 29


def test_nothing_new_is_not_saved_again(tmp_path, monkeypatch):
    world = _World(tmp_path, monkeypatch, checkpoint_seconds=0.0)
    parameters = world.checkpoints._directory.parameters
    world.store.record(0, [[0.0]], [1.0])
    world.checkpoints.save({}, 0, 1.0, lambda: {"a": 0})
    written = parameters.stat().st_ino
    world.checkpoints.save({}, 0, 1.0, lambda: {"a": 0})
    assert parameters.stat().st_ino == written
    world.checkpoints.save({}, 0, 0.5, lambda: {"a": 1})
    assert parameters.stat().st_ino != written
    world.store.close()
    log = EventLog(world.checkpoints._directory.log).read()
    assert [event["generation"] for event in log] == [0]


def test_parameters_do_not_wait_for_a_slow_disk(tmp_path, monkeypatch):
    world = _World(tmp_path, monkeypatch, checkpoint_seconds=5.0)
    parameters = world.checkpoints._directory.parameters
    world.store.record(0, [[0.0]], [1.0])
    world.checkpoints.save({}, 0, 1.0, lambda: {"cost": 1.0})
    lag, written = 0.0, 1.0
    for generation in range(1, 200):
        world.now += 0.05
        cost = 1.0 / (generation + 1)
        assert not world.checkpoints.is_due
        world.checkpoints.keep_parameters_fresh(cost, lambda cost=cost: {"cost": cost})
        if json.loads(parameters.read_text())["cost"] == cost:
            written = world.now
        elif generation > 1:
            lag = max(lag, world.now - written) if written > 1.0 else lag
    assert 1.9 < lag < 2.1
    world.store.close()
