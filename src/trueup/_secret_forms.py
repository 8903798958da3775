"""Secrets that are recognised by their own form, in texts.

Tokens begin with letters that their service publishes for this purpose, so that they are found in
logs; signatures and keys of addresses have names in the query; keys are blocks of PEM.
"""

import re
from collections.abc import Callable

_QUERY_NAME = re.compile(
    r"(?:^|[-_.])(?:sig|signature|hmac|jwt|sas|code|otp)$|^(?:key|k|x-(?:amz|goog)-credential)$",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"^(?:[A-Z][A-Z0-9]*_)+(?:KEY|PAT|PASS|PWD|PW|DSN|SAS|WEBHOOK|COOKIE)$")

_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY[A-Z ]{0,10}-----")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,50}-----")
_KEY_CUT = re.compile(r"[A-Za-z0-9+/=\s\\]*")
_TOKENS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"gh[oprsu]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|hf_[A-Za-z0-9]{16,}"  # code
    r"|sk[-_](?=[\w-]{0,60}\d)[\w-]{16,}|rk_live_\w{16,}|xox[a-z]-[\w-]{10,}"  # services
    r"|AKIA[A-Z0-9]{12,}|ASIA[A-Z0-9]{12,}|AIza[\w-]{30,}|ya29\.[\w-]{16,}"  # clouds
    r"|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|dop_v1_\w{30,}"
    r"|eyJ[\w-]{6,2000}\.[\w-]{6,}(?:\.[\w-]*)*"  # JSON web tokens
    r")"
)
_TOKEN_BEGINNINGS = (
    *("gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "glpat-", "hf_", "sk-", "sk_"),
    *("rk_live_", "xox", "AKIA", "ASIA", "AIza", "ya29.", "npm_", "pypi-", "dop_v1_", "eyJ"),
)
_HOOKS = re.compile(
    r"(https?://(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks"
    r"|[\w.-]+\.webhook\.office\.com|api\.telegram\.org/bot)/?)[^\s'\"<>]+"
)
_COOKIE = re.compile(r"\b((?:set-)?cookie:[ \t]*)[^\n\"']+", re.IGNORECASE)
_QUERY = re.compile(r"([?&]([\w.-]{1,60})=)([^\s&#;'\"<>,)\]}]+)")
_ASSIGNED = re.compile(r"(?<![\w-])((?:[A-Z][A-Z0-9]*_)+[A-Z]+)(=|: )(['\"]?)([^\s'\"&;,]+)")
_LOGIN_PROGRAM = re.compile(
    r"(\b(?:sshpass|mysql\w*|mariadb\w*|mongo\w*|plink|pscp|smbclient|7z|docker login)\b"
    r"[^\n]{0,200}?\s-p\s?['\"]?)(?!\*\*\*)[^\s'\"]+"
)
_PROGRAMS = ("sshpass", "mysql", "mariadb", "mongo", "plink", "pscp", "smbclient", "7z", "docker ")


def is_query_secret(name: str) -> bool:
    """Whether a name in the query of a URL is that of a signature or a key."""
    return _QUERY_NAME.search(name) is not None


def is_secret_variable(name: str) -> bool:
    """Whether a name is that of an environment variable with a key, such as ``DEPLOY_KEY``."""
    return _VARIABLE.match(name) is not None


def mask_forms(text: str, mask: str) -> str:
    """A text with the secrets of known form replaced by a mask; long texts are searched quickly."""
    if "-----BEGIN " in text:
        text = _without_keys(text, mask)
    if any(beginning in text for beginning in _TOKEN_BEGINNINGS):
        text = _TOKENS.sub(mask, text)
    if "http" in text:
        text = _HOOKS.sub(rf"\g<1>{mask}", text)
    if "ookie:" in text or "OOKIE:" in text:
        text = _COOKIE.sub(rf"\g<1>{mask}", text)
    if ("?" in text or "&" in text) and "=" in text:
        text = _QUERY.sub(_if(lambda m: is_query_secret(m[2]), lambda m: m[1] + mask), text)
    if "_" in text and ("=" in text or ": " in text):
        replaced = _if(lambda m: is_secret_variable(m[1]), lambda m: f"{m[1]}{m[2]}{m[3]}{mask}")
        text = _ASSIGNED.sub(replaced, text)
    if " -p" in text and any(program in text for program in _PROGRAMS):
        text = _LOGIN_PROGRAM.sub(rf"\g<1>{mask}", text)
    return text


def _without_keys(text: str, mask: str) -> str:
    """A text with its private keys masked, also one that is cut off."""
    pieces, done = [], 0
    while (begin := _KEY_BEGINS.search(text, done)) is not None:
        found = _KEY_ENDS.search(text, begin.end())
        cut = _KEY_CUT.match(text, begin.end())
        assert cut is not None
        pieces += [text[done : begin.start()], mask]
        done = cut.end() if found is None else found.end()
        if found is None:
            break
    rest = text[done:]
    return "".join([*pieces, _KEY_BEGINS.sub(mask, rest)])


_Match = re.Match[str]


def _if(holds: Callable[[_Match], bool], made: Callable[[_Match], str]) -> Callable[[_Match], str]:
    """Replacement of a match where a condition holds."""
    return lambda match: made(match) if holds(match) else match[0]
