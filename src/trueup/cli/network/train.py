"""Arguments of ``trueup network train``; the implementation is imported when it runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli.output import Output
from trueup.cli.study.options import Json, OfRuns
from trueup.errors import ExperimentError

_RUN_FOLDER = "hydra.run.dir"
_SWEEP_FOLDER = "hydra.sweep.dir"


@dataclass(frozen=True, kw_only=True)
class TrainNetwork(OfRuns):
    """Train a network on recordings, and compare it with a linear model on held-out ones.

    Examples:
      trueup network train data.data_base_dir=data/synthetic
      trueup network train evaluation_mode=lomo_cv model.gru_hidden_dim=256 train.max_epochs=100
      trueup network train data=synthetic model.model_type.name=lstm --output runs/arm --seed 1
      trueup network train data.data_base_dir=bench data.target_name=torque --dry-run
      trueup network train data.data_base_dir=data/synthetic --for isaac-lab
      trueup network train --resume --output runs/arm
      trueup network train -m seed=1,2,3 model.gru_hidden_dim=64,128 --output runs/sweep

    hydra.run.dir=DIRECTORY is the same as --output, with --multirun hydra.sweep.dir=DIRECTORY.
    --dry-run prints every key with its value. Ctrl-C finishes the epoch, saves the state and prints
    the command to resume; the best network so far is kept. A second Ctrl-C stops immediately.
    Exit codes: 0 done, 2 wrong input, 3 "do not use", 130 interrupted, 143 terminated.
    """

    keys: Annotated[Positional[tuple[str, ...]], arg(metavar="[KEY=VALUE ...]")] = ()
    """Settings, such as model.gru_hidden_dim=256."""
    config: Annotated[Path | None, arg(metavar="FILE")] = None
    """YAML file with any of the keys, such as config.yaml of a run; KEY=VALUE takes precedence."""
    for_form: Annotated[str | None, arg(name="for", metavar="FORM")] = None
    """Form that the network is trained for, such as isaac-lab, mjlab, newton or c: sets features
    and families to those that it supports. Without it, --dry-run lists the forms that the features
    allow."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="DIRECTORY")] = None
    """Run directory; by default a new one under outputs_dir."""
    multirun: Annotated[bool, arg(aliases=["-m"])] = False
    """Train once for each combination of the values of keys with several, such as seed=1,2,3, in
    the folders 0, 1, ... of the run directory."""
    resume: bool = False
    """Continue the run, or with --multirun the runs, in the run directory."""
    overwrite: bool = False
    """Replace the run in the directory."""
    seed: Annotated[int | None, arg(metavar="INT")] = None
    """Seed of all random numbers; by default that of the configuration."""
    dry_run: bool = False
    """Read and check everything, time an epoch and print the configuration; write nothing."""
    quiet: bool = False
    """Hide the progress."""
    json: Json = False

    @staticmethod
    def prepare_words(words: Sequence[str]) -> list[str]:
        """The words, checked for options of Hydra that are not supported."""
        for word in words:
            key = word.lstrip("+").partition("=")[0]
            if key.startswith("hydra.") and key not in (_RUN_FOLDER, _SWEEP_FOLDER):
                raise ExperimentError(
                    f"{key} is not supported; the only keys of hydra are {_RUN_FOLDER} and, with "
                    f"--multirun, {_SWEEP_FOLDER}, which are the same as --output: remove it"
                )
        return list(words)

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.network.training import Training, run_multirun, run_resume, run_train

        overrides, target = self._overrides_and_run_folder()
        verbose = not (self.quiet or output.json)
        if self.resume:
            given = (overrides, self.config, self.overwrite, self.anyway, self.for_form)
            if any(given) or self.seed is not None:
                raise ExperimentError(
                    "--resume continues a run with its settings: remove KEY=VALUE, --config, "
                    "--seed, --for, --overwrite and --anyway, or start a new run with another "
                    "--output"
                )
            if self.multirun:
                return run_multirun(None, target, verbose, output)
            return run_resume(target, verbose, output)
        seed = () if self.seed is None else (f"seed={self.seed}",)
        training = Training(
            (*overrides, *seed),
            self.config,
            overwrite=self.overwrite,
            anyway=self.anyway,
            form=self.for_form,
            dry_run=self.dry_run,
        )
        if self.multirun:
            return run_multirun(training, target, verbose, output)
        return run_train(training, target, verbose, output)

    def _overrides_and_run_folder(self) -> tuple[tuple[str, ...], Path | None]:
        """Overrides without Hydra's key of the run directory, and the run directory."""
        key, other = (_RUN_FOLDER, _SWEEP_FOLDER)[:: -1 if self.multirun else 1]
        if any(word.startswith(f"{other}=") for word in self.keys):
            raise ExperimentError(
                f"{other} is the folder {'without' if self.multirun else 'of'} --multirun: give "
                f"{key}=DIRECTORY or --output"
            )
        given = [word for word in self.keys if word.startswith(f"{key}=")]
        if not given:
            return self.keys, self.output
        folder = given[-1].partition("=")[2].strip("'\"")
        if not folder:
            raise ExperimentError(f"{key} has no value: give {key}=DIRECTORY")
        if self.output is not None and self.output != Path(folder):
            raise ExperimentError(
                f"{given[-1]} and --output {self.output} are two run directories: remove one of "
                "them"
            )
        others = tuple(word for word in self.keys if word not in given)
        return others, Path(folder)
