"""What the assistant says, without the language model, to what it can't know.

Told to say that it doesn't know, a small model invents an answer, or reads out what it was told.
"""

from assistant.context.conversation import Exchange

NOT_ONLINE = "I can't look things up online, so I don't know."
NOT_THERE = "I don't know, and I have no way of telling."
WITH_TOOLS = "I'm afraid I don't know."
"""Said if there are tools of other programs, with which the assistant may be able to find out what
it is asked another time."""
REPLIES = (NOT_ONLINE, NOT_THERE, WITH_TOOLS)
"""Each says that the assistant doesn't know, so none counts as an answer when the same is asked
again (`already_told.py`)."""


def is_fixed(exchange: Exchange) -> bool:
    """Return whether an exchange was answered with one of these replies, or with its beginning if
    the user interrupted."""
    heard = exchange.assistant_text
    if exchange.interrupted:
        return bool(heard) and any(each.startswith(heard) for each in REPLIES)
    return heard in REPLIES
