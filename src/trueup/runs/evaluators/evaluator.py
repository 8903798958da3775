"""The protocol of an evaluator."""

from contextlib import AbstractContextManager
from typing import Any, Protocol


class Evaluator(Protocol):
    """Evaluates the candidates of a study.

    A candidate's answer must not depend on where it is computed, nor on its neighbours, so that the
    history of a study is the same with every evaluator.
    """

    def over(self, problem: Any) -> AbstractContextManager[Any]:
        """A problem with the answers of ``problem``, computed by this evaluator.

        Leaving the context releases the workers. While in it, an evaluation raises
        :class:`trueup.errors.EvaluationError` when the workers are lost for good; the study then
        saves what it has, and can be resumed.
        """
        ...
