"""Unknowns of an experiment in addition to those of its joints, whose effect recordings show."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from trueup.errors import TrueupError, listing
from trueup.signals import Recording
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import Prepared, prepare
from trueup.sysid.importing.proposed_parameters import (
    FurtherUnknowns,
    ProposedLink,
    ProposedParameter,
    rounded,
)
from trueup.sysid.importing.unknowns_of_servos import unknowns_of_servos
from trueup.sysid.torque.data import TorqueData
from trueup.sysid.torque.linear_fit import torque_of
from trueup.sysid.torque.link_evidence import PRIOR, LinkEvidence, link_evidence
from trueup.sysid.torque.setup import training_torques


class HasText(Protocol):
    """A proposed experiment."""

    @property
    def text(self) -> str:
        """The experiment file."""
        ...


P = TypeVar("P", bound=HasText)

_LARGEST = 1e10  # of MuJoCo (mjMAXVAL): larger numbers are no torques


def with_further_unknowns(
    proposal: Callable[[FurtherUnknowns], P], folder: Path, opened: Mapping[Path, Recording]
) -> P:
    """The proposal with the unknowns that a simulation or the recorded torques show.

    Args:
      proposal: returns the proposal with further unknowns.
      folder: folder of the experiment file.
      opened: recordings that were already read, by their resolved paths.
    """
    plain = proposal(FurtherUnknowns())
    try:
        prepared = prepare(parse_experiment(plain.text), folder, opened)
        by_torques = prepared.experiment.search.by_torques
        extra = (unknowns_of_torques if by_torques else unknowns_of_servos)(prepared)
    except (TrueupError, np.linalg.LinAlgError):
        return plain  # the check of the file says why it cannot be simulated
    return proposal(extra) if extra.parameters else plain


def unknowns_of_torques(prepared: Prepared) -> FurtherUnknowns:
    """Constant torques and links that recorded torques show to differ from the model.

    Args:
      prepared: the experiment with armature, damping and friction as unknowns.
    """
    targets = [target for p in prepared.parameters.values() for target in p.targets]
    if any(target.startswith("actuator/") for target in targets):
        return FurtherUnknowns()  # with unknown torque constants, links have no scale
    recorded = (t for group in prepared.training for t in group.measured_rollout)
    if not all(np.abs(t.control.data).max(initial=0.0) < _LARGEST for t in recorded):
        return FurtherUnknowns()  # the check of the file says what these numbers are
    data = training_torques(prepared)
    model = data[0].model
    names = {target.split("/")[1] for target in targets if target.startswith("joint/")}
    free = [d for d in range(model.nv) if model.joint(int(model.dof_jntid[d])).name in names]
    found = link_evidence(data, free)
    kinds = [(body, "density") for body in found.masses] + [(b, "pseudo") for b in found.links]
    links = [
        ProposedLink(
            f"{model.body(body).name.replace('/', '_')}_{'mass' if kind == 'density' else 'link'}",
            model.body(body).name,
            kind,
            PRIOR,
        )
        for body, kind in kinds
    ]
    return FurtherUnknowns([*_offsets(data, found), *links], notes=_notes(data[0], found))


def _offsets(data: list[TorqueData], found: LinkEvidence) -> list[ProposedParameter]:
    """Constant torques of drives, within the largest recorded torque of their joint."""
    out = []
    model, sources = data[0].model, data[0].sources
    torques = np.concatenate([np.abs(torque_of(part)) for part in data]).max(axis=0)
    for dof in found.offsets:
        drives = sources.actuators.get(dof, ())
        if len(drives) != 1 or dof in sources.sensor_columns:
            continue
        name = model.actuator(drives[0]).name
        limit = rounded(float(torques[sources.dofs.index(dof)]))
        plain = f"{model.joint(int(model.dof_jntid[dof])).name.replace('/', '_')}_offset"
        out.append(
            ProposedParameter(plain, f"actuator/{name}/biasprm/0", 0.0, -limit, limit, False, "N m")
        )
    return out


def _notes(part: TorqueData, found: LinkEvidence) -> list[str]:
    """Sentences on what torques show."""
    model = part.model
    bodies = {
        what: listing(model.body(body).name for body in which)
        for what, which in (
            ("masses", found.masses),
            ("links", found.links),
            ("alike", found.alike),
        )
    }
    gain = (
        f"the torque error on the last part of the recordings falls to "
        f"{100 * found.after / max(found.before, 1e-300):.2g} %"
    )
    out = []
    if found.offsets:
        out.append("the torques of joints have constant parts, which are unknowns (offset)")
    if found.masses:
        also = (
            f". The mass of {bodies['alike']} explains the torques as well: state which of them "
            "is known"
            if found.alike
            else ""
        )
        out.append(
            f"torques show another mass than the model's of {bodies['masses']}, an unknown with a "
            f"prior of {100 * PRIOR:g} %: {gain}{also}"
        )
    if found.links:
        out.append(
            f"torques show other masses, centres and moments than the model's of {bodies['links']},"
            f" unknowns with priors of {100 * PRIOR:g} %: {gain}"
        )
    return out
