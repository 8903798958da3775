"""Small valid work for every command group: its input files, and the command that runs it."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import driven_pendulum as pendulum
from servo_bench_logs import TRUTH, write_logs

from trueup.actuators import save_model
from trueup.cli import main

LONGEST = 20.0
"""Processor time that a refusal may take [s]: a busy machine does not change it."""

PROBLEM = """\
import numpy as np

from trueup.fitting import VectorisedCosts
from trueup.parameters import Space


def problem():
    space = Space(("a", "b"), np.full(2, -1.0), np.full(2, 2.0), np.ones(2), np.zeros(2, bool))
    return VectorisedCosts(lambda X: (X**2).sum(axis=1), space)
"""


@dataclass(frozen=True)
class Work:
    """A piece of work whose command takes about a second."""

    inputs: tuple[str, ...]
    """Its input files, below its folder."""
    words: tuple[str, ...]
    """Its command."""
    run: str
    """Its run directory."""
    stored: tuple[str, ...] = ()
    """Further files and folders that it writes."""

    def command(self, folder: Path) -> list[str]:
        """The command for inputs in a folder; paths are those that begin with ``./``."""
        return [word.replace("./", f"{folder}/") for word in self.words]


def study(folder: Path) -> Work:
    """A search over a problem of the user's own."""
    (folder / "own.py").write_text(PROBLEM)
    words = ("study", "run", "./own.py:problem", "--method", "sobol", "--generations", "3")
    return Work(("own.py",), (*words, "-o", "./run"), "run")


def sysid(folder: Path) -> Work:
    """An identification of a pendulum."""
    pendulum.write(folder, {**pendulum.EXPERIMENT, "output": {"report": True}})
    inputs = ("experiment.yaml", "pendulum.xml", "run.csv")
    return Work(inputs, ("identify", "./experiment.yaml"), "runs/pendulum")


def servo(folder: Path) -> Work:
    """A fit of a servo to three logs."""
    (folder / "logs").mkdir()
    write_logs(folder / "logs")
    save_model(TRUTH, folder / "p.json")
    words = ("actuator", "fit", "--actuator", "xl330", "--model", "m1", "--logdir", "./logs")
    words += ("--trials", "200", "--method", "least-squares", "--output", "./m1.json")
    inputs = tuple(f"logs/kp{kp}.json" for kp in (100, 200, 400))
    return Work(inputs, words, "m1.run", ("m1.json",))


def network(folder: Path) -> Work:
    """The training of a small network for one epoch."""
    from trueup.networks import SyntheticSettings, synthesize

    synthesize(SyntheticSettings(inertias=(0.05, 0.083), duration=3.0), folder / "data")
    settings = (
        *("model.gru_hidden_dim=4", "model.gru_num_layers=1", "train.max_epochs=1"),
        *("train.accelerator=cpu", "train.burn_in=20", "data.sequence_duration_s=0.5"),
    )
    words = ("network", "train", "data.data_base_dir=./data", *settings, "--output", "./run")
    inputs = tuple(
        sorted(str(p.relative_to(folder)) for p in (folder / "data").rglob("*") if p.is_file())
    )
    return Work(inputs, words, "run")


def motion(folder: Path) -> Work:
    """The training of a correction of a servo for two gradient steps."""
    (folder / "logs").mkdir()
    write_logs(folder / "logs")
    save_model(TRUTH, folder / "p.json")
    words = ("network", "train-motion", "./logs", "--servo", "./p.json", "--output", "./run")
    words += ("max_steps=2", "horizons=0.05")
    inputs = ("p.json", *(f"logs/kp{kp}.json" for kp in (100, 200, 400)))
    return Work(inputs, words, "run")


def gait(folder: Path) -> Work:
    """A search over two generations of very short walks."""
    words = ("gait", "optimize", "walk", "--sim-time", "0.2", "--popsize", "4", "--maxiter", "1")
    return Work((), (*words, "--save-path", "./run", "--quiet"), "run")


KINDS: dict[str, Callable[[Path], Work]] = {
    "study": study,
    "sysid": sysid,
    "servo": servo,
    "network": network,
    "motion": motion,
    "gait": gait,
}


def tree(folder: Path, hidden: Path | None = None) -> dict[str, tuple[int, ...] | str]:
    """Everything below a folder: size and times of files, targets of links, folders.

    The time of the last change of a file cannot be set back: its content needs no look.
    ``hidden``, and what it holds, cannot be read and is left out.
    """
    found: dict[str, tuple[int, ...] | str] = {}
    for path in sorted(folder.rglob("*")):
        if "__pycache__" in path.parts:  # Python's own, of a problem file that is imported
            continue
        if hidden is not None and path.is_relative_to(hidden):
            continue
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_file():
            status = path.stat()
            found[name] = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        else:
            found[name] = "folder" if path.is_dir() else "special"
    return found


def answered(words: list[str], folder: Path, capfd) -> bool:
    """Run a command that may refuse its input, cleanly; return whether it did."""
    before = tree(folder)
    started = time.process_time()
    code = main(words)
    seconds = time.process_time() - started
    out, err = capfd.readouterr()
    if code in (0, 3):
        assert "Traceback" not in out + err
        return False
    check_refusal(code, out, err, seconds, before, tree(folder))
    return True


def check_refusal(code: int, out: str, err: str, seconds: float, before: dict, after: dict) -> None:
    """Assert exit code 2, one message, no traceback, nothing changed on disk, and a short time."""
    assert code == 2, f"exit code {code}: {out[-500:]}{err[-500:]}"
    assert err.strip().removeprefix("trueup:").strip(), "the message is empty"
    # an error in a file of the user's own is shown with the lines that it came from
    assert "Traceback" not in out + err or "own.py line" in err
    assert (
        len(re.findall("^trueup: ", err, re.MULTILINE)) == 1 or "Parsing error" in err or "─" in err
    ), err
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert not changed, f"changed on disk: {sorted(changed)}"
    assert seconds < LONGEST


def refused(
    words: list[str],
    folder: Path,
    capfd,
    named: tuple[str, ...] = (),
    hidden: Path | None = None,
) -> str:
    """Run a command that has to refuse its input; return what it says."""
    before = tree(folder, hidden)
    started = time.process_time()
    code = main(words)
    seconds = time.process_time() - started
    out, said = capfd.readouterr()
    check_refusal(code, out, said, seconds, before, tree(folder, hidden))
    for text in named:
        assert text in said, f"{text!r} is not named: {said}"
    return said
