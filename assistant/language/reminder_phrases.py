"""Makes the topic of a reminder part of a sentence: "to call your sister", "about the bins", "that
the rent is due". English only."""

import re

from assistant.language.enumerations import names_act
from assistant.language.second_person import spoken_topic
from assistant.language.word_lists import words_of

_UNNEEDED = re.compile(
    r"(?:please |and )?(?:(?:i )?(?:don't|do not|mustn't|must not|can't|shouldn't)|not to|to not)"
    r" forget ",
    re.IGNORECASE,
)
_NEEDED = re.compile(
    r"(?:that )?(?:i|we)(?:(?:'ve| have)(?: got)? to|'m supposed to|(?: still| really)?"
    r" (?:need|have|want|ought|got) to| (?:must|should|gotta)) (?!not\b)",
    re.IGNORECASE,
)
_NOT = re.compile(r"(?:to )?(?:don't|do not|not to|to not) ", re.IGNORECASE)
_INTRODUCED = re.compile(r"(?:to|that|about|of) ", re.IGNORECASE)
_ASKED = re.compile(r"(?:what|when|where|who|whose|which|how|why|whether|if)\b", re.IGNORECASE)
_SUBJECT = re.compile(r"(?:i|you|he|she|it|we|they|there)(?:'\w+)?|(?:that|this)'s", re.IGNORECASE)
LOOKED_AT = 5
"""Number of words at the start of a phrase that are searched for the verb of a clause."""


def reminder_of(words: str) -> str:
    """Return the topic of a reminder, in the second person.

    >>> reminder_of("I need to call my sister"), reminder_of("the car needs fuel")
    ('to call your sister', 'that the car needs fuel')
    """
    plain = " ".join(words.replace("’", "'").split()).strip(" .,!?")
    plain = _NEEDED.sub("to ", _UNNEEDED.sub("", plain, count=1), count=1)
    if found := _NOT.match(plain):
        return f"not to {_lowered(spoken_topic(plain[found.end() :]))}"
    phrase = spoken_topic(plain)
    if _INTRODUCED.match(phrase):
        return _lowered(phrase)
    if _ASKED.match(phrase):
        return f"about {_lowered(phrase)}"
    if _is_clause(phrase):
        return f"that {phrase}"
    return f"about {phrase}" if _is_thing(phrase) else f"to {_lowered(phrase)}"


def _is_clause(phrase: str) -> bool:
    """Return whether the phrase has a subject and a verb."""
    words = phrase.lower().split()[:LOOKED_AT]
    if len(words) < 2 or names_act(phrase):
        return False
    if _SUBJECT.fullmatch(words[0]):
        return True
    after = 2 if words[0] in words_of("reminders", "begin_thing") else 1
    finite = words_of("reminders", "finite")
    for place in range(1, len(words)):
        if _SUBJECT.fullmatch(words[place]) or words[place] in ("that", "which", "who", "to"):
            return False  # a relative clause, not the verb: "the things you need"
        is_short = place <= after and words[place - 1].endswith("'s")
        follows = words[place] in words_of("reminders", "after_is") or words[place].endswith("ing")
        if (is_short and follows) or (place >= after and words[place] in finite):
            return True
    return False


def _is_thing(phrase: str) -> bool:
    """Return whether the phrase is a thing or a person, not something to do."""
    words = phrase.split()
    lower = [each.lower() for each in words]
    first, last = (lower[0], lower[-1]) if lower else ("", "")
    events = words_of("reminders", "events")
    if len(words) == 1:
        return first not in words_of("reminders", "alone")
    before_name = words[1].istitle()
    if names_act(phrase) or (before_name and first in words_of("lists", "verbs_or_nouns")):
        return False
    named = words[0].istitle() and before_name and first not in words_of("lists", "verbs")
    event = len(words) == 2 and last in events and first not in words_of("lists", "verbs_or_nouns")
    joined = lower[1] in words_of("reminders", "join_events")
    begins = first in (events if joined else words_of("reminders", "begin_thing"))
    return named or event or begins or first.endswith(("'s", "s'", "ing")) or first.isdecimal()


def _lowered(phrase: str) -> str:
    return phrase[:1].lower() + phrase[1:]
