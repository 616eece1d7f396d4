"""Sentences about what the user tells the assistant to keep: a memory, a note or a plan."""

import re

from assistant.language.second_person import spoken_phrase
from assistant.language.sentences import as_sentence

NOTHING = "All right."
OFF_RECORD = "We're off the record, so I'm not keeping anything. Say “back on the record” first."
NOT_KEPT = "All right, I won't keep that."

_SUBJECT_VERB = re.compile(
    r"(?:is|was|isn't|wasn't|will|would|sounds|makes|helps)\b", re.IGNORECASE
)
"""Matches a verb whose subject is "that"."""


def that(text: str, *, english: bool) -> str:
    """Return e.g. "that your dog is called Max", or "this:" and the quoted words if in doubt."""
    phrase = spoken_phrase(text, english=english)
    return f"this: {phrase}" if phrase.startswith('"') else f"that {phrase}"


def sentence(words: str) -> str:
    """Return the user's words as they are stored: "to buy milk" becomes "Buy milk."."""
    _, rest = introduced(words)
    return as_sentence(rest or words)


def introduced(words: str) -> tuple[str, str]:
    """Return the "to" or "that" at the beginning, and the rest; two empty strings if there is no
    such word. "That" as a subject ("that was nice") doesn't count."""
    first, _, rest = words.strip().partition(" ")
    first = first.lower()
    introduces = first == "to" or (first == "that" and not _SUBJECT_VERB.match(rest))
    return (first, rest) if introduces and rest else ("", "")
