"""Knowledge of a model and its gaps, carried into simulators that train policies.

:func:`export_randomisation` draws from the joint distribution that an identification leaves, checks
each draw by simulation, and writes it for mjlab, Isaac Lab or MuJoCo Playground. :func:`reconcile`
sets runs of one robot, or of a fleet, against each other. :func:`design` finds the motion that is
worth recording next.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.posterior.belief import Belief
    from trueup.posterior.draws import Draws, ModelField
    from trueup.posterior.excitation._design import design
    from trueup.posterior.excitation.comparison import compared_with
    from trueup.posterior.excitation.design_job import Design
    from trueup.posterior.identified import IdentifiedRun, identified_run
    from trueup.posterior.randomisation import Randomisation, export_randomisation
    from trueup.posterior.reconciled import ReconciledRuns, reconcile

_EXPORTS = {
    "Belief": "trueup.posterior.belief",
    "Design": "trueup.posterior.excitation.design_job",
    "Draws": "trueup.posterior.draws",
    "IdentifiedRun": "trueup.posterior.identified",
    "ModelField": "trueup.posterior.draws",
    "Randomisation": "trueup.posterior.randomisation",
    "ReconciledRuns": "trueup.posterior.reconciled",
    "compared_with": "trueup.posterior.excitation.comparison",
    "design": "trueup.posterior.excitation._design",
    "export_randomisation": "trueup.posterior.randomisation",
    "identified_run": "trueup.posterior.identified",
    "reconcile": "trueup.posterior.reconciled",
}

__all__ = [
    "Belief",
    "Design",
    "Draws",
    "IdentifiedRun",
    "ModelField",
    "Randomisation",
    "ReconciledRuns",
    "compared_with",
    "design",
    "export_randomisation",
    "identified_run",
    "reconcile",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
