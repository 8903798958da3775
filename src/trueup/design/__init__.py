"""Design of the next recording: the motion that determines the unknowns best.

:func:`design` computes it for a robot under its controller and limits, :func:`design_bench` for a
servo on its bench; :func:`compared_with` compares the predicted intervals with those of the
recording.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.design._design import design
    from trueup.design.bench._design_bench import design_bench
    from trueup.design.bench.choices import BenchChoices
    from trueup.design.bench.limits import BenchLimits
    from trueup.design.comparison import compared_with
    from trueup.design.run import Design

_EXPORTS = {
    "BenchChoices": "trueup.design.bench.choices",
    "BenchLimits": "trueup.design.bench.limits",
    "Design": "trueup.design.run",
    "compared_with": "trueup.design.comparison",
    "design": "trueup.design._design",
    "design_bench": "trueup.design.bench._design_bench",
}

__all__ = [
    "BenchChoices",
    "BenchLimits",
    "Design",
    "compared_with",
    "design",
    "design_bench",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
