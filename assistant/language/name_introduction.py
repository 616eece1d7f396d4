"""Recognises how users introduce themselves: "My name is Anna"."""

import re

NAME, ADDRESS = "name", "address"
"""The name that the user has, and the name by which the user wants to be addressed."""

_WORD = r"[A-ZÀ-ÖØ-Þ][\w'’-]{1,19}"
_TOLD = rf"(?P<name>{_WORD}(?: {_WORD}){{0,2}})"
_BEFORE = (
    r"(?:^|[.!?;]\s+)"
    r"(?:(?i:hi|hello|hey|well|so|oh|okay|ok|yes|no|and|sorry|by the way|actually|please|just|note|"
    r"nice to meet you|remember)(?:,? (?:there|that|[A-Z]\w+))?,? ){0,2}"
)
"""The words that may precede an introduction, e.g. a greeting. After other words, the name may be
somebody else's: "she says my name is Anna"."""
_END = r"(?=\s*(?:$|[.!;]|,? (?:please|thanks|and|but|by the way|from now on|instead|now)\b))"
_PATTERNS = {
    NAME: re.compile(rf"{_BEFORE}(?i:my name is|my name's) {_TOLD}{_END}"),
    ADDRESS: re.compile(
        rf"{_BEFORE}(?i:(?:you (?:can|may|should) |everyone |everybody |people |my friends )?"
        rf"(?:just |always )?calls? me) {_TOLD}{_END}"
    ),
}
_NO_NAME = re.compile(
    r"\b((mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|july|september|october|"
    r"november|december|christmas|easter|today|tomorrow|tonight|later|back|maybe|soon|any ?time|"
    r"sometime|again|crazy|old|names|not|never|when|if|after|before|as|at|on|in|the|an?|i|i'm|ok|"
    r"okay|yes|no|right|sorry|please|and|or|your|my|his|her|their|its|system|user|assistant|human|"
    r"ai|bot|model|developer|tool|function)\b",
    re.IGNORECASE,
)


def name_told(text: str) -> dict[str, str]:
    """Return the names by which the user introduces themselves in `text`, under the keys `NAME` and
    `ADDRESS`.

    >>> name_told("Hi, my name is Anna, and I live in Lisbon.")
    {'name': 'Anna'}
    """
    found = {}
    for what, pattern in _PATTERNS.items():
        names = [match["name"] for match in pattern.finditer(text[:2000])]
        plain = [each for each in names if not _NO_NAME.search(each)]
        if plain:
            found[what] = plain[-1]
    return found
