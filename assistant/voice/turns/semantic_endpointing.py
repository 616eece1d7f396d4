"""Judges whether words sound finished: a second opinion on the end of a turn, beside its sound.

"To lock the conference" with a falling tone sounds finished, but its words wait for the rest. The
lists are short on purpose: a word counts as dangling only if it hardly ever ends a turn.
"""

import re
from enum import Enum, auto

_ARTICLES = "a an the my your his our their its every"
_PREPOSITIONS = "of at into onto from with without between during toward towards against as to"
_CONJUNCTIONS = "and or but nor because although though unless until whereas than if whether"
_BEGINNINGS = "is are was were am be been i'm you're he's she's it's we're they're i'll gonna wanna"
_NAMING = "called named currently um uh er erm"
_NO_END = frozenset(
    " ".join((_ARTICLES, _PREPOSITIONS, _CONJUNCTIONS, _BEGINNINGS, _NAMING)).split(" ")
)
_NO_QUESTION_END = frozenset(f"{_ARTICLES} {_CONJUNCTIONS}".split(" "))
"""Unlike the other endings, these can't end a question either; "Who is it from?" can."""
_OPENERS = frozenset(("if", "although", "though", "because", "unless", "while", "whereas", "once"))
_INFINITIVE = re.compile(
    r"to (?!(?:me|you|him|her|it|us|them|the|a|an|my|your|this|that)\b)\w+ \w+"
)
_MAIN_CLAUSE_AFTER = re.compile(r",\s*\w+\s+\w+")
LONGEST_OPENING = 14
"""Words; a longer sentence probably contains its main clause, comma or not."""


class Completeness(Enum):
    FINISHED = auto()
    """Ends like a sentence."""
    OPEN = auto()
    """Could be either: "stop", "nineteen eighty"."""
    DANGLING = auto()
    """Something must follow."""


def completeness_of(text: str, language: str = "en") -> Completeness:
    """How complete `text` is, as written by the recogniser."""
    stripped = text.strip()
    if stripped.endswith(("...", "…", ",", "-", "–", "—", ":")):
        return Completeness.DANGLING
    ends_sentence = stripped.endswith((".", "!", "?", "。", "！", "？"))
    if language in ("en", "auto") and _dangles(stripped):
        return Completeness.DANGLING
    return Completeness.FINISHED if ends_sentence else Completeness.OPEN


def _dangles(text: str) -> bool:
    words = re.findall(r"[\w']+", text.lower().replace("’", "'"))
    if len(words) < 2:
        return False
    question = text.endswith("?")
    if words[-1] in (_NO_QUESTION_END if question else _NO_END):
        return True
    if question or len(words) > LONGEST_OPENING or _MAIN_CLAUSE_AFTER.search(text):
        return False
    return words[0] in _OPENERS or _INFINITIVE.match(" ".join(words)) is not None
