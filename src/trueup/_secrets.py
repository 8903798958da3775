"""Masking of passwords, tokens and keys in all stored or displayed text.

One set of rules for texts (:func:`mask`), command lines (:func:`mask_arguments`) and plain data
(:func:`masked`). A secret is recognised by its context: the login of a URL, a value with the name
of a password, a token or a key, the value of an environment variable with such a name; or by its
own form, such as that of a token of GitHub (:mod:`trueup._secret_forms`). If the end of a secret is
ambiguous, more is masked rather than less.
"""

import contextlib
import functools
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any
from urllib.parse import quote

from trueup._secret_forms import is_query_secret, is_secret_variable, mask_forms

MASK = "***"
"""Text that replaces a secret."""

# Names that end in one of these, with or without a separator before it: PGPASSWORD, sslpassword.
_ENDING = (
    r"(?:password|passwd|passphrase|secret|token|webhook[-_.]?url"
    r"|(?:api|access|account|encryption|private|secret|shared|signing)[-_.]?key|sshpass)"
)
# Others only as a whole word of a name: "auth", not "author"; "pass", not "bypass" or "passive".
_WORD = (
    r"(?:pass|pwd|passwd|password|passphrase|secrets?|token|credentials?|auth|authorization"
    r"|cookies?)"
)
_NAME = re.compile(rf"{_ENDING}$|(?:^|[-_.]){_WORD}(?:$|[-_.])", re.IGNORECASE)

# For large files: a fast search for plain words selects the positions for the regular expressions.
_BEGINNINGS = (
    *("pass", "pwd", "secret", "token", "credential", "auth", "cookie", "webhook"),
    *("api", "access", "account", "encryption", "private", "shared", "signing"),  # of a key
)
_NO_LOGIN = ("sqlite", "file")
_LOGINS = [
    # A password may contain "/", "@" and blanks: the login extends to the last "@" of the line, or
    # of the word if the colon may be that of a port.
    (
        re.compile(r"://[^\s:@/?#'\"]*:(?:(?!\d+(?:[/?#\s'\").,:;]|$))[^\n]*|\S*)@"),
        f"://{MASK}@",
    ),
    (re.compile(r"://[^\s:@/?#'\"]+@"), f"://{MASK}@"),
    # A login without its "@": the text after the colon is not a port.
    (re.compile(r"://([^\s:@/?#'\"]+:)(?!\d+(?:[/?#\s'\").,:;]|$))[^\s'\"/]+"), rf"://\1{MASK}"),
]
_NAMED = re.compile(
    rf"(?:{_ENDING}|{_WORD})[\w.-]{{0,60}}+(?:(?P<equals>\s?=\s?)|(?P<json>['\"]\s?:\s?)"
    r"|(?P<yaml>:[ ]+)|(?P<blank>[ ]))",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"[\w.-]{0,60}$")  # the rest of a name
_QUOTED = re.compile(r"(['\"])(?:\\.|(?!\1)[^\n\\])*")
_BARE = re.compile(r"(?!['\"*\s])[^\s&;,]+?(?=['\"]?(?:[\s&;,)\]}]|$))")
_LINE = re.compile(r"[^\n]+")
_BEARER = re.compile(r"\b(bearer|basic)\s+(?=\S*\d|\S{20})[\w.~+/=-]{8,}", re.IGNORECASE)
# In an argument, a value of a query extends to the next "&", including blanks and quotes.
_IN_QUERY = re.compile(r"([?&;]([\w.-]+)=)[^&]+")

# The cells of a page are thousands of short texts. Every secret with a name, in a URL, a key or a
# command line has one of these characters; the shortest without is "basic " and eight letters.
_SEPARATOR = re.compile(r"[=:]|--| -p")
_SHORTEST = 14

_NUMBERS = frozenset({float, int, bool, type(None)})

_SHORTEST_FROM_ENVIRONMENT = 8
_READ: ContextVar[Sequence[str] | None] = ContextVar("secrets of the environment", default=None)
# The working folder of the shell is not a secret: masking it would hide all paths below it.
_NO_SECRETS = ("PWD", "OLDPWD")


def mask(text: str, known: Iterable[str] = ()) -> str:
    """Return a text with its secrets masked.

    Args:
      text: any text: a message, a file, a URL.
      known: additional secrets, such as the password of a storage in an error.
    """
    read = _READ.get()
    spelled = _spellings(_of_environment()) if read is None else read
    return _mask(text, [*_spellings(known), *spelled])


@contextlib.contextmanager
def environment_read_once() -> Iterator[None]:
    """Read the environment once for all calls of :func:`mask` in the context, for speed."""
    token = _READ.set(_spellings(_of_environment()))
    try:
        yield
    finally:
        _READ.reset(token)


def masked(value: Any) -> Any:
    """Return plain data with the secrets in its strings masked, other values unchanged."""
    return _masked(value, _spellings(_of_environment()))


def mask_arguments(arguments: Sequence[str]) -> list[str]:
    """Return a command line with the secrets in its arguments masked."""
    shown: list[str] = []
    for i, argument in enumerate(arguments):
        before = arguments[i - 1] if i else ""
        follows = before.startswith("--") and "=" not in before and is_secret(before[2:])
        follows = follows or (before == "-p" and not argument.isdecimal())  # not a port
        name, separator, _ = argument.partition("=")
        if follows and not argument.startswith("-"):
            shown.append(MASK)
        elif separator and "://" not in name and _is_secret_variable(name.lstrip("-+~")):
            shown.append(f"{name}={MASK}")
        else:
            shown.append(mask(_IN_QUERY.sub(_query_value, argument)))
    return shown


def is_secret(name: object) -> bool:
    """Whether a name is that of a password, a token or a key."""
    return isinstance(name, str) and _names_secret(name)


def _is_secret_variable(name: str) -> bool:
    """Whether a name is that of an environment variable with a secret, such as ``DEPLOY_KEY``."""
    return is_secret(name) or is_secret_variable(name)


@functools.lru_cache(maxsize=4096)
def _names_secret(name: str) -> bool:
    return _NAME.search(name) is not None


def _mask(text: str, known: Sequence[str]) -> str:
    for secret in known:
        text = text.replace(secret, MASK)
    separated = _SEPARATOR.search(text) is not None
    if not separated and len(text) < _SHORTEST:
        return text
    text = mask_forms(text, MASK)
    if "://" in text:
        for pattern, shown in _LOGINS:
            text = pattern.sub(lambda m, shown=shown: _login(m, shown), text)
    if any(word in text for word in ("earer ", "EARER ", "asic ", "ASIC ")):
        text = _BEARER.sub(rf"\1 {MASK}", text)
    if not separated:
        return text
    plain = text.lower()
    if len(plain) != len(text):  # lower() changes the length of a few letters
        plain = "".join(c.lower() if c.isascii() else c for c in text)
    pieces, done = [], 0
    for position in sorted(p for word in _BEGINNINGS for p in _positions(word, plain)):
        name = _NAMED.match(text, position) if position >= done else None
        value = None if name is None else _value_after(text, name)
        if value is not None:
            start, end = value
            pieces += [text[done:start], MASK]
            done = end
    return "".join([*pieces, text[done:]])


def _positions(word: str, text: str) -> Iterator[int]:
    position = text.find(word)
    while position >= 0:
        yield position
        position = text.find(word, position + len(word))


def _login(match: re.Match[str], shown: str) -> str:
    """The masked login of a URL, if its scheme supports one."""
    before = match.string[max(match.start() - 30, 0) : match.start()].lower()
    return match.group() if before.endswith(_NO_LOGIN) else match.expand(shown)


def _value_after(text: str, match: re.Match[str]) -> tuple[int, int] | None:
    """Start and end of the secret after a name, or None if it is not a secret."""
    before = _BEFORE.search(text, max(match.start() - 60, 0), match.start())
    assert before is not None
    separator = match.start(match.lastgroup or 0)
    name = before.group() + text[match.start() : separator]
    if not is_secret(name.lstrip("-")):
        return None
    if match["blank"] and not name.startswith("--"):
        return None
    if match["yaml"]:
        line = text[text.rfind("\n", 0, before.start()) + 1 : before.start()]
        value = None if line.strip(" -{") else _LINE.match(text, match.end())
        return None if value is None else value.span()
    quoted = _QUOTED.match(text, match.end())
    if quoted is not None and not match["blank"]:
        return quoted.start() + 1, quoted.end()
    value = None if match["json"] else _BARE.match(text, match.end())
    return None if value is None or value.group().startswith("-") else value.span()


def _query_value(match: re.Match[str]) -> str:
    secret = is_secret(match[2]) or is_query_secret(match[2])
    return f"{match[1]}{MASK}" if secret else match[0]


def _masked(value: Any, known: Sequence[str]) -> Any:
    if isinstance(value, str):
        return _mask(value, known)
    if isinstance(value, Mapping):
        return {
            key: MASK if isinstance(v, str) and v and is_secret(key) else _masked(v, known)
            for key, v in value.items()
        }
    if isinstance(value, list | tuple):
        if _NUMBERS.issuperset(map(type, value)):  # fast path for long lists
            return value
        return [_masked(each, known) for each in value]
    return value


def _of_environment() -> list[str]:
    """Secret values of environment variables, except those that look like plain words."""
    return [
        value
        for name, value in os.environ.items()
        if len(value) >= _SHORTEST_FROM_ENVIRONMENT
        and name not in _NO_SECRETS
        and _is_secret_variable(name)
        and not (value.isalpha() and value.islower())
    ]


def _spellings(secrets: Iterable[str]) -> list[str]:
    """Secrets in plain, URL-encoded and JSON form, longest first."""
    spelled = {
        form
        for s in secrets
        if s
        for form in (s, quote(s, safe=""), quote(s, safe=" +"), quote(s), json.dumps(s)[1:-1])
    }
    return sorted(spelled, key=len, reverse=True)
