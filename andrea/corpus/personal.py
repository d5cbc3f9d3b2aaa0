"""Personal data and secrets in a text, found by a short list of patterns and replaced by marks.

| mark | what it replaces | what it leaves |
|---|---|---|
| `<key>` | PEM private keys, JSON Web Tokens, tokens of AWS, GitHub, GitLab, Slack, Google and Hugging Face, `sk-...` | passwords, keys of no known shape |
| `<mail>` | mail addresses | "name at host dot org" |
| `<iban>` | bank account numbers, by their check digits (ISO 13616) | other account numbers |
| `<card>` | card numbers in their usual groups, by Luhn's check digit (ISO 7812) | |
| `<ip>` | IPv4 and IPv6 addresses that are routed in public | private and documentation ranges; versions: first two numbers below 32 with nothing beside them that tells an address (a word such as "host" or "from", `@`, `//`, `[`, a port, a prefix), or after "version" |
| `<phone>` | numbers with a country code after +, of North America (555-234-5678), or after a word such as "phone" | bare rows of digits, national numbers |

Names and postal addresses need a model and are not looked for. Time grows linearly with the text:
every repetition has a bound, or starts only where its characters start.
"""  # noqa: E501

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

SHORTEST_PHONE_DIGITS = 8
LONGEST_PHONE_DIGITS = 15  # ITU-T E.164
VERSION_NUMBERS_BELOW = 32  # of the first two: 1.5 % of addresses are lost by it


@dataclass(frozen=True)
class Pattern:
    """What is replaced by `mark`: of a match of `regex`, the first `length(match)` characters.

    `kept` is a group before them which stays; a length of 0 leaves all as it is. A text without
    any of `needs` (any text for none) is not searched.
    """

    mark: str
    regex: re.Pattern[str]
    length: Callable[[str], int]
    needs: tuple[str, ...]


def mask(text: str) -> tuple[str, Counter[str]]:
    """Replace what the patterns find, in their order; also tell how often each mark was set."""
    counts: Counter[str] = Counter()
    for pattern in PATTERNS:
        if pattern.needs and not any(word in text for word in pattern.needs):
            continue
        text, count = _replaced(text, pattern)
        if count:
            counts[pattern.mark] += count
    return text, counts


def _replaced(text: str, pattern: Pattern) -> tuple[str, int]:
    count = 0

    def put(match: re.Match[str]) -> str:
        nonlocal count
        kept = match.group("kept") if "kept" in pattern.regex.groupindex else None
        matched = match.group().removeprefix(kept or "")
        length = pattern.length(matched)
        if not length:
            return match.group()
        count += 1
        return f"{kept or ''}{pattern.mark}{matched[length:]}"

    return pattern.regex.sub(put, text), count


def _mixed(matched: str) -> int:
    """A secret has no hyphen, or digits and letters of both cases; words with hyphens do not."""
    kinds = (str.isdigit, str.isupper, str.islower)
    secret = matched[3:].isalnum() or all(any(map(kind, matched[3:])) for kind in kinds)
    return len(matched) if secret else 0


def _luhn(matched: str) -> int:
    digits = [int(character) for character in reversed(matched) if character.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[1::2]]
    return len(matched) if (sum(digits[::2]) + sum(doubled)) % 10 == 0 else 0


def _iban(matched: str) -> int:
    """The longest beginning, cut at a space, whose check digits are right: a word may follow."""
    end = len(matched)
    while end > 0:
        code = matched[:end].replace(" ", "")
        if len(code) >= 15 and int("".join(str(int(c, 36)) for c in code[4:] + code[:4])) % 97 == 1:
            return end
        end = matched.rfind(" ", 0, end)
    return 0


def _ipv4(matched: str) -> int:
    numbers = matched.split(".")
    is_version = all(int(number) < VERSION_NUMBERS_BELOW for number in numbers[:2])
    return 0 if is_version else _address(matched)


def _ipv6(matched: str) -> int:
    return _address(matched if matched.endswith("::") else matched.rstrip(":"))


def _address(matched: str) -> int:
    try:
        address = ipaddress.ip_address(matched)
    except ValueError:
        return 0
    return len(matched) if address.is_global and not address.is_multicast else 0


def _phone(matched: str) -> int:
    """All of it, but for a last bracket that was opened before it."""
    digits = sum(character.isdigit() for character in matched)
    if not SHORTEST_PHONE_DIGITS <= digits <= LONGEST_PHONE_DIGITS:
        return 0
    return len(matched) - (matched.endswith(")") and matched.count(")") > matched.count("("))


# A pattern that begins with the characters it can begin with is skipped to by the engine, so what
# stands before them is looked at after the first.
_DIGITS = r"[0-9](?:[ ./-]?\(?[0-9]\)?){7,16}"
_ADDRESS_FOLLOWS = "|".join(
    rf"(?<={before}.)"
    for before in (
        *(
            rf"\b{word}{gap}"
            for word in ("ip", "host", "hosts", "server", "servers", "address", "from", "to", "at")
            for gap in (" ", ":", "=", ": ", r" \[")
        ),
        "@", "//", r"\[",
    )
)  # fmt: skip
_RELEASE_FOLLOWS = "".join(
    rf"(?<!{before} .)"
    for before in ("bump to", "update to", "upgrade to", "release to", "x server")
)
_QUAD_REST = r"[0-9]{0,2}(?:\.[0-9]{1,3}){3}(?![\w-]|\.[0-9])"
_QUAD = r"(?a)[1-9](?<![\w.-].)(?<!ersion .)" + _QUAD_REST


def _pattern(mark: str, regex: str, length: Callable[[str], int] = len, needs: str = "") -> Pattern:
    return Pattern(mark, re.compile(regex), length, tuple(filter(None, needs.split("|"))))


PATTERNS = (
    _pattern(
        "<key>",
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[^-]++|-(?!----))*+"
        r"-----END [A-Z ]{0,40}PRIVATE KEY-----",
        needs="PRIVATE KEY-----",
    ),
    _pattern("<key>", r"(?a)(?<![\w-])eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]{8,}+", needs="eyJ"),
    _pattern(
        "<key>",
        r"(?a)(?<![\w-])(?:(?:AKIA|ASIA)[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{36,255}"
        r"|github_pat_\w{22,255}|glpat-[\w-]{20,64}|xox[abeoprs]-[A-Za-z0-9-]{10,255}"
        r"|AIza[\w-]{35}|hf_[A-Za-z0-9]{34})(?![\w-])",
        needs="AKIA|ASIA|ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|glpat-|xox|AIza|hf_",
    ),
    _pattern("<key>", r"(?a)(?<![\w-])sk-[\w-]{20,255}(?![\w-])", _mixed, "sk-"),
    _pattern(
        "<mail>",
        r"(?i)(?<![\w.%+-])[\w.%+-]{1,64}+@(?:[a-z0-9](?:[a-z0-9-]{0,62})\.){1,8}[a-z]{2,24}"
        r"(?![\w-])",
        needs="@",
    ),
    _pattern(
        "<iban>",
        r"[A-Z](?<![A-Za-z0-9].)[A-Z][0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?"
        r"(?![A-Za-z0-9])",
        _iban,
    ),
    _pattern(
        "<card>",
        r"[2-6](?<![\w./-].)[0-9]{3}(?:([ -]?)[0-9]{4}\1[0-9]{4}\1[0-9]{4}"
        r"|(?<=3[47]..)([ -]?)[0-9]{6}\2[0-9]{5})(?![\w-]|\.[0-9])",
        _luhn,
    ),
    _pattern(
        "<ip>",
        rf"(?ai)[1-9](?=[0-9]{{0,2}}\.[0-9])(?:{_ADDRESS_FOLLOWS}){_RELEASE_FOLLOWS}{_QUAD_REST}",
        _address,
        ".",
    ),
    _pattern("<ip>", _QUAD + r"(?=:[0-9]{1,5}(?!\w)|/[0-9]{1,2}(?![\w.]))", _address, "."),
    _pattern("<ip>", _QUAD, _ipv4, "."),
    _pattern("<ip>", r"(?i)[23](?<![\w:.].)[0-9a-f]{3}:[0-9a-f:]{2,34}(?![\w:])", _ipv6, ":"),
    _pattern(
        "<phone>",
        r"(?a)\((?<!\w.)\+(?!0)[0-9]{1,3}\)(?:[ ./-]?\(?[0-9]\)?){5,14}(?!\w|[.-][0-9])",
        _phone,
        "(+",
    ),
    _pattern("<phone>", rf"(?a)\+(?<![\w.+-].)(?!0){_DIGITS}(?!\w|[.-][0-9])", _phone, "+"),
    _pattern(
        "<phone>",
        r"(?a)(?:\((?<!\w.)[2-9][0-9]{2}\) ?"
        r"|[2-9](?:(?<![\w.-].)|(?<=\b1[.-].))[0-9]{2}([.-]))"
        r"[2-9][0-9]{2}(?(1)\1|[.-])[0-9]{4}(?![\w-]|\.[0-9])",
    ),
    _pattern(
        "<phone>",
        r"(?ai)(?P<kept>[tpfm](?<!\w.)(?:(?<=t)el(?:ephone)?|(?<=p)hone|(?<=f)ax|(?<=m)obile)"
        r"(?: ?(?:number|no))?(?: is)?[.:]{0,2} {0,3})[0-9](?:[ ./-]{0,3}[0-9]){7,16}"
        r"(?!\w|[.-][0-9])",
        _phone,
    ),
)
