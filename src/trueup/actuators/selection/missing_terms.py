"""Findings on effects beyond a friction model: the gain of each term on logs left out."""

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
    "max_velocity": "the speed stops at a plateau below what the voltage allows",
    "current_limit": "the torque stops growing with the duty cycle: the current is limited",
}
"""Effect on the motion by term, in words."""


def term_findings(choice: ModelChoice) -> list[str]:
    """One sentence for each term of the chosen model, and one for those that were not worth it."""
    found = []
    taken = set(choice.chosen.terms)
    for term in choice.chosen.terms:
        pair = pair_of(choice.tried, term, choice.chosen)
        if pair is None:
            continue
        without, beside = pair
        found.append(
            f"{symptom(term, choice.signs)}: {term} takes the error on logs left "
            f"out from {_milli(without)} ({without.label}) to {_milli(beside)} ({beside.label})"
        )
    rejected = []
    for term in dict.fromkeys(t for tried in choice.tried for t in tried.terms):
        if term not in taken and (pair := pair_of(choice.tried, term, choice.chosen)) is not None:
            without, beside = pair
            rejected.append(f"{term} ({_milli(without)} without it, {_milli(beside)} with it)")
    if rejected:
        found.append(f"not worth a parameter on logs left out: {', '.join(rejected)}")
    tried = {term for each in choice.tried for term in each.terms}
    small = dict.fromkeys(s.term for s in choice.screened if s.term not in tried)
    if small:
        found.append(f"the logs of the fit show little or nothing of {', '.join(small)}")
    return found


def symptom(term: str, signs: Mapping[str, str]) -> str:
    """Effect of a term in words, with its sign in the measurements where there is one."""
    words = SYMPTOMS.get(term, "a further effect acts")
    return f"{words} ({signs[term]})" if signs.get(term) else words


def pair_of(
    models: Sequence[TriedModel], term: str, near: TriedModel
) -> tuple[TriedModel, TriedModel] | None:
    """A model without a term and with it, as much like ``near`` as were tried."""
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
