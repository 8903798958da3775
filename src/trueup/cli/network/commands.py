"""Commands of ``trueup network``; implementations are imported when they run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import Positional, arg

from trueup.cli.command_settings import made_of, settings_in
from trueup.cli.network.export import ExportNetwork
from trueup.cli.network.motion import TrainMotion
from trueup.cli.network.train import TrainNetwork
from trueup.cli.output import Output
from trueup.cli.settings import Keys
from trueup.cli.study.options import Json, OfRuns
from trueup.networks.data.synthetic_settings import SyntheticSettings

Data = Annotated[
    Path | None,
    arg(
        metavar="FOLDER|FILE",
        help="Folder of the recordings, or YAML file with keys of data, such as data_base_dir, "
        "columns, inertia_groups and rate; by default those of the training.",
    ),
]
Overrides = Annotated[
    Positional[tuple[str, ...]],
    arg(
        metavar="[data.KEY=VALUE ...]",
        help="Keys of data, as for a training: data.rate=500 data.columns.torque=torAct",
    ),
]


@dataclass(frozen=True, kw_only=True)
class SynthesizeRecordings:
    """Write synthetic recordings of an actuator, and report the minimum RMSE of any network.

    Examples:
      trueup network synthesize data/synthetic
      trueup network synthesize data/five inertias=0.05,0.083,0.1,0.125,0.166
          signals=sine,chirp,multisine,steps
      trueup network synthesize data/hard signals=multisine,steps coulomb=0.4 delay=0.02
          torque_limit=3 no_load_speed=12

    Exit codes: 0 done, 2 wrong input.
    """

    KEYS: ClassVar[type] = SyntheticSettings

    folder: Annotated[Positional[Path], arg(metavar="FOLDER")]
    """Folder to write, with a folder per inertia and a CSV file per recording."""
    keys: Keys = ()
    seed: Annotated[int, arg(metavar="INT")] = 0
    """Seed of the random phases, levels and noise."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.network.data import run_synthesize

        settings = made_of(SyntheticSettings, settings_in(self))
        return run_synthesize(self.folder, settings, self.seed, output)


@dataclass(frozen=True, kw_only=True)
class CheckRecordings:
    """Check recordings before a training.

    Examples:
      trueup network check data/synthetic
      trueup network check data/real data.gyro_axis_for_ang_vel=Gyro_X data.repair=true
      trueup network check bench.yaml data.data_base_dir=bench --json

    Exit codes: 0 a training is possible, 2 wrong input or unusable data.
    """

    data: Annotated[Positional[Path | None], arg(metavar="FOLDER|FILE")] = None
    """Folder of the recordings, or YAML file with keys of data, such as data_base_dir, columns,
    inertia_groups and rate; by default that of data.data_base_dir."""
    keys: Overrides = ()
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.network.data import run_check

        return run_check(self.data, self.keys, output)


@dataclass(frozen=True, kw_only=True)
class EvaluateNetwork(OfRuns):
    """Score a trained network over whole recordings, from a cold start.

    The recordings are read as those of the training, except for the keys given here.

    Examples:
      trueup network evaluate outputs/arm --data data/real
      trueup network export outputs/arm --form onnx --output arm.onnx
      trueup network evaluate network.safetensors --data data/real --json
      trueup network evaluate outputs/arm --data data/real --inertia 0.083 --report scores.html
      trueup network evaluate outputs/arm --data data/real --model-file arm.xml --joint elbow
      trueup network evaluate runs/servo --data other_logs

    A run of train-motion is scored by the angle of other servo logs, simulated in full.
    Exit codes: 0 done, 2 wrong input, 3 "do not use".
    """

    network: Annotated[Positional[Path], arg(metavar="RUN|FILE")]
    """Run directory of a training, or network file (.safetensors, .npz)."""
    data: Data = None
    report: Annotated[Path | None, arg(metavar="FILE")] = None
    """HTML file to write, with time series, scatter plots and bands; by default none."""
    inertia: Annotated[float | None, arg(metavar="KG_M2")] = None
    """Inertia of a single joint driven by the network in a closed-loop simulation, to compare its
    angle with the recorded one [kg m2]."""
    model_file: Annotated[Path | None, arg(metavar="FILE")] = None
    """MuJoCo model with the joint driven by the network, in place of a single joint."""
    joint: Annotated[str | None, arg(metavar="NAME")] = None
    """Name of the joint in the model; by default the only one."""
    keys: Overrides = ()
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.network.evaluate import NamedJoint, run_evaluate
        from trueup.cli.network.trained_recordings import NamedRecordings
        from trueup.networks.motion.spec import is_motion_run

        if is_motion_run(self.network):
            from trueup.cli.network.motion_results import run_evaluate_motion

            given = (self.keys, self.report, self.inertia, self.model_file, self.joint)
            return run_evaluate_motion(self.network, self.data, given, self.anyway, output)
        named = NamedRecordings(self.network, self.data, self.keys, self.anyway)
        joint = NamedJoint(self.inertia, self.model_file, self.joint)
        return run_evaluate(named, joint, self.report, output)


@dataclass(frozen=True, kw_only=True)
class PredictTorque(OfRuns):
    """Write the torque predicted by a network, in one CSV file per recording.

    Examples:
      trueup network predict outputs/arm --data data/new --output predictions

    Exit codes: 0 done, 2 wrong input.
    """

    network: Annotated[Positional[Path], arg(metavar="RUN|FILE")]
    """Run directory of a training, or network file (.safetensors, .npz)."""
    data: Data = None
    output: Annotated[Path, arg(aliases=["-o"], metavar="FOLDER")]
    """Folder for the files, with the columns time, features, torque, predicted torque, out of range
    of the training, and for an ensemble its mean and spread."""
    keys: Overrides = ()
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.network.evaluate import run_predict
        from trueup.cli.network.trained_recordings import NamedRecordings

        named = NamedRecordings(self.network, self.data, self.keys, self.anyway)
        return run_predict(named, self.output, output)


@dataclass(frozen=True)
class Network:
    """Learn an actuator from recordings: train a network, score it, export it to a simulator.

    Examples:
      trueup network synthesize data/synthetic
      trueup network check data/synthetic
      trueup network train data.data_base_dir=data/synthetic --output outputs/arm
      trueup network train-motion logs --servo m4.json --output outputs/servo
      trueup network evaluate outputs/arm --data data/real
      trueup network export outputs/arm --form onnx --output arm.onnx
    """

    COMMANDS: ClassVar[dict[str, type]] = {
        "synthesize": SynthesizeRecordings,
        "check": CheckRecordings,
        "train": TrainNetwork,
        "train-motion": TrainMotion,
        "evaluate": EvaluateNetwork,
        "export": ExportNetwork,
        "predict": PredictTorque,
    }
