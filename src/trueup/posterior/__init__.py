"""Knowledge of a model and its gaps, carried into simulators that train policies.

:func:`export_randomisation` draws from the joint distribution that an identification leaves, checks
each draw by simulation, and writes it for mjlab, Isaac Lab or MuJoCo Playground. :func:`reconcile`
sets runs of one robot, or of a fleet, against each other, and :func:`fit_jointly` fits those that
agree together. :func:`explain` attributes the gap between simulated and recorded motion to causes,
and :func:`design` and :func:`design_bench` find what is worth recording next.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.posterior.belief import Belief
    from trueup.posterior.draws import Draws, ModelField
    from trueup.posterior.excitation._design import design
    from trueup.posterior.excitation._design_bench import design_bench
    from trueup.posterior.excitation.bench_choices import BenchChoices
    from trueup.posterior.excitation.bench_job import BenchDesign
    from trueup.posterior.excitation.bench_limits import BenchLimits
    from trueup.posterior.excitation.comparison import compared_with
    from trueup.posterior.excitation.design_job import Design
    from trueup.posterior.gap._explain import explain
    from trueup.posterior.gap.causes import CAUSES, Cause, Unknown
    from trueup.posterior.gap.explanation import Explanation
    from trueup.posterior.gap.situation import Situation
    from trueup.posterior.identified import IdentifiedRun, identified_run
    from trueup.posterior.joint_fit import fit_jointly, joint_experiment
    from trueup.posterior.randomisation import Randomisation, export_randomisation
    from trueup.posterior.reconciled import ReconciledRuns, reconcile

_EXPORTS = {
    "Belief": "trueup.posterior.belief",
    "BenchChoices": "trueup.posterior.excitation.bench_choices",
    "BenchDesign": "trueup.posterior.excitation.bench_job",
    "BenchLimits": "trueup.posterior.excitation.bench_limits",
    "CAUSES": "trueup.posterior.gap.causes",
    "Cause": "trueup.posterior.gap.causes",
    "Design": "trueup.posterior.excitation.design_job",
    "Draws": "trueup.posterior.draws",
    "Explanation": "trueup.posterior.gap.explanation",
    "IdentifiedRun": "trueup.posterior.identified",
    "ModelField": "trueup.posterior.draws",
    "Randomisation": "trueup.posterior.randomisation",
    "ReconciledRuns": "trueup.posterior.reconciled",
    "Situation": "trueup.posterior.gap.situation",
    "Unknown": "trueup.posterior.gap.causes",
    "compared_with": "trueup.posterior.excitation.comparison",
    "design": "trueup.posterior.excitation._design",
    "design_bench": "trueup.posterior.excitation._design_bench",
    "explain": "trueup.posterior.gap._explain",
    "export_randomisation": "trueup.posterior.randomisation",
    "fit_jointly": "trueup.posterior.joint_fit",
    "identified_run": "trueup.posterior.identified",
    "joint_experiment": "trueup.posterior.joint_fit",
    "reconcile": "trueup.posterior.reconciled",
}

__all__ = [
    "CAUSES",
    "Belief",
    "BenchChoices",
    "BenchDesign",
    "BenchLimits",
    "Cause",
    "Design",
    "Draws",
    "Explanation",
    "IdentifiedRun",
    "ModelField",
    "Randomisation",
    "ReconciledRuns",
    "Situation",
    "Unknown",
    "compared_with",
    "design",
    "design_bench",
    "explain",
    "export_randomisation",
    "fit_jointly",
    "identified_run",
    "joint_experiment",
    "reconcile",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
