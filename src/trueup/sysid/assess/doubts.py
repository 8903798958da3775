"""Reasons against an identification although its search converged; each affects its grade."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueup.fitting import Grade, Reason
from trueup.fitting.judgement.paired_errors import CHANCE, block_sums, is_clearly_worse
from trueup.signals import QualityReport
from trueup.sysid.assess.assessment import SequenceSignals
from trueup.sysid.assess.horizons import HorizonError, beaten_sentences
from trueup.sysid.causes.missing_terms import MissingTerm

_SMALL = 0.1  # errors below this share of the spread of a channel over all recordings are ignored
_SHOWN = 3
_CLEAR = 1.5  # minimum value above zero in half-widths: three standard errors


def cause_reasons(causes: Sequence[Mapping[str, Any]]) -> list[Reason]:
    """Reasons to inspect a fit that explain others: its causes, the one to act on first.

    Args:
      causes: from :func:`ranked_causes`.
    """
    return [Reason(Grade.LOOK, cause["sentence"], "parameters") for cause in causes]


def ranked_causes(
    missing: Sequence[MissingTerm],
    quality: Mapping[str, QualityReport],
    torque: Mapping[str, Any] | None = None,
    by_torques: bool = False,
) -> list[dict[str, Any]]:
    """Causes of the error of a fit: faults of the recordings, then others by what they explain.

    Args:
      missing: causes that fits confirm.
      quality: checks of the recordings, by name.
      torque: ``torque`` of a summary, with the causes of torque errors; None without torques.
      by_torques: whether the fit is one to torques, so that those causes are its own.
    """
    faults = [
        {"cause": finding.cause, "share": None, "sentence": f"{name}: {finding.sentence}"}
        for name, report in quality.items()
        for finding in report.findings
        if finding.cause
    ]
    terms = [term.to_dict() for term in sorted(missing, key=_unexplained)]
    of_torques = list((torque or {}).get("causes", ()))
    first, second = (of_torques, terms) if by_torques else (terms, of_torques)
    kinds = {cause["kind"] for cause in first}
    return [*faults, *first, *(cause for cause in second if cause["kind"] not in kinds)]


def _unexplained(term: MissingTerm) -> float:
    return -term.share if np.isfinite(term.share) else -term.gain


def doubts(
    signals: Sequence[SequenceSignals],
    horizons: Sequence[HorizonError] = (),
    torque: dict[str, Any] | None = None,
) -> list[Reason]:
    """Reasons to inspect a fit, most important first.

    Torques that plain least squares or other values of the same
    parameters fit significantly better, horizons at which a prediction without a model is
    significantly better, and recordings of the fit with a better constant prediction.

    Args:
      signals: signals of the training recordings.
      horizons: errors by horizon.
      torque: ``torque`` of a summary; None without recorded torque.
    """
    found: list[tuple[str, str]] = []
    if torque is not None:
        found += [(f"{s[:1].upper()}{s[1:]}.", "inverse-dynamics") for s in torque["doubts"]]
    found += [(s, "horizons") for s in beaten_sentences(horizons)]
    found += [(s, "scores") for s in _negative_fits(signals)]
    return [Reason(Grade.LOOK, sentence, section) for sentence, section in found]


def evidence_at_limits(
    names: Sequence[str],
    targets: Mapping[str, str],
    missing: Sequence[MissingTerm] = (),
    torque: dict[str, Any] | None = None,
) -> dict[str, str]:
    """Results of other fits for parameters that ended at zero: a clause if they differ from zero.

    Args:
      names: the parameters.
      targets: target of each in the model, by name.
      missing: fits with a missing term.
      torque: ``torque`` of a summary.
    """
    out: dict[str, str] = {}
    rows = {} if torque is None else {r["name"]: r for r in torque["parameters"]}
    plain = {} if torque is None else {p["words"]: p for p in torque["base_parameters"]}
    for name in names:
        kind, _, rest = targets.get(name, "").partition("/")
        words = " ".join(rest.rsplit("/", 1)) if kind == "joint" else ""
        candidates = [
            (f"the fit with {term.label} estimates", *term.values[name])
            for term in reversed(missing)  # the last includes all previous terms
            if name in term.values
        ]
        if name in rows:
            row = rows[name]
            candidates.append(("torques give", row["torque"], row["torque_half_width"]))
        if words in plain:
            base = plain[words]
            candidates.append(("plain least squares estimates", base["value"], base["half_width"]))
        for finder, value, width in candidates:
            if np.isfinite(width) and value > _CLEAR * width:
                out[name] = f"{finder} {value:.3g} +- {width:.2g}"
                break
    return out


def _negative_fits(signals: Sequence[SequenceSignals]) -> list[str]:
    """Sentences on recordings of the fit with a mean that is better than the fitted model."""
    training = [s for s in signals if not s.held_out]
    series: dict[str, list[np.ndarray]] = {}
    for s in training:
        for c, channel in enumerate(s.channels):
            series.setdefault(channel, []).append(s.measured[:, c])
    spread = {channel: float(np.std(np.concatenate(parts))) for channel, parts in series.items()}
    chance = CHANCE / max(sum(len(s.channels) for s in training), 1)
    out = []
    for s in training:
        off = np.square(s.measured - s.fitted)
        constant = np.square(s.measured - s.measured.mean(axis=0))
        for c, channel in enumerate(s.channels):
            own, other = block_sums(off[:, c]), block_sums(constant[:, c])
            floor = len(off) / len(own) * (_SMALL * spread[channel]) ** 2
            if is_clearly_worse(own, other + floor, chance):
                error, held = (float(np.sqrt(v.sum() / len(off))) for v in (own, other))
                unit = f" {s.units[c]}" if s.units and s.units[c] else ""
                out.append(
                    f"{channel} of {s.name} {error:.3g}{unit} compared with {held:.3g}{unit}"
                )
    if not out:
        return []
    more = f"; and {len(out) - _SHOWN} more" if len(out) > _SHOWN else ""
    return [
        "The fitted model is worse than the mean of a recording of the fit: "
        f"{'; '.join(out[:_SHOWN])}{more}."
    ]
