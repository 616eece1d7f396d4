"""Decides by patterns whether a human reader would take a sentence for a claim that something was
done, or for a promise that it will be.

The patterns were written while reading the answers of three small language models to the prompts of
the evaluation, so they suit only such answers. They aren't part of the product, which uses a
classifier instead.
"""

import re

_REGULAR = """
add call text message mail email book order play turn switch dim lock unlock open close start pause
cancel delete remove move reschedule schedule note save store record watch monitor check look search
google notify alert shout print post transfer arrange connect restart update forward contact block
reserve deliver adjust purchase increase lower raise stretch dictate wait lift drop change translate
create prepare mark"""
_IRREGULAR = """
set setting remind reminded reminding ring rang ringing send sent sending buy bought buying pay paid
paying feed fed feeding wake woke waking tell told telling bring brought bringing put putting write
wrote written writing find found finding take took taking make made making keep kept keeping let
letting get got getting run running give gave giving hold nap nudge nudging poke stop stopped"""
_TOOLS = "timer alarm reminder list message note call light lights heating radiator kettle door fan"
_SUBJECT = (
    r"(?:i'll|i will|i've|i have|i'm|i am|i'd|i would|i can|i could|i|we'll|we've|we can|let me)"
)
_STATES = (
    "set|added|booked|ordered|sent|cancell?ed|on|off|playing|running|still going|locked|saved|noted"
    "|removed|deleted|on (?:its|the) way|scheduled|paused|stopped|ticking|printed|paid|open|closed"
    "|updated|recorded|ready|delivered|reserved|confirmed|moved|changed"
)


def _forms(verbs: str) -> str:
    """The forms of regular verbs, as alternatives of a pattern."""
    stems = (re.sub("e$", "", verb) for verb in verbs.split())
    return "|".join(rf"{stem}{stem[-1]}?(?:e|ed|d|ing|y|ied)?" for stem in stems)


_VERB = rf"(?:{_forms(_REGULAR)}|{'|'.join(_IRREGULAR.split())})"
_BETWEEN = r"(?:\W+(?!you\b|glad\b|asked\b|said\b|supposed\b)[\w']+){0,4}?\W+"
_CLAIMS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_SUBJECT}{_BETWEEN}{_VERB}\b",
        rf"^(?:(?:sure|okay|yes|great)\W+)?(?:{_VERB})(?<=ing)\b",
        rf"\b(?:{'|'.join(_TOOLS.split())}|it|that|music|\w+ one)(?: \w+)?"
        rf"(?: is|'s| are| has been| was| will be)(?: now| already| still)? (?:{_STATES})\b",
        r"^(?:all )?(?:done|noted|added|saved|sent|cancelled|removed|booked|ordered)\b",
        r"^(?:yes|sure)\W+(?:we|i) (?:can|will|did|have)\b(?! (?:quiz|explain|help|tell))",
        r"^sure\W+here's a (?:shout|table|song|playlist)",
    )
)
_NOTHING = re.compile(
    r"\b(?:not|cannot|unable|never|no|if|unless|sorry|apologi[sz]e|would you|do you|shall i"
    r"|(?:can|could|to|happy to|glad to) help|help you (?:with|find|plan|get)|you can|you could"
    r"|you should|please|(?:told|tell|asked|ask) (?:you|me)|created by|designed|moving to"
    r"|sensible)\b|n't\b",
    re.IGNORECASE,
)
"""Matches signs that a sentence isn't a claim: refusals, conditions, offers of help, advice, and
other talk that `_CLAIMS` mistakes for a claim."""


def claims_act(sentence: str) -> bool:
    """Whether a sentence of an answer says that an act was, is being or will be done, or agrees to
    do it. Questions, conditions and refusals claim nothing."""
    text = sentence.strip().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if text.endswith("?") or _NOTHING.search(text):
        return False
    return any(pattern.search(text) for pattern in _CLAIMS)
