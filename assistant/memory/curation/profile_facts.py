"""How the user wants to be answered, in the third person: "Always answer in one sentence" becomes a
wish of the user.

Cautious rules for English recognise plain instructions that are meant to last. They apply from the
next prompt on, to every one, like the user's name.
"""

import re

from assistant.context import Exchange
from assistant.language.dialogue_acts import WISHED
from assistant.language.name_introduction import name_told
from assistant.language.third_person import third_person
from assistant.memory.curation.statements import statements
from assistant.memory.records.ids import WISH
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.user_profile import TEXTS

CERTAIN = 0.9
_FROM_NOW_ON = re.compile(r"\bfrom now on,\s*", re.IGNORECASE)
"""The comma here separates nothing."""


def wishes(said: str) -> list[str]:
    """Sentences about the user; none if nothing lasting is wished.

    >>> wishes("Please always answer in one sentence.")
    ['The user wants the assistant to always answer in one sentence.']
    """
    plain = _FROM_NOW_ON.sub("from now on ", said.replace("’", "'"))
    if not WISHED.search(plain):  # most of what is said
        return []
    return [third_person(quote) for quote in statements(plain) if is_wish(quote)]


def is_wish(quote: str) -> bool:
    """Whether a statement says how to answer from now on."""
    return WISHED.match(quote.replace("’", "'")) is not None


def told_of_wishes(user_id: str, conversation: str, exchange: Exchange) -> list[Memory]:
    """Memories of kind `PREFERENCE` that follow from an exchange; repeatable."""
    return [
        Memory(
            id=f"{exchange.id}-{number}-{WISH}",
            user_id=user_id,
            kind=MemoryKind.PREFERENCE,
            text=text,
            created=exchange.started,
            conversation=conversation,
            importance=CERTAIN,
            confidence=CERTAIN,
            sources=(exchange.id,),
        )
        for number, text in enumerate(wishes(exchange.user_text))
    ]


def told_of_name(user_id: str, conversation: str, exchange: Exchange) -> list[Memory]:
    """Memories of kind `PROFILE` that follow from an exchange; repeatable."""
    return [
        Memory(
            id=f"{exchange.id}-{what}",
            user_id=user_id,
            kind=MemoryKind.PROFILE,
            text=TEXTS[what].format(name),
            created=exchange.started,
            conversation=conversation,
            importance=CERTAIN,
            confidence=CERTAIN,
            sources=(exchange.id,),
        )
        for what, name in name_told(exchange.user_text).items()
    ]
