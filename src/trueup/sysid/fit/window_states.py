"""Initial states of windows as parameters, perturbed in all windows by one simulation.

Multiple shooting with free initial states has as many parameters as windows times states. Each
affects only its own window, so the columns of the Jacobian are computed by perturbing one state of
every window in the same simulation (A. R. Curtis, M. J. D. Powell and J. K. Reid 1974).
"""

import numpy as np

from trueup.parameters import Parameter, ParameterDict


def window_label(sequence: str, index: int) -> str:
    """Name of a window of a sequence; the first one has the sequence's own name."""
    return sequence if index == 0 else f"{sequence}#{index}"


def label_of(param: Parameter) -> str:
    """Only window that a parameter affects, or '' for one that affects all."""
    labels = {t.partition("@")[2] if t.startswith("state/") else "" for t in param.targets}
    return labels.pop() if len(labels) == 1 and param.prior is None else ""


def element_labels(parameters: ParameterDict) -> np.ndarray:
    """Window of each free element ``(p,)``, '' for those that affect all."""
    tied_to = {p.tied_to for p in parameters.values() if p.tied_to}
    labels = [
        "" if p.name in tied_to else label_of(p) for p in parameters.free for _ in range(p.size)
    ]
    return np.array(labels, dtype=object)


def element_groups(parameters: ParameterDict) -> np.ndarray | None:
    """Group of each free element ``(p,)`` for joint perturbation; None: one group each."""
    labels = element_labels(parameters)
    if not any(labels):
        return None
    keys: dict[object, int] = {}
    groups = []
    position = 0
    for param in parameters.free:
        for k in range(param.size):
            place = tuple(t.partition("@")[0] for t in param.targets)
            key = (place, k) if labels[position] else position
            groups.append(keys.setdefault(key, len(keys)))
            position += 1
    return np.array(groups)


def is_nuisance(param: Parameter) -> bool:
    """Whether a parameter is an initial state that the experiment does not ask for.

    These are the states of windows after the first one, and those that the fit added by itself.
    """
    return param.of_fit or any("#" in target for target in param.targets)


def asked_elements(parameters: ParameterDict) -> np.ndarray:
    """Free elements that the experiment asks for ``(p,)`` bool."""
    return np.array([not is_nuisance(p) for p in parameters.free for _ in range(p.size)], bool)


def without_window_states(parameters: ParameterDict) -> tuple[ParameterDict, np.ndarray]:
    """Parameters that the experiment asks for, and the mask of their elements ``(p,)`` bool."""
    kept = ParameterDict()
    for param in parameters.values():
        if not is_nuisance(param):
            kept.add(param)
    return kept, asked_elements(parameters)
