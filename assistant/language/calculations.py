"""Answers spoken calculations: sums, percentages, conversions of units, days between dates.

A calculation that isn't understood completely gets no answer. Nothing is guessed.
"""

import re
from datetime import datetime

from assistant.language.arithmetic import Impossible, Unreadable, has_operation
from assistant.language.calculation_forms import CONVERSIONS, bracketed, forms, value
from assistant.language.date_sums import date_sum
from assistant.language.measures import Amount
from assistant.language.spoken_amounts import source_words, spoken_amount
from assistant.language.written_sums import with_signs

LONGEST_TEXT = 200
"""Maximum length of a calculation, in characters."""
_LEADS = re.compile(
    r"^(?:uh|um|er|so|and|ok|okay|ada|please|hey|then|if|the answer to|can you|could you|quickly"
    r"|what(?: i|'?)s|what(?: are|'re)?|what does|how much(?: is| are| does)?|how many is"
    r"|how (?:long|far|tall|heavy|hot|cold|fast|big|high|deep|wide)(?: is| are)|calculate|compute"
    r"|work out|figure out|tell me|give me|convert|do|is|it|i work|i earn|i save|i pay|i get"
    r")\b,? |^the (?=difference|average|sum|total|mean|product|cube|square|remainder|vat|tip)"
)
_TAILS = re.compile(
    r"[ ,]+(?:please|is what"
    r"|equals?|equal to|equal|is|makes?|make|come to|comes to|for me|then|ada|worth"
    r"|in total|altogether|roughly|exactly|about|of us|people|friends|persons|bill|meal|again)$"
)
_SHORT = re.compile(r"\d (?:k|m|c|f|l|g)\b")
"""Matches a letter after a number. The letter may stand for a unit, or for thousands or millions.
Texts with such a letter are read only as unit conversions."""
_COUNTED = re.compile(r"\bdozen\b|\d ?/ ?\d", re.IGNORECASE)


def calculate(words: str, now: datetime) -> str | None:
    """Return the sentence that answers a calculation, or None if it isn't understood.

    Args:
        now: local time.
    """
    if len(words) > LONGEST_TEXT:
        return None
    days = date_sum(words, now)
    if days is not None:
        return f"That's {days}."
    try:
        amount = result(words)
    except Impossible as impossible:
        return str(impossible)
    if amount is None:
        return None
    return f"That's {spoken_amount(amount)}{source_words(amount)}."


def result(words: str) -> Amount | None:
    """Return the result of a spoken calculation, or None if it isn't understood.

    Raises:
        Impossible: the calculation has no result.
    """
    text = stripped(with_signs(words))
    short = _SHORT.search(text) is not None
    for pattern, how in forms()[: CONVERSIONS if short else None]:
        if found := pattern.fullmatch(text):
            try:
                return how(found)
            except Unreadable:
                continue
    if short:
        return None
    try:
        if not (has_operation(bracketed(text)) or _COUNTED.search(words)):
            return None
        return value(text)
    except Unreadable:
        return None


def stripped(text: str) -> str:
    """Remove the words around a calculation."""
    while True:
        shorter = _TAILS.sub("", _LEADS.sub("", text.strip(" ,")))
        if shorter == text:
            return text
        text = shorter
