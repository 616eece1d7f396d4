"""Decides whether something that the assistant can't know by itself may have been told to it.

"Where are my keys?" can be answered after "I put my keys in the blue bowl". A model that is told
that it can't know where they are says so, although the sentence is in its prompt.
"""

from collections.abc import Iterable

from assistant.language.dialogue_acts import is_question
from assistant.language.stemming import TextAnalyzer

PASSING = (
    "today tomorrow tonight yesterday now moment morning afternoon evening night day week weekend "
    "monday tuesday wednesday thursday friday saturday sunday know think please"
)
"""Words that say nothing about the topic of a question."""


def may_be_told(question: str, said: Iterable[str]) -> bool:
    """Return whether a statement shares a word with an English question, regardless of endings.
    Common words don't count, and neither do questions among the texts."""
    lexicon = TextAnalyzer("en")  # a new one each time, because it keeps the words that it has seen
    topic = {*lexicon.content(question)} - {*lexicon.content(PASSING)}
    return any(
        not topic.isdisjoint(lexicon.content(text)) and not is_question(text) for text in said
    )
