"""Fixed replies, not from the language model, to questions that the assistant can't answer.

If a small model is told to say that it doesn't know, it invents an answer, or reads out the
instruction.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from assistant.context.conversation import Exchange
from assistant.events import MemoryUsed
from assistant.language.dialogue_acts import FIRST_PERSON

NOT_ONLINE = "I can't look things up online, so I don't know."
NOT_THERE = "I don't know, and I have no way of telling."
WITH_TOOLS = "I'm afraid I don't know."
"""Said if other programs provide tools, because a tool may be able to answer such a question at
another time."""
NOT_TOLD = "I don't think you've told me that."
REPLIES = (NOT_ONLINE, NOT_THERE, WITH_TOOLS, NOT_TOLD)
"""Each says that the assistant doesn't know. So none of them counts as an answer when the question
is repeated (`already_told.py`)."""


RECOGNISABLE = 4
"""Minimum number of words to recognise an interrupted reply. A shorter one may be the model's."""


@dataclass(frozen=True, slots=True)
class NotKnown:
    """Something that the assistant can't know by itself, but may have been told.

    Attributes:
        reply: what the assistant says, without the language model, if it hasn't been told. If
            empty, the model answers in any case.
        about_user: whether it is a fact of the user's own life, which only the user can tell.
    """

    reply: str
    about_user: bool = False


def applicable(
    not_known: NotKnown | None, words: str, memories: Iterable[MemoryUsed], language: str
) -> NotKnown | None:
    """Return `not_known` if it applies to the user's words; otherwise None.

    It applies to English words only. If it is `about_user`, it applies only if the words are in the
    first person, or share a word with a recalled memory. Other questions ask for something that
    everybody may know ("Which state is the Grand Canyon in?").

    Args:
        memories: the memories recalled for the words.
        language: an ISO 639-1 code, as in the settings.
    """
    if not_known is None or not language.startswith("en"):
        return None
    own = FIRST_PERSON.search(words) or any(each.words for each in memories)
    return not_known if own or not not_known.about_user else None


def is_fixed(exchange: Exchange) -> bool:
    """Return whether an exchange was answered with one of these replies or, if the user
    interrupted, with the beginning of one."""
    heard = exchange.assistant_text
    if exchange.interrupted:
        enough = len(heard.split()) >= RECOGNISABLE
        return enough and any(each.startswith(heard) for each in REPLIES)
    return heard in REPLIES
