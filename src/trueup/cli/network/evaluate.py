"""``trueup network evaluate`` and ``trueup network predict``."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup._marks import KEY, marked
from trueup.cli.network.data import print_warnings
from trueup.cli.network.options import (
    named_ensemble,
    named_network,
)
from trueup.cli.network.trained_recordings import NamedRecordings, trained_on
from trueup.cli.output import Output
from trueup.cli.run_results import code_of
from trueup.errors import ExperimentError, RecordingError, listing
from trueup.networks import (
    ActuatorSeries,
    DataSettings,
    JointModel,
    Network,
    NetworkRuntime,
    NetworkScores,
    RollOut,
    predict_series,
    roll_out,
    roll_out_in_model,
    score,
)
from trueup.networks.data.check import read_checked
from trueup.networks.data.features import FEATURES
from trueup.networks.data.odd_torques import odd_torques
from trueup.networks.evaluation.baseline_networks import base_alone
from trueup.networks.evaluation.closed_loop import joint_of
from trueup.networks.evaluation.metrics import SETTLING
from trueup.networks.evaluation.network_verdict import evaluation_verdict
from trueup.networks.runtime.ensemble import NetworkEnsemble
from trueup.runs.store import atomic


@dataclass(frozen=True)
class NamedJoint:
    """Joint driven by the network, if not the one described by the settings."""

    inertia: float | None
    """Inertia of a single joint [kg m2]."""
    model_file: Path | None
    """MuJoCo model with the joint."""
    joint: str | None
    """Name of the joint in that model."""


def run_evaluate(
    named: NamedRecordings, joint: NamedJoint, report: Path | None, output: Output
) -> int:
    """Score a network on recordings; returns the exit code."""
    network = named_network(named.network, named.anyway)
    with marked(network.provenance.get(KEY)):
        return _evaluate(network, named, joint, report, output)


def _evaluate(
    network: Network,
    named: NamedRecordings,
    joint: NamedJoint,
    report: Path | None,
    output: Output,
) -> int:
    settings = named.settings_for(network)
    series, checked = read_checked(settings, refuse=False)
    found = print_warnings(checked, output)
    others = {} if network.base is None else {"base": base_alone(network.base, network.rate)}
    scores = score(network, series, others)
    rollouts = _rollouts(joint, network, series, settings)
    known = trained_on(network, series)
    _show(scores, rollouts, output)
    if known is not None:
        output.text(known.sentence)
    motions = {"closed_loop": [each.to_dict() for each in rollouts]} if rollouts else {}
    unseen = None if known is None else known.count == 0
    odd = {"contradictions": [one.to_dict() for one in odd_torques(series, network.inputs)]}
    verdict = evaluation_verdict({**scores.to_dict(), **motions, **odd}, unseen)
    output.text(*verdict.lines())
    result = {
        "network": str(named.network),
        "data": settings.data_base_dir,
        "start": "cold",
        "trained_on": None if known is None else known.to_dict(),
        "findings": found,
        "verdict": verdict.to_dict(),
        **scores.to_dict(),
        **motions,
        **odd,
    }
    ensemble = named_ensemble(named.network, named.anyway)
    if ensemble is not None:
        result["ensemble"] = _ensemble_scores(ensemble, series, output)
    if report is not None:
        from trueup.networks.evaluation.report import evaluation_report

        notes = [(f["severity"], f["sentence"]) for f in found]
        notes = [("serious" if severity == "refuse" else severity, s) for severity, s in notes]
        if known is not None:
            notes.append(("warning" if known.count else "info", known.sentence))
        page = evaluation_report(network, series, scores, rollouts, notes, verdict)
        result["report"] = str(page.save(report))
        output.text(f"Report: {result['report']}")
    output.result(result)
    return code_of(verdict)


def run_predict(named: NamedRecordings, folder: Path, output: Output) -> int:
    """Write the torque predicted by a network; returns the exit code."""
    network = named_network(named.network, named.anyway)
    series, checked = read_checked(named.settings_for(network), refuse=False)
    found = print_warnings(checked, output)
    ensemble = named_ensemble(named.network, named.anyway)
    with marked(network.provenance.get(KEY)):
        written = [_write(network, ensemble, each, folder, output) for each in series]
        output.text(f"{len(written)} files in {folder}")
        output.result(
            {
                "network": str(named.network),
                "folder": str(folder),
                "findings": found,
                "files": written,
            }
        )
    return 0


def _rollouts(
    named: NamedJoint, network: Network, series: list[ActuatorSeries], data: DataSettings
) -> list[RollOut]:
    """Roll-outs in the named model, or of the joint described by the inertia or the settings."""
    if named.model_file is not None:
        if named.inertia is not None:
            raise ExperimentError(
                "--inertia is for a single joint, --model-file for a joint in a model: remove one "
                "of them"
            )
        return roll_out_in_model(network, series, named.model_file, _joint(named))
    if named.joint is not None:
        raise ExperimentError(f"--joint {named.joint} requires a model: give --model-file too")
    if named.inertia is not None:
        return [roll_out(network, each, JointModel(named.inertia)) for each in series]
    joints = [(each, joint_of(each, data)) for each in series]
    if any(joint is None for _, joint in joints):
        return []
    return [roll_out(network, each, joint) for each, joint in joints if joint is not None]


def _joint(named: NamedJoint) -> str:
    """Name of the joint in the model: the given one, or the only one."""
    if named.joint is not None:
        return named.joint
    from trueup.networks.runtime.control_law import read_spec

    names = [joint.name for joint in read_spec(named.model_file).joints if joint.name]
    if len(names) != 1:
        raise ExperimentError(
            f"--model-file {named.model_file} has the joints {listing(names)}: select one with "
            "--joint"
        )
    return names[0]


def _show(scores: NetworkScores, rollouts: list[RollOut], output: Output) -> None:
    others = list(dict.fromkeys(name for each in scores.series for name in each.others))
    columns = ["recording", "samples", "RMSE N m", "MAE N m", "R2", "settled RMSE", "out of range"]
    rows = [
        [
            each.name,
            str(each.scores.samples),
            f"{each.scores.rmse:.4g}",
            f"{each.scores.mae:.4g}",
            f"{each.scores.r2:.4f}",
            f"{each.settled.rmse:.4g}",
            "" if np.isnan(each.out_of_range) else f"{100 * each.out_of_range:.1f} %",
            *(_rmse_of(each.others, name) for name in others),
        ]
        for each in scores.series
    ]
    total = scores.total
    sums = [str(total.samples), f"{total.rmse:.4g}", f"{total.mae:.4g}", f"{total.r2:.4f}"]
    sums += [f"{scores.settled.rmse:.4g}", ""]
    rows.append(["all", *sums, *(_rmse_of(scores.others, name) for name in others)])
    output.table([*columns, *(f"{name} RMSE" for name in others)], rows)
    output.text(
        "Each recording is evaluated whole, from a cold start, as when deployed; settled excludes "
        f"the first {SETTLING:g} s."
    )
    for each in rollouts:
        end = ", and the simulation diverges" if each.diverged else ""
        output.text(f"{each.name}: RMS angle error in closed loop {each.scores.rmse:.4g} rad{end}")


def _ensemble_scores(
    ensemble: NetworkEnsemble, series: list[ActuatorSeries], output: Output
) -> dict[str, Any]:
    """Scores of the mean of the ensemble, and the spread of its members."""
    torque = [ensemble.predict(each.features(ensemble.inputs)) for each in series]
    scores = score([each.mean for each in torque], series)
    spread = float(np.sqrt(np.mean(np.concatenate([each.spread for each in torque]) ** 2)))
    outside = float(np.mean(np.concatenate([each.out_of_range for each in torque])))
    output.text(
        f"Mean of the ensemble of {len(ensemble.networks)} networks: RMSE {scores.total.rmse:.4g} "
        f"N m, settled {scores.settled.rmse:.4g} N m; RMS spread of the members {spread:.3g} N m"
    )
    return {**scores.to_dict(), "spread_rms": spread, "out_of_range": outside}


def _rmse_of(scores: Any, name: str) -> str:
    return f"{scores[name].rmse:.4g}" if name in scores else ""


def _write(
    network: Network,
    ensemble: NetworkEnsemble | None,
    series: ActuatorSeries,
    folder: Path,
    output: Output,
) -> dict[str, Any]:
    predicted = predict_series(network, series)
    path = folder / f"{series.name.replace('/', '_')}.csv"
    if path.exists():
        raise RecordingError(f"{path} exists: give another folder with --output")
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {
        "time [s]": series.start + series.times,
        **{f"{name} [{FEATURES[name].unit}]": series.channels[name] for name in network.inputs},
        "torque [N m]": series.torque,
        "torque_predicted [N m]": predicted,
        "out_of_range": NetworkRuntime(network).out_of_range(series.features(network.inputs)),
    }
    if ensemble is not None:
        torque = ensemble.predict(series.features(ensemble.inputs))
        columns["ensemble_mean [N m]"] = torque.mean
        columns["ensemble_spread [N m]"] = torque.spread
    header = ",".join(columns)
    table = np.stack(list(columns.values()), 1)
    text = io.StringIO()
    np.savetxt(text, table, "%.9g", delimiter=",", header=header, comments="")
    atomic.write_text(path, text.getvalue())
    output.text(f"{path}: {len(series)} samples")
    return {"name": series.name, "path": str(path), "samples": len(series)}
