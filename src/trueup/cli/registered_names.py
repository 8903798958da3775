"""Options whose words are names of a registry, looked up when the help is shown or a word is read.

A registry may grow at any time, by a file of the user too. The parser shows the names that there
are; the library refuses others.
"""

from collections.abc import Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args

from trueup.fitting.searches.methods import method_names


class _OfText(type):
    """Type of types whose values are plain texts: the default of an option is one too."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, str)


class RegisteredName(metaclass=_OfText):
    """Type of an option whose words are names of a registry."""

    @classmethod
    def names(cls) -> Sequence[str]:
        """Names that there are by now."""
        raise NotImplementedError


class _StudyMethod(RegisteredName):
    @classmethod
    def names(cls) -> Sequence[str]:
        return method_names()


class _ServoMethod(RegisteredName):
    @classmethod
    def names(cls) -> Sequence[str]:
        from trueup.actuators.search.fit_settings import fit_methods

        return fit_methods()


class _WalkMethod(RegisteredName):
    @classmethod
    def names(cls) -> Sequence[str]:
        from trueup.gait.search.method_names import walk_searches

        return walk_searches()


class _CauseName(RegisteredName):
    @classmethod
    def names(cls) -> Sequence[str]:
        from trueup.explain import CAUSES

        return list(CAUSES)


if TYPE_CHECKING:
    StudyMethod = ServoMethod = WalkMethod = CauseName = str
else:
    StudyMethod, ServoMethod, WalkMethod = _StudyMethod, _ServoMethod, _WalkMethod
    CauseName = _CauseName


def add_registered_names(registry: Any) -> Any:
    """Add the rule by which such options are read to the rules of the parser."""
    from tyro.constructors import PrimitiveConstructorSpec

    @registry.primitive_rule
    def rule(info: Any) -> PrimitiveConstructorSpec | None:
        # also the type of an option that may be absent, so that None is not among its words
        kinds = [kind for kind in get_args(info.type) or (info.type,) if kind is not NoneType]
        if len(kinds) != 1 or not _is_registered(kinds[0]):
            return None
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar=f"{{{','.join(kinds[0].names())}}}",
            instance_from_str=lambda given: given[0],
            is_instance=lambda value: value is None or isinstance(value, str),
            str_from_instance=lambda value: [str(value)],
        )

    return registry


def _is_registered(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, RegisteredName)
