"""What is always in the prompt: the user's name, how to address them, how they want to be answered,
and what they pinned.

A name is taken from the user's own words only where they leave no doubt ("My name is Anna.", "Call
me Annie."), so that a doubtful one costs nothing but having to be told.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from assistant.context.conversation import Exchange
from assistant.context.note import Note
from assistant.memory.record import Kind, Memory

NAME, ADDRESS = "name", "address"
"""Ends of the ids of what is made of such words. Of each only the newest holds."""
WISH = "wish"
"""The same of what is made of lasting wishes, which all hold."""
TEXTS = {NAME: "The user's name is {}.", ADDRESS: "The user wants to be called {}."}
CERTAIN = 0.9

_WORD = r"[A-ZÀ-ÖØ-Þ][\w'’-]{1,19}"
_TOLD = rf"(?P<name>{_WORD}(?: {_WORD}){{0,2}})"
_BEFORE = (
    r"(?:^|[.!?;]\s+)"
    r"(?:(?i:hi|hello|hey|well|so|oh|okay|ok|yes|no|and|sorry|by the way|actually|please|just|note|"
    r"nice to meet you|remember)(?:,? (?:there|that|[A-Z]\w+))?,? ){0,2}"
)
"""Nothing but a greeting or the like: "she says my name is Anna" tells another's words."""
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
    """What the user's words say of their name, if anything: `NAME`, `ADDRESS` → a name.

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


def told_of_name(user_id: str, conversation: str, exchange: Exchange) -> list[Memory]:
    """Memories of kind `PROFILE` that follow from an exchange, made again from it at any time."""
    return [
        Memory(
            id=f"{exchange.id}-{what}",
            user_id=user_id,
            kind=Kind.PROFILE,
            text=TEXTS[what].format(name),
            created=exchange.started,
            conversation=conversation,
            importance=CERTAIN,
            confidence=CERTAIN,
            sources=(exchange.id,),
        )
        for what, name in name_told(exchange.user_text).items()
    ]


def stands(memory: Memory) -> bool:
    """Whether it may be in every prompt."""
    wish = memory.kind is Kind.PREFERENCE and memory.id.endswith(f"-{WISH}")
    return memory.pinned or memory.kind is Kind.PROFILE or wish


@dataclass(frozen=True, slots=True)
class Standing:
    """A memory that may stand in every prompt; see `stands`."""

    id: str
    text: str
    kind: Kind
    speaker: str
    created: float
    """Seconds since 1970."""


def profile_of(standing: Iterable[Standing]) -> tuple[Note, ...]:
    """As the prompt shows them: the name, how to be addressed, and the others, newest first.

    Args:
        standing: without what is superseded or never to be recalled.
    """
    newest_first = sorted(standing, key=lambda each: (-each.created, each.id))
    names: dict[str, Standing] = {}
    others = []
    for each in newest_first:
        what = each.id.rpartition("-")[2]
        if each.kind is Kind.PROFILE and what in TEXTS:
            names.setdefault(what, each)
        else:
            others.append(each)
    ordered = [names[what] for what in TEXTS if what in names] + others
    return tuple(map(_note, ordered))


def _note(each: Standing) -> Note:
    said = datetime.fromtimestamp(each.created, UTC)
    return Note(each.text, each.id, said, each.speaker, each.kind.value)
