"""Understands the user's answers to questions that the assistant has asked about a command."""

import re
from collections.abc import Iterator, Sequence

from assistant.intents.command_text import CommandText, Word, normalised
from assistant.intents.grammar import CommandLanguage, bare, language, line
from assistant.intents.recogniser import ENGLISH
from assistant.language.dialogue_acts import is_question
from assistant.language.stemming import TextAnalyzer

LONGEST_CHOICE = 12
"""Maximum number of words of an answer that chooses one of several things."""
ALL = -1
"""The choice of all things that were named."""
OTHER = -2
"""The choice of "the other one"."""
_PLACES = {"first": 0, "second": 1, "third": 2}


def sounds_like_undo(text: str) -> bool:
    """Return whether `text` is a typical mishearing of "undo". Use this only right after the
    assistant has said "say undo", because the text may also be ordinary talk: "I knew that"."""
    return bare(normalised(text)).removesuffix(" please") in language(ENGLISH).undo


def yes_or_no(
    text: str,
    names: tuple[str, ...] = (),
    *,
    explained: bool = False,
    deletes: int = 0,
    for_words: bool = False,
) -> bool | None:
    """Return whether `text` answers yes or no to a question that the assistant has just asked.

    Return None if `text` contains neither, contains both, or is itself a question. The user has
    then agreed to nothing.

    Args:
        explained: whether a no may be followed by any explanation: "No, I still need it for court".
            Don't use this for commands: "No, my sister is called Anna". After a yes, only words
            that confirm it may follow.
        deletes: the number of things that a yes would forget. "Delete it" is a yes, and "keep it" a
            no, only if this isn't 0. "Drop it" may also mean "never mind", so it is a yes only for
            a single thing.
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
        done = len(words) - rest.count(" ")
        unbroken = line(_until_pause(words[done:]))
        found = [
            (match.end(), means)
            for shape, means in shapes
            if (match := shape.match(unbroken if shape is spoken.discard else rest))
        ]
        end, means = max(found, key=lambda each: each[0], default=(0, None))
        if means is None:
            explains = explained and meant == {False} and not said.is_question
            paused = any(word.pause for word in words[:done])
            return False if explains and (paused or spoken.why_not.match(rest)) else None
        meant |= means
        rest = rest[end:]
    return meant.pop() if len(meant) == 1 else None


def _until_pause(words: Sequence[Word]) -> Iterator[str]:
    for word in words:
        yield word.plain
        if word.pause:
            return


def _shapes(
    spoken: CommandLanguage, *, deletes: int, for_words: bool
) -> Iterator[tuple[re.Pattern[str], frozenset[bool] | None]]:
    """Yield patterns for parts of an answer, each with its meaning: yes, no or neither. A meaning
    of None shows that the words don't answer this kind of question."""
    yes, no, neither = frozenset({True}), frozenset({False}), frozenset[bool]()
    yield spoken.yes, yes
    yield spoken.no, no
    yield spoken.delete, yes if deletes else None
    yield spoken.discard, yes if deletes else None
    yield spoken.dismiss, (yes if deletes == 1 else neither) if deletes else None
    yield spoken.keep, no if deletes else None
    yield spoken.drop, neither if deletes else no
    yield spoken.beside, neither
    if for_words:
        yield spoken.nothing, no


def chosen(
    text: str,
    options: tuple[str, ...],
    names: tuple[str, ...] = (),
    *,
    deletes: int = 0,
) -> int | None:
    """Return the index of the option that `text` chooses, `ALL` for all of them, or None.

    An option is chosen by its position ("the second one"), or by words that only it contains ("I
    mean the French one"). Any other content word shows that something else is meant. "The other
    one" is the second of two, or the one that is left: "Not the code, the other one". "No, the
    other one" chooses nothing. If there is only one option, nothing is chosen after a "no".

    Args:
        deletes: as for `yes_or_no`. "Forget the code" is a choice only if this isn't 0.
    """
    meant = _meant(text, options, names, deletes=bool(deletes))
    if meant is None:
        return None
    picks, refusals = meant
    denied = _denied(text, names)
    if denied and len(options) == 1:
        return None
    if OTHER in picks:
        left = set(range(len(options))) - refusals if refusals else set[int]()
        second = {1} if len(options) == 2 and not refusals and not denied else set[int]()
        picks = picks - {OTHER} | left | second
    clear = len(picks) == 1 and not picks & refusals and not (refusals and ALL in picks)
    return picks.pop() if clear else None


def refused(text: str, options: tuple[str, ...], names: tuple[str, ...] = ()) -> int | None:
    """Return the index of the option that `text` refuses without choosing another: "Not the first
    one". Return None if `text` does anything else."""
    picks, refusals = _meant(text, options, names, deletes=False) or (set(), set())
    found = refusals.pop() if not picks and len(refusals) == 1 else ALL
    return found if found >= 0 else None


def _denied(text: str, names: tuple[str, ...]) -> bool:
    """Return whether the answer has a word that by itself means no."""
    spoken = language(ENGLISH)
    words = CommandText(text, spoken, names).unaddressed()
    return any(spoken.no.fullmatch(f"{word.plain} ") for word in words)


def _meant(
    text: str, options: tuple[str, ...], names: tuple[str, ...], *, deletes: bool
) -> tuple[set[int], set[int]] | None:
    """Return what the parts of an answer choose, and what they refuse. Return None if a part is
    unclear, or if the answer is worded as a question. A question mark alone doesn't make it a
    question, because the user's voice may just have risen."""
    spoken = language(ENGLISH)
    words = CommandText(text, spoken, names).unaddressed()
    if len(words) > LONGEST_CHOICE or is_question(text.rstrip(" ?")):
        return None
    picks, refusals = set[int](), set[int]()
    for part in _parts(words, spoken):
        refuses = spoken.choices["refused"].match(part)
        place = _place(part[refuses.end() :] if refuses else part, options, deletes=deletes)
        if place is None:
            return None
        (refusals if refuses else picks).add(place)
    return picks, refusals


def _parts(words: tuple[Word, ...], spoken: CommandLanguage) -> Iterator[str]:
    """Yield the parts of an answer, without "no" and the like at their beginning. Only an answer
    that refuses something has several: "No, not the code but the other one"."""
    several = spoken.choices["negated"].search(line(["", *(word.plain for word in words)]))
    part = ""
    for word in words:
        plain = f"{word.plain} "
        if several and part and spoken.choices["breaks"].fullmatch(plain):
            yield part
            part = ""
        if not (several and not part and spoken.choices["lead"].fullmatch(plain)):
            part += plain
        if several and word.pause and part:
            yield part
            part = ""
    if part:
        yield part


def _place(said: str, options: tuple[str, ...], *, deletes: bool) -> int | None:
    """Return the index of the option that these words name, `ALL` or `OTHER`; None if they name
    none, or could name two."""
    choices = language(ENGLISH).choices
    stray = choices["around"].pattern + (f"|{choices['forgotten'].pattern}" if deletes else "")
    around = re.compile(rf"(?<!\S)(?:{stray})")
    bare_said = around.sub("", said)
    if choices["negated"].search(f" {said}") or choices["own"].search(f" {bare_said}"):
        return None
    lexicon = TextAnalyzer(ENGLISH)
    stems = [lexicon.content_and_numbers(option) for option in options]
    dropped = lexicon.content_and_numbers(" ".join(around.findall(said)))
    named = lexicon.content_and_numbers(said) - dropped
    places = {"all": ALL, "other": OTHER, "last": len(options) - 1, **_PLACES}
    for name, place in places.items():
        if choices[name].fullmatch(said) or choices[name].fullmatch(bare_said):
            if place < 0:
                return place
            if not place < len(options) > 1:
                return None
            named |= {f"#{place + 1}"}
            others = [each - stems[place] for each in stems]
            return place if not any(named & each for each in others) else None
    fitting = [at for at, each in enumerate(stems) if named and named <= each]
    return fitting[0] if len(fitting) == 1 else None
