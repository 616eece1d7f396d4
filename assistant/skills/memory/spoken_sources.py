"""Makes spoken sentences about what was said, and when. They are made from stored data, never by
the language model."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from assistant.language.second_person import spoken_phrase
from assistant.language.speakers import USER
from assistant.language.spoken_times import briefly, precisely
from assistant.memory import ADDED_BY_USER, MemoryKind, Things, ToldItem, spoken_replies

NAMED = spoken_replies.NAMED


def things(items: Iterable[ToldItem], *, english: bool = True) -> Things:
    """Return the ids of the things that a reply names, which are the first `NAMED`. As in the
    reply, things with the same phrase count as one."""
    named: dict[str, list[str]] = {}
    for each in items:
        phrase = spoken_phrase(each.text, each.speaker, english=english)
        if phrase not in named and len(named) == NAMED:
            break
        named.setdefault(phrase, []).append(each.id)
    return tuple(map(tuple, named.values()))


def told(sources: Sequence[ToldItem], now: datetime, *, english: bool = True) -> str:
    """Return a sentence for each of the first `NAMED` sources: "You told me on Monday that your
    sister is called Anna." Sources with the same phrase count as one.

    Args:
        now: local wall time.
    """
    each_once: dict[str, ToldItem] = {}  # a fact and its source may say the same thing
    for each in sources:
        each_once.setdefault(spoken_phrase(each.text, each.speaker, english=english), each)
    first, *others = [
        _sentence(phrase, each, now) for phrase, each in list(each_once.items())[:NAMED]
    ]
    return " ".join([first, *map(_continued, others)])


def told_then(tellings: Sequence[ToldItem], now: datetime, *, english: bool = True) -> str:
    """Return a sentence that says when something was last told and, if it was told more than once,
    when it was told first: "That was yesterday morning: the leak is repaired. The first time was on
    Monday, …"

    Args:
        tellings: newest first.
        now: local wall time.
    """
    newest, first = tellings[0], tellings[-1]
    text = f"That was {_told_then(newest, now, english=english)}"
    if first.when != newest.when:
        text += f" The first time was {_told_then(first, now, english=english)}"
    return text


def _told_then(told: ToldItem, now: datetime, *, english: bool) -> str:
    phrase = spoken_phrase(told.text, english=english)
    return f"{precisely(told.when, now)}: {_ended(phrase)}"


def _sentence(phrase: str, told: ToldItem, now: datetime) -> str:
    memory, when = told.memory, briefly(told.when, now)
    then = f" {when}" if when else ""
    quoted = phrase.startswith('"')
    if told.speaker != USER or phrase.startswith("your question"):
        return f"That goes back to {phrase}{f', {when}' if when else ''}."
    if memory is not None and ADDED_BY_USER in memory.sources:
        return f"You asked me{then} to remember {'this: ' if quoted else 'that '}{_ended(phrase)}"
    if memory is not None and memory.kind is not MemoryKind.EXCHANGE:
        how = "summarised" if memory.kind is MemoryKind.SUMMARY else "noted"
        return f"I {how} that from what you told me{then}: {_ended(phrase)}"
    if quoted:
        return f"You said{then}: {_ended(phrase)}"
    return f"You told me{then} that {_ended(phrase)}"


def _continued(sentence: str) -> str:
    """Join a sentence to the one before it: "You told me" → "And you told me"."""
    small = sentence if sentence.startswith("I ") else f"{sentence[:1].lower()}{sentence[1:]}"
    return f"And {small}"


def _ended(text: str) -> str:
    return text if text.endswith("…") else f"{text}."
