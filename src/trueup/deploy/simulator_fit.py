"""Whether a network fits the form that a simulator takes; the error says what would."""

from dataclasses import replace

from trueup.errors import FitError, listing
from trueup.networks.model.feature_change import with_features
from trueup.networks.model.network import Network
from trueup.networks.runtime.deployment import Deployment


def fitted(
    deployment: Deployment,
    simulator: str,
    families: tuple[str, ...],
    features: tuple[str, ...],
) -> Deployment:
    """The network on the features of a simulator's form.

    Args:
        deployment: the network.
        simulator: name of the form, for messages.
        families: families that it takes.
        features: what it feeds, in order.

    Raises:
        FitError: the family is another, or the network depends on something else.
    """
    network = deployment.network
    train = (
        f"Train one that does: trueup network train model.model_type.name={families[0]} "
        f"'data.features=[{','.join(features)}]'"
    )
    if network.family not in families:
        raise FitError(
            f"{simulator} takes a network of the family {listing(families)}; this one is of the "
            f"family {network.family!r}. {train}"
        )
    try:
        network = with_features(network, features)
    except FitError as error:
        raise FitError(
            f"{simulator} feeds {listing(features)} and nothing else; {error}. {train}"
        ) from error
    result = replace(deployment, network=network)
    if result.inputs != features:
        more = [name for name in result.inputs if name not in features]
        raise FitError(
            f"{simulator} feeds {listing(features)}; the analytic base also reads {listing(more)}: "
            f"export without the base ({_option(network)}) and add its torque in the simulator, or "
            "train with a base without it"
        )
    return result


def without_base(deployment: Deployment, simulator: str) -> None:
    """Refuse a base inside a graph whose nodes the simulator prescribes.

    Raises:
        FitError: the network stands over a base that is to be inside.
    """
    if deployment.base and deployment.network.base is not None:
        raise FitError(
            f"{simulator} prescribes the nodes of the graph, and the analytic base has others: "
            f"export without the base ({_option(deployment.network)}) and add its torque in the "
            "simulator, or train without a base (trueup network train model.use_residual=false)"
        )


def _option(network: Network) -> str:
    """The option that leaves the base out, and the limit of its sum with the network."""
    return "--without base" if network.torque_limit is None else "--without base limits"
