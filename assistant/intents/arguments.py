"""Decides whether some of the user's words can be a command's argument, i.e. name something.

After "forget everything about", nearly any words can be a name. After "forget about", only words
that are clearly not a sentence can be a name, because people also use "forget about" for other
things, e.g. for their dinner or their hopes.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from assistant.intents.command_text import CommandText, Word
from assistant.intents.periods import period


def _named(said: CommandText, words: tuple[Word, ...]) -> bool:
    """Return whether the words can be a name if they follow words that clearly refer to memories.
    Pronouns, unclear phrases and a second sentence are rejected."""
    lists, first = said.language.subjects, words[0].plain
    if first in lists["unnamed_first"] or (len(words) == 1 and first in lists["pronouns"]):
        return False
    padded = f" {' '.join(word.plain for word in words)} "
    return _one_name(said, words) and not any(f" {each} " in padded for each in lists["not_clear"])


def _subject(said: CommandText, words: tuple[Word, ...]) -> bool:
    """Return whether the words can be a name if they follow words such as "forget about", which can
    refer to anything. Any kind of sentence is rejected."""
    doing = words[0].plain.endswith("ing") and said.text[words[0].start].islower()
    sentence = any(word.plain in said.language.subjects["not_named"] for word in words)
    return not doing and not sentence and _one_name(said, words)


def _own(said: CommandText, words: tuple[Word, ...]) -> bool:
    """Return whether the words name something that belongs to a person: "my address", "Sarah's
    birthday"."""
    whose = words[0].plain in said.language.subjects["own"] or any(
        re.search("['’]s$", said.text[word.start : word.end]) for word in words[:-1]
    )
    return whose and len(words) > 1 and _subject(said, words)


def _own_thing(said: CommandText, words: tuple[Word, ...]) -> bool:
    """Return whether the words begin with something that belongs to the user. More words may
    follow."""
    return words[0].plain in said.language.subjects["own"] and _named(said, words)


def _clause(said: CommandText, words: tuple[Word, ...]) -> bool:
    """Return whether the words are a statement of the user: "I'm seeing a therapist", "Tom is
    ill"."""
    first = words[0]
    begins = first.plain in said.language.subjects["clause_first"]
    begins = begins or said.text[first.start].isupper()
    return begins and len(words) > 1 and _one_name(said, words)


def _asking(said: CommandText, words: tuple[Word, ...]) -> bool:
    """Return whether the words are an indirect question about the user: "where I live", "how old my
    son is"."""
    lists = said.language.subjects
    begins = words[0].plain in lists["asking"]
    of_the_user = any(word.plain in lists["asked_of"] for word in words[1:3])
    telling = any(word.plain in lists["not_asking"] for word in words)
    named = begins and of_the_user and not telling and len(words) > 2
    return named and _one_name(said, words)


def _detail(said: CommandText, words: tuple[Word, ...]) -> bool:
    """Return whether the words name a piece of information about a person: "my brother's phone
    number"."""
    return words[-1].plain in said.language.subjects["details"] and _own(said, words)


def _period(said: CommandText, words: tuple[Word, ...]) -> bool:
    """Return whether the words name a period that has begun: "yesterday", "since lunch"."""
    return period(said.named(words), datetime.now(UTC)) is not None


def _statement(said: CommandText, words: tuple[Word, ...]) -> bool:
    """Return whether the words may be a statement to be kept: "my locker code is 4471"."""
    lists, first = said.language.subjects, words[0]
    begins = first.plain in lists["clause_first"] or first.plain in lists["articles"]
    begins = begins or said.text[first.start].isupper()
    return begins and len(words) > 2


def _correction(said: CommandText, words: tuple[Word, ...]) -> bool:
    """Return whether the words may correct something: "it's Tuesday"."""
    return words[0].plain in said.language.subjects["correction_first"] and len(words) > 1


ARGUMENT_CHECKS: Mapping[str, Callable[[CommandText, tuple[Word, ...]], bool]] = {
    "named": _named,
    "subject": _subject,
    "own": _own,
    "own_thing": _own_thing,
    "clause": _clause,
    "asking": _asking,
    "detail": _detail,
    "period": _period,
    "statement": _statement,
    "correction": _correction,
}
"""Slot of a command → the function that decides whether some words of an utterance can fill the
slot."""


def _one_name(said: CommandText, words: tuple[Word, ...]) -> bool:
    """Return whether the words are a single name. Pauses are only allowed as in "Dr. Who" or "Ann,
    Ben and Carla". After "and", another name must follow ("the cat", not "try again")."""
    lists = said.language.subjects
    ands = [at for at, word in enumerate(words) if word.plain in lists["ands"]]
    for at, word in enumerate(words[:-1]):
        title = word.pause == "." and (word.plain in lists["titles"] or len(word.plain) == 1)
        series = word.pause == "," and ands and at < ands[-1]
        if word.pause and not title and not series:
            return False
    return all(_named_too(said, words[at + 1 :]) for at in ands)


def _named_too(said: CommandText, words: tuple[Word, ...]) -> bool:
    if not words:
        return False
    lists = said.language.subjects
    definite = words[0].plain in lists["articles"] or said.text[words[0].start].isupper()
    few = len(words) <= 2 and not any(word.plain in lists["not_named"] for word in words)
    return definite or few
