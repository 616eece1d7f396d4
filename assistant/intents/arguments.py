"""Decides whether the words in a command's slot can name something.

After "forget everything about", nearly anything can be a name. After "forget about", only what
surely is not a sentence: people also say that about dinner, or about their hopes. Each check takes
the whole text, the words in the slot, and the language.
"""

import re
from collections.abc import Callable, Mapping

from assistant.intents.grammar import CommandLanguage
from assistant.intents.normalisation import Word


def _named(text: str, words: tuple[Word, ...], spoken: CommandLanguage) -> bool:
    """After words that are surely about memories: nearly anything, except a second sentence."""
    first = words[0].plain
    if first in spoken.unnamed_first or (len(words) == 1 and first in spoken.pronouns):
        return False
    padded = f" {' '.join(word.plain for word in words)} "
    return _one_name(text, words, spoken) and not any(
        f" {each} " in padded for each in spoken.not_clear
    )


def _subject(text: str, words: tuple[Word, ...], spoken: CommandLanguage) -> bool:
    """After words that can be about many things ("forget about"): a name and nothing more."""
    doing = words[0].plain.endswith("ing") and text[words[0].start].islower()
    sentence = any(word.plain in spoken.not_named for word in words)
    return not doing and not sentence and _one_name(text, words, spoken)


def _own(text: str, words: tuple[Word, ...], spoken: CommandLanguage) -> bool:
    """Something belonging to the user or somebody else: "my address", "Sarah's birthday"."""
    whose = words[0].plain in spoken.own or any(
        re.search("['’]s$", text[word.start : word.end]) for word in words[:-1]
    )
    return whose and len(words) > 1 and _subject(text, words, spoken)


def _own_thing(text: str, words: tuple[Word, ...], spoken: CommandLanguage) -> bool:
    """Something belonging to the user, with or without more words about it."""
    return words[0].plain in spoken.own and _named(text, words, spoken)


def _clause(text: str, words: tuple[Word, ...], spoken: CommandLanguage) -> bool:
    """Something the user said, as a sentence: "I'm seeing a therapist", "Tom is ill"."""
    first = words[0]
    begins = first.plain in spoken.clause_first or text[first.start].isupper()
    return begins and len(words) > 1 and _one_name(text, words, spoken)


def _asking(text: str, words: tuple[Word, ...], spoken: CommandLanguage) -> bool:
    """Something the user said, as an indirect question: "where I live", "how old my son is"."""
    begins = words[0].plain in spoken.asking
    of_the_user = any(word.plain in spoken.asked_of for word in words[1:3])
    telling = any(word.plain in spoken.not_asking for word in words)
    named = begins and of_the_user and not telling and len(words) > 2
    return named and _one_name(text, words, spoken)


def _detail(text: str, words: tuple[Word, ...], spoken: CommandLanguage) -> bool:
    """Something of the user's that can only be a piece of information: "my brother's phone
    number"."""
    return words[-1].plain in spoken.details and _own(text, words, spoken)


ARGUMENT_CHECKS: Mapping[str, Callable[[str, tuple[Word, ...], CommandLanguage], bool]] = {
    "named": _named,
    "subject": _subject,
    "own": _own,
    "own_thing": _own_thing,
    "clause": _clause,
    "asking": _asking,
    "detail": _detail,
}
"""By slot: whether these words can be what the user names in it."""


def _one_name(text: str, words: tuple[Word, ...], spoken: CommandLanguage) -> bool:
    """Whether these words are a single name: no pauses except in "Dr. Who" or "Ann, Ben and Carla",
    and only names after "and" ("the cat", not "try again")."""
    ands = [at for at, word in enumerate(words) if word.plain in spoken.ands]
    for at, word in enumerate(words[:-1]):
        title = word.pause == "." and (word.plain in spoken.titles or len(word.plain) == 1)
        series = word.pause == "," and ands and at < ands[-1]
        if word.pause and not title and not series:
            return False
    return all(_named_too(text, words[at + 1 :], spoken) for at in ands)


def _named_too(text: str, words: tuple[Word, ...], spoken: CommandLanguage) -> bool:
    if not words:
        return False
    definite = words[0].plain in spoken.articles or text[words[0].start].isupper()
    few = len(words) <= 2 and not any(word.plain in spoken.not_named for word in words)
    return definite or few
