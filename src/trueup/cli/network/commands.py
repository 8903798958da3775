"""``trueup network``: its commands and their arguments; what they do is imported when they run."""

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
        "columns, inertia_groups and rate; by default the recordings of the training.",
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
    """Write synthetic recordings of an actuator, with the lowest RMSE that a network can reach.

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
    """Folder to write: a folder per inertia, a CSV file per recording."""
    keys: Keys = ()
    seed: Annotated[int, arg(metavar="INT")] = 0
    """Seed of phases, levels and noise."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.network.data import run_synthesize

        settings = made_of(SyntheticSettings, settings_in(self))
        return run_synthesize(self.folder, settings, self.seed, output)


@dataclass(frozen=True, kw_only=True)
class CheckRecordings:
    """Check recordings before a network is trained on them.

    Examples:
      trueup network check data/synthetic
      trueup network check data/real data.gyro_axis_for_ang_vel=Gyro_X data.repair=true
      trueup network check bench.yaml data.data_base_dir=bench --json

    Exit codes: 0 they can be trained on, 2 wrong input, unusable data included.
    """

    data: Annotated[Positional[Path | None], arg(metavar="FOLDER|FILE")] = None
    """Folder of the recordings, or YAML file with keys of data, such as data_base_dir, columns,
    inertia_groups and rate."""
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

    Exit codes: 0 done, 2 wrong input.
    """

    network: Annotated[Positional[Path], arg(metavar="RUN|FILE")]
    """Run directory of a training, or network file (.safetensors, .npz)."""
    data: Data = None
    report: Annotated[Path | None, arg(metavar="FILE")] = None
    """HTML file with the time series, scatter and bands."""
    inertia: Annotated[float | None, arg(metavar="KG_M2")] = None
    """Inertia of a single joint that the network drives, to compare its angle with the recorded one
    [kg m2]."""
    model_file: Annotated[Path | None, arg(metavar="FILE")] = None
    """MuJoCo model with the joint that the network drives, in place of a single joint."""
    joint: Annotated[str | None, arg(metavar="NAME")] = None
    """Joint of that model; by default its only one."""
    keys: Overrides = ()
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.network.evaluate import NamedJoint, run_evaluate
        from trueup.cli.network.trained_recordings import NamedRecordings

        named = NamedRecordings(self.network, self.data, self.keys, self.anyway)
        joint = NamedJoint(self.inertia, self.model_file, self.joint)
        return run_evaluate(named, joint, self.report, output)


@dataclass(frozen=True, kw_only=True)
class PredictTorque(OfRuns):
    """Write the torque that a network predicts for recordings, one CSV file each.

    Examples:
      trueup network predict outputs/arm --data data/new --output predictions

    Exit codes: 0 done, 2 wrong input.
    """

    network: Annotated[Positional[Path], arg(metavar="RUN|FILE")]
    """Run directory of a training, or network file (.safetensors, .npz)."""
    data: Data = None
    output: Annotated[Path, arg(aliases=["-o"], metavar="FOLDER")]
    """Folder for the files: time, features, torque, predicted torque, whether out of the range of
    training, and mean and spread of an ensemble."""
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
