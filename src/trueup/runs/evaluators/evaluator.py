"""The protocol of an evaluator."""

from contextlib import AbstractContextManager
from typing import Any, Protocol


class Evaluator(Protocol):
    """Evaluates the candidates of a study.

    The answer for a candidate must not depend on the worker or on other candidates, so that the
    history of a study is the same with every evaluator.
    """

    def over(self, problem: Any) -> AbstractContextManager[Any]:
        """A problem with the answers of ``problem``, computed by this evaluator.

        The workers are released at the end of the context. Within it, an evaluation raises
        :class:`trueup.errors.EvaluationError` if the workers are permanently lost; the study is
        then saved and can be resumed.
        """
        ...
