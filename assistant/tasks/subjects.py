"""Finds out what a line is about: the day, the budget, the means of transport. English only."""

import re
from functools import cache

from assistant.language.calendar import MONTHS, WEEKDAYS
from assistant.language.numbers import count_words, ordinal_words

_SCALED = rf"(?:(?:a|{count_words()}) )?(?:hundred|thousand)(?: and)?(?: {count_words()})?"
_COUNT = rf"(?:\d[\d,.]*|half an?|{_SCALED}|{count_words()}|an?|(?:a )?(?:dozen|couple of))"
_THING = {
    "budget": r"budget|spend(?:ing)?|afford|at most|no more than",
    "journey": r"trains?|planes?|flights?|fly(?:ing)?|drive|driving|buse?s?|coach|ferry|boat"
    r"|bikes?|cycle|cycling|cars?|van|taxi|tram|metro",
    "lodging": r"hotels?|hostels?|airbnb|apartments?|guest ?house|b ?(?:&|and) ?b|campsite"
    r"|camp(?:ing)?|tents?|cottage|villa|cabin|bnb|inn|lodge",
    "food": r"cakes?|menu|dinner|lunch|breakfast|brunch|buffet|barbecue|bbq|pizzas?|catering"
    r"|caterer|starters?|desserts?|puddings?|snacks?|drinks?|wine|beer|food|meals?|vegetarian"
    r"|vegan",
    "place": r"venue|restaurant|hall|garden|pub|caf[eé]|park|house|room|club|centre"
    r"|center|church|school|beach|gallery|museum|barn|marquee|hall|office",
    "theme": r"theme|colou?rs?|music|band|playlist|decorations?|invitations?|presents?|gifts?",
}
_PLAN_NOUNS = (
    r"days?|dates?|time|start|deadline|length|guests?|number|list|plan|party|trip|meeting|ceremony"
    r"|topic|speaker|agenda|title|material|paint|floor|tiles?|size|route|stops?|rule|order"
)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    nth = rf"(?:{ordinal_words()}|\d{{1,2}}(?:st|nd|rd|th))"
    months, days = "|".join(MONTHS), "|".join(WEEKDAYS)
    found = {name: rf"\b(?:{words})\b" for name, words in _THING.items()}
    found["money"] = (
        rf"[£$€]\s?\d[\d,.]*|\b{_COUNT} (?:euros?|pounds?|dollars?|quid|bucks?|grand"
        r"|francs?|cents?|pence)\b"
    )
    found["day"] = (
        rf"\b(?:the )?{nth} (?:of )?(?:{months})\b|\b(?:{months}) (?:the )?(?:{nth}|\d{{1,2}})\b"
        rf"|\b(?:{days})s?\b|\b(?:{months.replace('May|', '').replace('March|', '')})\b"
        rf"|\b(?:in|of|early|late|mid|next|this) (?:May|March)\b|\bMay {nth}"
        rf"|\b(?:the |on )?{nth}(?: of\b|$)|\bthe {nth}\b(?! (?:floor|time|one|day|class|option))"
        r"|\b(?:today|tomorrow|weekend|christmas|easter|new year)\b"
        r"|\b(?:next|this) (?:week|month|year|spring|summer|autumn|winter)\b"
    )
    found["time"] = (
        r"\b\d{1,2}(?::\d\d| ?[ap]\.?m\b)|o'clock\b|\b(?:half|quarter) (?:past|to)\b"
        rf"|\bhalf {count_words()}\b|\bnoon\b"
        r"|\bmidnight\b|\b(?:at|from|by|until|till) (?:about |around )?"
        rf"(?:\d{{1,2}}|{count_words()})(?=$|[,.]| (?:in the|sharp|latest|tomorrow|on|at|now|for"
        rf"|with|and|to|o'clock)\b)"
        r"|\b(?:morning|afternoon|evening|lunchtime|night)\b(?!s)"
    )
    found["length"] = rf"\b{_COUNT}(?: and a half)? (?:nights?|days?|weeks?|hours?|months?)\b"
    found["people"] = (
        rf"\b{_COUNT}(?: \w+)? (?:people|persons?|guests?|adults?|kids|children|friends|of us)\b"
        rf"|\bjust (?:the two of )?us\b|\bwe(?:'re|'ll be| are| will be) {_COUNT}\b|\bkids\b"
    )
    found["budget"] += f"|{found['money']}"
    return {name: re.compile(each, re.IGNORECASE) for name, each in found.items()}


_PLANNED = re.compile(rf"\b(?:{'|'.join(_THING.values())}|{_PLAN_NOUNS})\b", re.IGNORECASE)
_ENDS = re.compile(
    r"\b(?:back|returns?|returning|home|until|till|to the|ends?|leave again)\b", re.IGNORECASE
)
_BEGINS = re.compile(
    r"\b(?:out|arrive|arriving|starts?|begins?|from|leave|leaving|depart\w*)\b", re.IGNORECASE
)
VALUES = frozenset({"day", "time", "budget", "length", "people"})
"""Subjects whose values have a recognisable pattern."""


def subjects(text: str) -> frozenset[str]:
    """Return the common subjects that a line is about, such as a day or a budget."""
    return frozenset(name for name, each in _patterns().items() if each.search(text)) - {"money"}


def names_part(text: str) -> bool:
    """Whether a text names something that is planned: "the budget", "our menu"."""
    return _PLANNED.search(text) is not None


def span_of(subject: str, text: str) -> tuple[int, int] | None:
    """Return the range [start, end) of the words in a text that are about a subject; None
    unless there is exactly one such range."""
    pattern = _patterns()["money" if subject == "budget" else subject]
    found = [each.span() for each in pattern.finditer(text)]
    return found[0] if len(found) == 1 else None


def other_end(one: str, other: str) -> bool:
    """Whether one text is about the beginning of something, and the other about its end."""
    return any(
        _BEGINS.search(a) and _ENDS.search(b) and not _ENDS.search(a)
        for a, b in ((one, other), (other, one))
    )
