"""Check that a simulator supports a network, with advice in the error."""

from dataclasses import replace

from trueup.errors import FitError, listing
from trueup.networks.model.feature_change import with_features
from trueup.networks.model.network import Network
from trueup.networks.runtime.deployment import Deployment


class FamilyError(FitError):
    """A form does not support the family of a network."""


def fitted(
    deployment: Deployment,
    simulator: str,
    families: tuple[str, ...],
    features: tuple[str, ...],
) -> Deployment:
    """Network on the features of a simulator's form.

    Args:
        deployment: the network.
        simulator: name of the form, for messages.
        families: supported families.
        features: features that it supplies, in order.

    Raises:
        FamilyError: the family is not supported.
        FitError: the network requires other features.
    """
    network = deployment.network
    train = (
        f"Train one that does: trueup network train model.model_type.name={families[0]} "
        f"'data.features=[{','.join(features)}]'"
    )
    if network.family not in families:
        raise FamilyError(
            f"{simulator} supports networks of the family {listing(families)}; this one is of the "
            f"family {network.family!r}. {train}"
        )
    try:
        network = with_features(network, features)
    except FitError as error:
        raise FitError(
            f"{simulator} supplies only {listing(features)}; {error}. {train}"
        ) from error
    result = replace(deployment, network=network)
    if result.inputs != features:
        more = [name for name in result.inputs if name not in features]
        raise FitError(
            f"{simulator} supplies {listing(features)}; the analytic base also requires "
            f"{listing(more)}: export without the base ({_option(network)}) and add its torque in "
            "the simulator, or train with a base without it"
        )
    return result


def without_base(deployment: Deployment, simulator: str) -> None:
    """Reject a base inside a graph with nodes fixed by the simulator.

    Raises:
        FitError: the graph would contain a base.
    """
    if deployment.base and deployment.network.base is not None:
        raise FitError(
            f"{simulator} supports a fixed set of nodes, but the analytic base requires others: "
            f"export without the base ({_option(deployment.network)}) and add its torque in the "
            "simulator, or train without a base (trueup network train model.use_residual=false)"
        )


def _option(network: Network) -> str:
    """Option that excludes the base, and the limit of its sum with the network."""
    return "--without base" if network.torque_limit is None else "--without base limits"
