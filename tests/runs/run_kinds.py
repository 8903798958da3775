"""Small runs of every kind, begun from Python or by a command."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import driven_pendulum
import friction_arm
import yaml
from servo_bench_logs import TRUTH, write_logs
from small_trainings import SMALL

import servo_arm
from trueup import actuators, gait, networks, runs, sysid
from trueup.actuators import ComparisonSettings, FitSettings
from trueup.design import BenchChoices, design, design_bench
from trueup.explain import explain
from trueup.runs import Budget, StudySettings


class RunKind(ABC):
    """How a small run of one kind is begun.

    Args:
      folder: takes the inputs.
    """

    kind: ClassVar[str]
    stop_at: ClassVar[int] = 2
    """Generation or epoch in which a run is stopped."""
    exit_codes: ClassVar[tuple[int, ...]] = (0,)
    """Exit codes of a run that ended by itself."""

    def __init__(self, folder: Path):
        self.folder = folder

    def target(self, run: Path) -> Path:
        """Run directory of a run that is called ``run``."""
        return run

    @abstractmethod
    def python(self, run: Path, resume: bool = False) -> Any:
        """Do the run from Python."""

    @abstractmethod
    def command(self, run: Path) -> list[str]:
        """Words of the command that does the run."""


class Study(RunKind):
    kind = "study"
    exit_codes = (0, 3)

    def python(self, run, resume=False):
        return runs.study(
            "sphere",
            run,
            settings=StudySettings(method="cmaes", seed=1),
            limits=Budget(max_evaluations=60),
            dimension=3,
            resume=resume,
            verbose=False,
        )

    def command(self, run):
        words = ["study", "run", "sphere", "--dimension", "3", "--method", "cmaes", "--seed", "1"]
        return [*words, "--evaluations", "60", "--output", str(run)]


class Identification(RunKind):
    kind = "identification"

    def __init__(self, folder):
        super().__init__(folder)
        self.files = driven_pendulum.write(folder)

    def python(self, run, resume=False):
        experiment = sysid.load_experiment(self.files.experiment)
        return sysid.identify(experiment, self.folder, output=run, resume=resume, verbose=False)

    def command(self, run):
        return ["identify", str(self.files.experiment), "--output", str(run)]


class ServoFit(RunKind):
    kind = "servo"

    def __init__(self, folder):
        super().__init__(folder)
        self.logs = write_logs(folder)

    def target(self, run):
        return run.with_suffix(".run")

    def python(self, run, resume=False):
        return actuators.fit(
            *("xl330", "m1", self.logs),
            settings=FitSettings("cmaes", trials=60, validation_kp=(400.0,)),
            output=run.with_suffix(".json"),
            resume=resume,
        )

    def command(self, run):
        words = ["actuator", "fit", "--actuator", "xl330", "--model", "m1", "--method", "cmaes"]
        words += ["--logdir", str(self.logs), "--trials", "60", "--validation-kp", "400"]
        return [*words, "--output", str(run.with_suffix(".json"))]


class ServoComparison(RunKind):
    kind = "comparison"
    exit_codes = (0, 3)
    stop_at = 8  # in the second fit

    def __init__(self, folder):
        super().__init__(folder)
        self.logs = write_logs(folder)

    def python(self, run, resume=False):
        fit = FitSettings("cmaes", trials=60, validation_kp=(400.0,))
        settings = ComparisonSettings(models=("m1", "m2"), fit=fit, extended=False)
        return actuators.compare(
            [], self.logs, directory=run, settings=settings, resume=resume, verbose=False
        )

    def command(self, run):
        words = [
            "actuator",
            "compare",
            "--logdir",
            str(self.logs),
            "--models",
            "m1,m2",
            "--friction-only",
        ]
        words += ["method=cmaes", "--evaluations", "60", "--validation-kp", "400"]
        return [*words, "--output", str(run)]


class Training(RunKind):
    kind = "network"
    exit_codes = (0, 3)

    def __init__(self, folder):
        super().__init__(folder)
        joint = networks.SyntheticSettings(inertias=(0.05, 0.083), duration=4.0)
        networks.synthesize(joint, folder / "data")
        every = "train.checkpointing.every_seconds=0"
        self.settings = [f"data.data_base_dir={folder / 'data'}", *SMALL, every]
        self.settings += ["train.max_epochs=4", "seed=3"]

    def python(self, run, resume=False):
        if resume:
            return networks.train(directory=run, resume=True, verbose=False)
        return networks.train(self.settings, run, verbose=False)

    def command(self, run):
        return ["network", "train", *self.settings, "--output", str(run)]


class MotionTraining(RunKind):
    kind = "motion"

    def __init__(self, folder):
        super().__init__(folder)
        (folder / "logs").mkdir()
        self.logs, self.servo = write_logs(folder / "logs"), folder / "m1.json"
        actuators.save_model(TRUTH, self.servo)

    def python(self, run, resume=False):
        settings = networks.MotionSettings(max_steps=24, horizons=(0.05,))
        return networks.run_motion_training(
            TRUTH, self.logs, run, settings=settings, resume=resume, verbose=False
        )

    def command(self, run):
        words = ["network", "train-motion", str(self.logs), "--servo", str(self.servo)]
        return [*words, "max_steps=24", "horizons=0.05", "--output", str(run)]


class ModelTraining(RunKind):
    kind = "model motion"

    def __init__(self, folder):
        super().__init__(folder)
        self.file = friction_arm.write(folder, count=3, seconds=0.5)

    def python(self, run, resume=False):
        settings = networks.MotionSettings(max_steps=24, horizons=(0.02,))
        return networks.run_model_training(
            self.file, run, settings=settings, resume=resume, verbose=False
        )

    def command(self, run):
        words = ["network", "train-motion", str(self.file), "max_steps=24"]
        return [*words, "horizons=0.02", "--output", str(run)]


class Walk(RunKind):
    kind = "gait"

    def python(self, run, resume=False):
        changes = {"sim_time": 0.2, "popsize": 4, "maxiter": 4, "seed": 3}
        return gait.optimize("walk", run, changes=changes, resume=resume, verbose=False)

    def command(self, run):
        words = ["gait", "optimize", "walk", "--sim-time", "0.2", "--popsize", "4"]
        return [*words, "--maxiter", "4", "--seed", "3", "--output", str(run)]


class Explanation(RunKind):
    kind = "explanation"

    def __init__(self, folder):
        super().__init__(folder)
        self.files = driven_pendulum.write(folder)

    def python(self, run, resume=False):
        experiment = sysid.load_experiment(self.files.experiment)
        return explain(
            experiment,
            self.folder,
            causes=("friction", "armature"),
            output=run,
            resume=resume,
            verbose=False,
        )

    def command(self, run):
        words = ["explain", str(self.files.experiment), "--causes", "friction", "armature"]
        return [*words, "--output", str(run)]


class Design(RunKind):
    kind = "design"

    def __init__(self, folder):
        super().__init__(folder)
        (folder / "arm.xml").write_text(servo_arm.MODEL.format(**servo_arm.GUESS))
        content = servo_arm.experiment()
        content["design"] |= {"duration": 1.0, "draws": 1}
        self.file = folder / "arm.yaml"
        self.file.write_text(yaml.safe_dump(content))

    def python(self, run, resume=False):
        experiment = sysid.load_experiment(self.file)
        limits = {"library": 4, "evaluations": 16, "seconds": 1e4}
        return design(experiment, self.folder, run, **limits, resume=resume, verbose=False)

    def command(self, run):
        words = ["design", str(self.file), "library=4", "--evaluations", "16"]
        return [*words, "--seconds", "10000", "--output", str(run)]


class BenchDesign(RunKind):
    kind = "bench design"
    stop_at = 3

    def __init__(self, folder):
        super().__init__(folder)
        fit = FitSettings("least-squares", trials=400)
        (folder / "logs").mkdir()
        logs = write_logs(folder / "logs")
        self.fit = actuators.fit("xl330", "m1", logs, settings=fit, output=folder / "m1.json")

    def python(self, run, resume=False):
        return design_bench(
            self.fit.directory,
            run,
            choices=BenchChoices(logs=1, seconds=2.0),
            library=20,
            evaluations=80,
            seconds=1e4,
            anyway=True,
            resume=resume,
            verbose=False,
        )

    def command(self, run):
        words = ["design", str(self.fit.directory), "logs=1", "duration=2"]
        words += ["library=20", "--evaluations", "80", "--seconds", "10000", "--anyway"]
        return [*words, "--output", str(run)]


KINDS = (
    *(Study, Identification, ServoFit, ServoComparison, Training, MotionTraining),
    *(ModelTraining, Walk, Explanation, Design, BenchDesign),
)
"""Every kind of run."""
