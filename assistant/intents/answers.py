"""Understands the user's answers to questions that the assistant has asked about a command."""

import re
from collections.abc import Iterator

from assistant.intents.command_text import CommandText, normalised
from assistant.intents.grammar import CommandLanguage, bare, language, line
from assistant.intents.recogniser import ENGLISH
from assistant.language.stemming import TextAnalyzer

LONGEST_CHOICE = 8
"""Maximum number of words of an answer that chooses one of several things."""
ALL = -1
"""The choice of all things that were named."""
_PLACES = ("first", "second", "third")


def sounds_like_undo(text: str) -> bool:
    """Return whether `text` is a typical mishearing of "undo". Use this only in the turn after
    the assistant has offered to undo something, when the user is most likely to say "undo"."""
    return bare(normalised(text)).removesuffix(" please") in language(ENGLISH).undo


def yes_or_no(
    text: str,
    names: tuple[str, ...] = (),
    *,
    explained: bool = False,
    deletes: bool = False,
    for_words: bool = False,
) -> bool | None:
    """Return whether `text` answers yes or no to a question that the assistant has just asked.

    Return None if `text` contains neither, contains both, or is itself a question. The user has
    then agreed to nothing.

    Args:
        explained: whether a no may be followed by any explanation: "No, I still need it for court".
            Use this only for what is no command ("No, my sister is called Anna"). A yes may never
            be followed by anything that doesn't confirm it.
        deletes: whether the question is if something shall be forgotten. Only then is "delete it"
            a yes and "keep it" a no.
        for_words: whether the question asks for words. "Nothing" is then a no.
    """
    spoken = language(ENGLISH)
    said = CommandText(text, spoken, names)
    words = said.unaddressed()
    rest = line(word.plain for word in words)
    if said.is_question:
        tag = spoken.tag.search(rest)
        if tag is None:
            return None
        rest = rest[: tag.start()]
    meant: set[bool] = set()
    shapes = list(_shapes(spoken, deletes=deletes, for_words=for_words))
    while rest:
        found = [(match.end(), means) for shape, means in shapes if (match := shape.match(rest))]
        end, means = max(found, key=lambda each: each[0], default=(0, None))
        if means is None:
            done = len(words) - rest.count(" ")
            explains = explained and meant == {False} and not said.is_question
            paused = any(word.pause for word in words[:done])
            return False if explains and (paused or spoken.why_not.match(rest)) else None
        meant |= means
        rest = rest[end:]
    return meant.pop() if len(meant) == 1 else None


def _shapes(
    spoken: CommandLanguage, *, deletes: bool, for_words: bool
) -> Iterator[tuple[re.Pattern[str], frozenset[bool] | None]]:
    """Yield expressions for parts of an answer, each with what it means; None if it answers another
    question."""
    yes, no, neither = frozenset({True}), frozenset({False}), frozenset[bool]()
    yield spoken.yes, yes
    yield spoken.no, no
    yield spoken.delete, yes if deletes else None
    yield spoken.keep, no if deletes else None
    yield spoken.drop, neither if deletes else no
    yield spoken.beside, neither
    if for_words:
        yield spoken.nothing, no


def chosen(text: str, options: tuple[str, ...], names: tuple[str, ...] = ()) -> int | None:
    """Return the index of the option that `text` chooses, `ALL` for all of them, or None.

    An option is chosen by its place ("the second one"), or by words that only it contains ("the
    code"). Any other content word shows that something else is meant.
    """
    spoken = language(ENGLISH)
    words = CommandText(text, spoken, names).unaddressed()
    said = line(word.plain for word in words)
    if not 0 < len(words) <= LONGEST_CHOICE:
        return None
    for name, shape in spoken.choices.items():
        if shape.fullmatch(said):
            place = _PLACES.index(name) if name in _PLACES else ALL
            return place if place < len(options) else None
    lexicon = TextAnalyzer(ENGLISH)
    stems = [lexicon.content_and_numbers(option) for option in options]
    named = lexicon.content_and_numbers(" ".join(word.plain for word in words))
    fitting = [at for at, each in enumerate(stems) if named and named <= each]
    return fitting[0] if len(fitting) == 1 else None
