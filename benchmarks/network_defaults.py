"""Default trainings beside a constant, a linear model and the base, on files left out.

    python benchmarks/network_defaults.py hej90 FOLDER --data DATA [--file PMS54] [--time 10min]
    python benchmarks/network_defaults.py synthetic FOLDER [--time 10min]
    python benchmarks/network_defaults.py shuffled FOLDER --data DATA [--time 2min]

``hej90``: DATA/hej90_bench without current and without the controller's estimate; each file left
out in turn, or one. Bar: better than constant and linear on five of six, and never worse than the
best of them by more than 5 %. ``synthetic``: within 5 % of the noise floor on whole files, and R2
of 0.98 on each of three inertias left out. ``shuffled``: the torque of a file in random order;
bar: do not use. What FOLDER holds already is not trained again.
"""

import argparse
import csv
import json
from pathlib import Path

import numpy as np

from trueup.networks import SyntheticSettings, synthesize, train

COLUMNS = {
    "current_angle_rad": "posAct",
    "current_ang_vel_rad_s": "velAct",
    "target_angle_rad": "posDes",
    "target_ang_vel_rad_s": "velDes",
    "commanded_torque_nm": "torDes",
    "torque": "torAct",
}
FEATURES = "angle_error_rad,current_ang_vel_rad_s,target_ang_vel_rad_s,commanded_torque_nm"


def bench_words(data: Path) -> list[str]:
    """Settings that read the recordings of the bench."""
    columns = [f"data.columns.{name}={column}" for name, column in COLUMNS.items()]
    clock = ["data.time=t", "data.rate=1000", "data.repair=true"]
    return [f"data.data_base_dir={data}", *clock, f"data.features=[{FEATURES}]", *columns]


def run(words: list[str], folder: Path) -> dict:
    """Metrics of a training, from its folder where it is finished."""
    if not (folder / "report.html").is_file():
        train(words, folder, overwrite=True)
    return json.loads((folder / "metrics.json").read_text())


def hej90(data: Path, folder: Path, only: str | None, time: str) -> None:
    """Each file left out in turn."""
    names = [path.stem for path in sorted((data / "hej90_bench").glob("*.csv"))]
    for name in names:
        if only is not None and not name.startswith(only):
            continue
        words = [*bench_words(data / "hej90_bench"), f"data.test=['{name}']", f"train.time={time}"]
        metrics = run(words, folder / name)
        own = metrics["rmse"]
        others = {n: metrics["others"][n]["rmse"] for n in ("mean", "linear")}
        best = min(others.values())
        print(
            f"{name:26s} {own:7.2f} N m, constant {others['mean']:7.2f}, linear "
            f"{others['linear']:7.2f}: {own / best:.3f} of the better one; "
            f"{metrics['choice']['taken']}, {metrics['verdict']['grade']}",
            flush=True,
        )


def synthetic(folder: Path, time: str) -> None:
    """Noise floor, and inertias left out."""
    settings = SyntheticSettings(repeats=10)
    floor = synthesize(settings, folder / "one", seed=0).noise_floors["0.083kgm2"]
    words = [f"data.data_base_dir={folder / 'one'}", f"train.time={time}"]
    metrics = run(words, folder / "one_run")
    settled = metrics["settled"]["rmse"]
    print(
        f"noise floor {floor:.4f} N m; whole files {metrics['rmse']:.4f} "
        f"({metrics['rmse'] / floor:.3f}), settled {settled:.4f} ({settled / floor:.3f}); "
        f"{metrics['choice']['taken']}",
        flush=True,
    )
    settings = SyntheticSettings(
        inertias=(0.05, 0.083, 0.125), signals=("multisine", "chirp"), repeats=2
    )
    synthesize(settings, folder / "three", seed=2)
    words = [f"data.data_base_dir={folder / 'three'}", f"train.time={time}"]
    words += ["data.target_name=Motor_Torque", "evaluation_mode=lomo_cv"]
    for name, fold in run(words, folder / "three_run")["folds"].items():
        print(f"{name}: R2 {fold['r2']:.4f}, settled {fold['settled']['r2']:.4f}")


def shuffled(data: Path, folder: Path, time: str) -> None:
    """A torque that belongs to nothing."""
    source = sorted((data / "hej90_bench").glob("PMS42*.csv"))[0]
    with source.open() as file:
        rows = list(csv.DictReader(file))
    order = np.random.default_rng(0).permutation(len(rows))
    folder.joinpath("data").mkdir(parents=True, exist_ok=True)
    with (folder / "data" / "shuffled.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(
            {**row, "torAct": rows[other]["torAct"]} for row, other in zip(rows, order, strict=True)
        )
    words = [*bench_words(folder / "data"), f"train.time={time}"]
    metrics = run(words, folder / "run")
    print(f"shuffled torque: {metrics['verdict']['grade']} (bar: do not use)")


def main() -> None:
    """Run one of the three."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("what", choices=("hej90", "synthetic", "shuffled"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--file", default=None, help="beginning of the name of the file left out")
    parser.add_argument("--time", default="10min")
    arguments = parser.parse_args()
    folder = arguments.folder / arguments.what
    if arguments.what == "hej90":
        hej90(arguments.data, folder, arguments.file, arguments.time)
    elif arguments.what == "synthetic":
        synthetic(folder, arguments.time)
    else:
        shuffled(arguments.data, folder, arguments.time)


if __name__ == "__main__":
    main()
