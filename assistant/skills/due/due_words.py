"""Sentences about timers, alarms and reminders."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from assistant.language.calendar import WEEKDAYS
from assistant.language.enumerations import joined
from assistant.language.numbers import number_word
from assistant.language.reminder_phrases import reminder_of
from assistant.language.repeats import Repeat
from assistant.language.second_person import spoken_topic
from assistant.language.spoken_times import (
    spoken,
    spoken_clock,
    spoken_duration,
    spoken_repeat,
)
from assistant.skills.due.due_times import Content
from assistant.state import EntryKind

RUNG_ALREADY = "That has rung already."
MOST = 5
"""Maximum number of things that one reply names."""
EXACT_S = 600
"""If a timer has at most this many seconds left, seconds are spoken, too."""
COARSE_S = 10
"""If more than a minute is left, the seconds are rounded to multiples of this number."""
_ONE_UNIT = re.compile(r"([\w-]+ (?:second|minute|hour|day|week))s?")
_ARTICLE = re.compile(r"(?:the|a|an) ", re.IGNORECASE)
_AFTER_NAME = re.compile(r" (?:timer|alarm|one)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DueThing:
    """Something that is due. `at` is local time."""

    kind: EntryKind
    content: Content
    at: datetime


# -- names --------------------------------------------------------------------------------------


def bare_name(name: str) -> str:
    """Return a name as it is stored: "the pasta timer" becomes "pasta"."""
    plain = _AFTER_NAME.sub("", " ".join(name.split()).strip(" .,!?;:"))
    return _ARTICLE.sub("", plain, count=1)


def timer_choice(content: Content) -> str:
    """Return the name of a timer in a question that offers several: "pasta", or "ten minutes"."""
    return spoken_topic(content["name"]) or spoken_duration(content["length_s"])


def the_timer(content: Content) -> str:
    """Return "the pasta timer", "the ten minute timer" or "the timer for an hour and a half"."""
    name, length = spoken_topic(content["name"]), spoken_duration(content["length_s"])
    if name:
        return (
            f"{name} timer" if name.startswith(("your ", "his ", "her ")) else f"the {name} timer"
        )
    unit = _ONE_UNIT.fullmatch(length)
    return f"the {unit[1]} timer" if unit else f"the timer for {length}"


# -- times --------------------------------------------------------------------------------------


def time_words(content: Content, at: datetime, now: datetime) -> str:
    """Return when something is due: "at nine tomorrow", "every weekday at half past six". If it
    repeats, a snooze is not mentioned.

    Args:
        at: local time at which it is due next.
        now: local time.
    """
    if "repeat" in content:
        repeat = Repeat.from_json(content["repeat"])
        return spoken_repeat(repeat, datetime.fromisoformat(content["local"]))
    return spoken(at.replace(tzinfo=None), now.replace(tzinfo=None))


def for_time(words: str) -> str:
    """Return the words for a time as they stand after "alarm for": "nine tomorrow", "Friday at
    half past seven"."""
    return re.sub(r"^(?:at|on) ", "", words)


def left(seconds: float) -> str:
    """Return how long a timer still runs: "about fourteen minutes", "four minutes and ten
    seconds"."""
    if seconds > EXACT_S:
        return f"about {spoken_duration(60 * round(seconds / 60))}"
    if seconds > 60:
        seconds = COARSE_S * round(seconds / COARSE_S)
    return spoken_duration(seconds)


# -- sentences ----------------------------------------------------------------------------------


def listed(names: Sequence[str]) -> str:
    """Join names: "a, b and c". If there are many, the last ones are only counted: "a, b, c, d, e,
    and three more"."""
    return joined(names, most=MOST)


def series(phrases: Sequence[str]) -> str:
    """Join phrases that contain commas: "a; b; and c". If there are many, the last ones are
    only counted."""
    more = len(phrases) - MOST
    shown = [*phrases[:MOST], f"{number_word(more)} more"] if more > 0 else list(phrases)
    return "; ".join([*shown[:-1], f"and {shown[-1]}"] if shown[1:] else shown)


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def ring_words(things: Sequence[DueThing], now: datetime) -> str:
    """Return what is said while things ring: "The pasta timer is done. It's seven o'clock."."""
    said = list(dict.fromkeys(_ringing(each, now) for each in things))
    more = len(said) - MOST
    if more > 0:
        said = [*said[:MOST], f"And there {'is' if more == 1 else 'are'} {number_word(more)} more."]
    return " ".join(said)


def missed_words(things: Sequence[DueThing], now: datetime) -> str:
    """Return the sentence that tells what was due while the assistant was off."""
    names = [_missed(each, now) for each in things]
    return f"While I was off, {listed(names)} {'were' if len(names) > 1 else 'was'} due."


def clock_now(now: datetime) -> str:
    """Return "seven o'clock", "half past seven" or "noon"."""
    clock = spoken_clock(now)
    on_the_hour = now.minute == 0 and now.hour not in (0, 12)
    return f"{clock} o'clock" if on_the_hour else clock


def _ringing(thing: DueThing, now: datetime) -> str:
    if thing.kind is EntryKind.TIMER:
        return sentence(f"{the_timer(thing.content)} is done")
    if thing.kind is EntryKind.REMINDER:
        return f"Here's your reminder {reminder_of(thing.content['words'])}."
    name = spoken_topic(thing.content.get("name", ""))
    return f"It's {clock_now(now)}. {f'This is your {name} alarm.' if name else ''}".strip()


def _missed(thing: DueThing, now: datetime) -> str:
    if thing.kind is EntryKind.TIMER:
        return the_timer(thing.content)
    if thing.kind is EntryKind.REMINDER:
        return f"a reminder {reminder_of(thing.content['words'])}"
    days = (now.date() - thing.at.date()).days
    day = ("", " yesterday")[days] if days < 2 else f" on {WEEKDAYS[thing.at.weekday()]}"
    return f"your alarm for {spoken_clock(thing.at)}{day}"
