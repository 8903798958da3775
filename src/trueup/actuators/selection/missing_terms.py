"""Findings on effects beyond a friction model: the improvement by each term in cross-validation."""

from collections.abc import Mapping, Sequence

from trueup.actuators.selection.model_choice import ModelChoice, TriedModel

SYMPTOMS = {
    "command_delay": "the motion lags behind its command",
    "backlash": "there is a dead zone at reversals",
    "winding_braking": "the servo brakes while its torque is off",
    "measured_voltage": "the torque follows the measured bus voltage",
    "supply_resistance": "the bus voltage sags with the load",
    "resistance_temperature": "the servo weakens as it warms up",
    "torque_saturation": "the torque per ampere falls as the current rises",
    "max_velocity": "the speed saturates below the limit of the voltage",
    "current_limit": "the torque saturates over the duty cycle: the current is limited",
    "error_gain_ratio": "another gain of the firmware than that of the entry fits better",
}
"""Effect on the motion by term."""


def term_findings(choice: ModelChoice) -> list[str]:
    """One sentence for each term of the selected model, and one for the rejected terms."""
    found = []
    taken = set(choice.chosen.terms)
    for term in choice.chosen.terms:
        pair = pair_of(choice.tried, term, choice.chosen)
        if pair is None:
            continue
        without, with_term = pair
        found.append(
            f"{symptom(term, choice.signs)}: {term} changes the cross-validation "
            f"error from {_milli(without)} ({without.label}) to {_milli(with_term)} "
            f"({with_term.label})"
        )
    rejected = []
    for term in dict.fromkeys(t for tried in choice.tried for t in tried.terms):
        if term not in taken and (pair := pair_of(choice.tried, term, choice.chosen)) is not None:
            without, with_term = pair
            rejected.append(f"{term} ({_milli(without)} without it, {_milli(with_term)} with it)")
    if rejected:
        found.append(f"no improvement in cross-validation: {', '.join(rejected)}")
    tried = {term for each in choice.tried for term in each.terms}
    small = dict.fromkeys(s.term for s in choice.screened if s.term not in tried)
    if small:
        found.append(f"the training logs show little or no effect of {', '.join(small)}")
    if choice.passed_over:
        listed = ", ".join(
            f"{each.label} ({1e3 * each.training:.1f} mrad)" for each in choice.passed_over
        )
        found.append(
            "not cross-validated, because their error on the training logs cannot be that of the "
            f"selected model: {listed}"
        )
    return found


def symptom(term: str, signs: Mapping[str, str]) -> str:
    """Effect of a term, with the evidence in the measurements if there is any."""
    words = SYMPTOMS.get(term, "there is an additional effect")
    return f"{words} ({signs[term]})" if signs.get(term) else words


def pair_of(
    models: Sequence[TriedModel], term: str, near: TriedModel
) -> tuple[TriedModel, TriedModel] | None:
    """Evaluated models without and with a term, as similar to ``near`` as possible."""
    by_set = {(t.model, frozenset(t.terms)): t for t in models}
    pairs = []
    for (model, terms), tried in by_set.items():
        without = by_set.get((model, terms - {term}))
        if term in terms and without is not None:
            unlike = (model != near.model) + len(terms ^ frozenset(near.terms))
            pairs.append((unlike, without, tried))
    if not pairs:
        return None
    _, without, tried = min(pairs, key=lambda entry: entry[0])
    return without, tried


def _milli(tried: TriedModel) -> str:
    return f"{1e3 * tried.error:.1f} mrad"
