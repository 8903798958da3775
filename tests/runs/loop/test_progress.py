"""Progress goes to the error stream: a line a minute, or a status line, or nothing."""

import io

import pytest

from trueup.runs import Progress
from trueup.runs.loop.progress import duration


class _Clock:
    now = 100.0

    def __call__(self):
        return self.now


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def test_one_plain_line_a_minute():
    clock, stream = _Clock(), io.StringIO()
    with Progress(stream=stream, clock=clock) as progress:
        for step in range(181):  # one a second
            clock.now = 100.0 + step
            progress.update(f"generation {step}", step / 360)
    assert stream.getvalue().splitlines() == [
        "generation 60, 1 min 0 s elapsed, about 5 min 0 s left",
        "generation 120, 2 min 0 s elapsed, about 4 min 0 s left",
        "generation 180, 3 min 0 s elapsed, about 3 min 0 s left",
    ]


def test_time_left_of_a_resumed_run_counts_this_sitting_only():
    clock = _Clock()
    progress = Progress(stream=io.StringIO(), clock=clock)
    progress.update("a", 0.5)
    assert progress.seconds_left(0.5) is None
    clock.now += 10.0
    assert progress.seconds_left(0.6) == pytest.approx(40.0)
    assert progress.seconds_left(None) is None
    assert progress.seconds_left(1.2) == 0.0


def test_without_a_budget_there_is_no_time_left():
    clock, stream = _Clock(), io.StringIO()
    progress = Progress(stream=stream, clock=clock)
    clock.now += 61.0
    progress.update("generation 3")
    assert stream.getvalue() == "generation 3, 1 min 1 s elapsed\n"


def test_status_line_on_a_terminal():
    stream = _Terminal()
    with Progress(stream=stream) as progress:
        progress.update("cost [bold]", 0.5)  # a name, not an instruction for the terminal
        progress.message("[kept]")
    assert "cost [bold]" in stream.getvalue()
    assert "[kept]" in stream.getvalue()
    assert stream.getvalue().endswith("\x1b[2K") or "\x1b[?25h" in stream.getvalue()


@pytest.mark.parametrize("stream", [io.StringIO(), _Terminal()])
def test_silent_when_asked(stream, capfd):
    with Progress(False, stream=stream) as progress:
        progress.update("a", 0.5)
        progress.message("b")
    assert stream.getvalue() == ""
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3725, "1 h 2 min"), (90000, "1 d 1 h")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


def test_a_second_display_of_the_same_work_counts_from_the_first():
    clock = _Clock()
    with Progress(stream=io.StringIO(), clock=clock) as first:
        first.update("choice", 0.2)
        clock.now += 30.0
        first.update("choice", 0.5)
    assert first.since == (100.0, 0.2)
    clock.now += 20.0
    with Progress(stream=io.StringIO(), clock=clock, since=first.since) as second:
        assert second.seconds_left(0.7) == pytest.approx(50.0 * 0.3 / 0.5)
