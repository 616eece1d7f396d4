"""Recognises questions that ask for no topic, only for what was said: "what did we talk about last
week?". English only. Any other question gets no summaries, since the turns a summary is based on
are the better answer.

That is also true of "what have I told you about the house?". As measured
(`scripts/eval_summaries.py`), the turns about the house, found by words and meaning, tell more
about it in the same space than summaries, which are mostly about other things.
"""

import re
from dataclasses import dataclass
from datetime import date

from assistant.language.calendar import MONTHS, WEEKDAYS
from assistant.language.normalisation import content_words
from assistant.language.numbers import NUMBERS
from assistant.language.time_expressions import find_time_expressions
from assistant.language.word_lists import listed

_SAID = (
    r"(?:talk(?:ed|ing)?|sp(?:eak|oke|oken|eaking)|chat(?:ted|ting)?|discuss(?:ed|ing)?|sa(?:y|id)"
    r"|t(?:ell|old)(?:ing)?|mention(?:ed|ing)?|cover(?:ed)?)"
)
_SPOKEN = re.compile(
    rf"\bwhat (?:all )?(?:did|have|had|were|was|do|is it) (?:i|we)"
    rf" (?:\w+ ){{0,2}}?{_SAID}(?: (?:to )?you| me)?(?: so far| lately| recently)?"
    r"(?P<rest> (?:about|on|regarding|of)\b.*|.*)$"
)
"""What we said, told, mentioned; `rest` says about what, or when."""
_BROAD = re.compile(
    r"\b(?:sum(?:med|ming)? up|summar(?:y|i[sz]e|i[sz]ing)|recap|overview|run[ -]?down"
    r"|catch me up|bring me up to (?:date|speed)|run me through|go through everything"
    r"|the whole story|everything (?:that )?(?:about|on|i|we|you)"
    r"|all (?:that )?(?:i|we)(?:'ve| have)? (?:said|told)"
    r"|tell me (?:all|what you (?:know|remember)) (?:about|of)"
    r"|what (?:do|can) you (?:know|remember) (?:about|of|from)|what was (?:all )?that about"
    r"|what was all that|(?:last|previous|yesterday's|latest) (?:conversation|chat|talk)"
    r"|what(?:'s| is| has|'s been| has been) (?:been )?(?:going on|happening|new|up)"
    r"|how (?:has|have|had|is|are|'s)\b.* (?:been(?: going| doing)?|going|coming along|getting on)"
    r"|how did (?:it|things) go with|(?:which|who|what) (?:\w+ ){1,5}?have i (?:told|mentioned))\b"
)
_LATEST = re.compile(
    r"\b(?:last|previous|latest) (?:conversation|chat|talk|time)\b|\bwhat were we (?:just )?talking"
    r" about$"
)
_DETAIL = re.compile(
    r"\b(?:is|are|was|were|is called|name|costs?|when|where|who|how (?:many|much|old|long|far))\b"
)
"""After "what did I say …", these ask for one particular thing."""
NO_TOPIC = frozenset(
    listed(
        "a about again all am an and any are at been being before bring can catch chat chatted"
        " chatting coming conversation conversations cover covered date day days did discuss"
        " discussed discussing do does doing else everything far for from get getting give go going"
        " had happened happening has have how i i've in is it keep know last lately latest let life"
        " me mention mentioned month months my new of on our over overview past please previous"
        " recap recently regarding remember remind run said say saying so some speak speaking spoke"
        " spoken story sum summarise summarize summary talk talked talking tell telling that the"
        " things this through time to today told up us was we week weeks were what what's which"
        " whole with year yesterday yesterday's you you've ago these those between since ada"
    )
).union((name.lower() for name in (*WEEKDAYS, *MONTHS)), NUMBERS)
"""Words of such questions; any other word is a topic."""


@dataclass(frozen=True, slots=True)
class RecapQuestion:
    """A question for a recap. `since` and `until` are days, both included; None if not named.
    `latest`: it asks about the last conversation."""

    since: date | None = None
    until: date | None = None
    latest: bool = False


def parse_recap_question(text: str, today: date) -> RecapQuestion | None:
    """The recap that a question asks for; None if it asks for something else.

    >>> parse_recap_question("What did we talk about yesterday?", date(2026, 3, 10)).since
    datetime.date(2026, 3, 9)
    """
    plain = " ".join(text.lower().replace("’", "'").split()).rstrip("?!. ")
    spoken = _SPOKEN.search(plain)
    if not _BROAD.search(plain) and (spoken is None or _DETAIL.search(spoken["rest"])):
        return None
    time = find_time_expressions(plain, today)
    if {word for word in content_words(time.rest) if not word.isdigit()} - NO_TOPIC:
        return None
    since = min((span.first for span in time.spans), default=None)
    until = max((span.last for span in time.spans), default=None)
    return RecapQuestion(since, until, bool(_LATEST.search(plain)))
