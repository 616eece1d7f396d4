"""Decides by rules which optional parts the prompt needs for the user's words.

The rules only support English. In other languages, `dated` and `asks` are always true, because a
missing date or memory does more harm than a few extra tokens.
"""

import re
from dataclasses import dataclass

_TIME_WORDS = re.compile(
    r"\b(time|clock|dates?|days?|today|tonight|tomorrow|yesterday|now|current(ly)?|mornings?|"
    r"evenings?|afternoons?|nights?|weeks?|weekends?|months?|years?|hours?|minutes?|when|ago|since|"
    r"until|till|next|last|soon|later|late|early|age|old|birthdays?|calendar|schedule|remind|"
    r"alarm|timer|seasons?|summer|winter|spring|autumn|fall|christmas|easter|holidays?|"
    r"(mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|"
    r"september|october|november|december|(19|20)\d\d)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\?|\b(what|which|who(m|se)?|where|when|why|how|tell|remind|remember|recall|recommend|suggest|"
    r"know|(am|was|were|do|did|have|had|can|could|should|will|would) (i|we|you|my|our))\b",
    re.IGNORECASE,
)
_ASKS_WHEN = re.compile(
    r"\b(when|since|ago|how (long|old|often|recent|many (hours|days|weeks|months|years))|"
    r"(what|which) (date|day|time|week|month|year)|(first|last) time)\b",
    re.IGNORECASE,
)
_LOOKS_BACK = re.compile(
    r"\b(was|were|did|had|used to|before|previous(ly)?|former(ly)?|earlier|original(ly)?|once|old|"
    r"ago|since|until|change[ds]?|moved?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class QuestionCues:
    """What the user's newest words require of the rest of the prompt.

    `dated`: the answer may depend on the date. Otherwise the prompt has no date: small models
    repeat a date that nobody asked for, and every token delays the answer. `asks`: the words may
    ask about something remembered. `exact`: the words ask for a date or a length of time. Memories
    then have dates: "yesterday", "last Tuesday", and "on 5 May" if older. `past`: the words are
    about the past. Superseded memories are then included, after all others. Otherwise they are left
    out, because small models answer from any memory that resembles the question, even one marked as
    outdated.
    """

    words: str = ""
    dated: bool = True
    asks: bool = True
    exact: bool = False
    past: bool = False

    @classmethod
    def of(cls, words: str, language: str) -> "QuestionCues":
        """Find the cues in the user's words.

        Args:
            language: an ISO 639-1 code, as in the settings.
        """
        english = language.startswith("en")
        return cls(
            words,
            dated=not english or _TIME_WORDS.search(words) is not None,
            asks=not english or _ASKS.search(words) is not None,
            exact=_ASKS_WHEN.search(words) is not None,
            past=_LOOKS_BACK.search(words) is not None,
        )
