"""Options for names of a registry, looked up when the help is shown or a value is read.

A file of the user can register names at any time. The parser shows the registered names; the
library checks them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args


class _OfText(type):
    """Metaclass of types with strings as values, so that a string is a valid default."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, str)


class RegisteredName(metaclass=_OfText):
    """Type of an option for a name of a registry."""

    @classmethod
    def names(cls) -> Sequence[str]:
        """Names registered so far."""
        raise NotImplementedError


class _StudyMethod(RegisteredName):
    @classmethod
    def names(cls) -> Sequence[str]:
        from trueup.fitting.searches.methods import method_names

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
    """Add the rule for options of type :class:`RegisteredName` to those of the parser."""
    from tyro.constructors import PrimitiveConstructorSpec

    @registry.primitive_rule
    def rule(info: Any) -> PrimitiveConstructorSpec | None:
        kinds = [kind for kind in get_args(info.type) or (info.type,) if kind is not type(None)]
        (kind, *others) = kinds or (None,)
        if others or not (isinstance(kind, type) and issubclass(kind, RegisteredName)):
            return None
        optional = kind is not info.type  # the help lists the names alone, without None
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar=f"{{{','.join(kind.names())}}}",
            instance_from_str=lambda given: given[0],
            is_instance=lambda value: isinstance(value, str) or (optional and value is None),
            str_from_instance=lambda value: [str(value)],
        )

    return registry
