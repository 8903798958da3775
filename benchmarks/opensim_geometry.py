"""Lengths, places and forces of a model beside those that OpenSim gives.

    OTHER/bin/python benchmarks/opensim_geometry.py record MODEL.osim values.json
    python benchmarks/opensim_geometry.py compare MODEL.osim values.json

``record`` runs where the package ``opensim`` is installed, and needs nothing of trueup: it writes
lengths of muscles and places of bodies over the range of each coordinate and over 30 poses in which
all are drawn, and forces at rest in the default pose. ``compare`` evaluates the same as ``trueup
gait import`` does, and prints the largest differences.
"""

import argparse
import json
from pathlib import Path

import numpy as np

ACTIVATIONS = (1.0, 0.5, 0.05)
SWEEP, DRAWN = 16, 30


def record(file: Path, target: Path) -> None:
    """Write what OpenSim gives."""
    import opensim

    opensim.Logger.setLevelString("error")
    model = opensim.Model(str(file))
    state = model.initSystem()
    every = [model.getCoordinateSet().get(i) for i in range(model.getCoordinateSet().getSize())]
    free = [one for one in every if not (one.getLocked(state) or one.isDependent(state))]
    muscles = [model.getMuscles().get(i) for i in range(model.getMuscles().getSize())]
    bodies = [model.getBodySet().get(i) for i in range(model.getBodySet().getSize())]
    rest = {one.getName(): one.getDefaultValue() for one in free}
    poses = [
        {**rest, one.getName(): float(value)}
        for one in free
        for value in np.linspace(one.getRangeMin(), one.getRangeMax(), SWEEP)
    ]
    random = np.random.default_rng(0)
    poses += [
        {one.getName(): random.uniform(one.getRangeMin(), one.getRangeMax()) for one in free}
        for _ in range(DRAWN)
    ]

    def take(pose: dict[str, float]) -> None:
        for one in free:
            one.setValue(state, pose[one.getName()], False)
        model.assemble(state)
        model.realizePosition(state)

    found = []
    for pose in poses:
        take(pose)
        places = {one.getName(): one.getPositionInGround(state) for one in bodies}
        found.append(
            {
                "pose": pose,
                "lengths": {one.getName(): one.getLength(state) for one in muscles},
                "places": {name: [place[k] for k in range(3)] for name, place in places.items()},
            }
        )
    forces: dict[str, list[float]] = {one.getName(): [] for one in muscles}
    take(rest)
    for activation in ACTIVATIONS:
        for one in muscles:
            one.setActivation(state, activation)
        model.equilibrateMuscles(state)
        model.realizeDynamics(state)
        for one in muscles:
            forces[one.getName()].append(one.getTendonForce(state))
    target.write_text(json.dumps({"poses": found, "rest": rest, "forces": forces}))


def compare(file: Path, recorded: Path) -> None:
    """Print the largest differences."""
    from trueup.gait.opensim.file import read_osim
    from trueup.gait.opensim.kinematics import all_values, body_poses
    from trueup.gait.opensim.muscle_curves import muscle_force
    from trueup.gait.opensim.paths import route

    model, values = read_osim(file), json.loads(recorded.read_text())
    poses = values["poses"]
    at = {name: np.array([one["pose"][name] for one in poses]) for name in poses[0]["pose"]}
    places = body_poses(model, all_values(model, at))
    worst = max(
        float(np.abs(places[name][:, :3, 3] - [one["places"][name] for one in poses]).max())
        for name in model.bodies
    )
    print(f"places of bodies within {1e3 * worst:.2g} mm")
    rest = {name: np.array([value]) for name, value in values["rest"].items()}
    for muscle in model.muscles:
        wanted = np.array([one["lengths"][muscle.name] for one in poses])
        errors = 1e3 * np.abs(route(model, muscle, at).length - wanted)
        length = route(model, muscle, rest).length
        numbers = {
            "fiber": muscle.fiber,
            "tendon": muscle.tendon,
            "pennation": muscle.pennation,
            "rigid": muscle.rigid,
        }
        forces = [
            muscle_force(muscle.curves, length, activation, **numbers)[0]
            for activation in ACTIVATIONS
        ]
        differences = np.array(values["forces"][muscle.name]) / muscle.force - forces
        print(
            f"{muscle.name}: length within {errors.max():.2g} mm, median {np.median(errors):.2g} "
            f"mm; force at rest within {100 * np.abs(differences).max():.2g} % of the strength"
        )


def main() -> None:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("values", type=Path)
    given = parser.parse_args()
    {"record": record, "compare": compare}[given.what](given.file, given.values)


if __name__ == "__main__":
    main()
