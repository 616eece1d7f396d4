"""Decides whether a sentence contains a word or a date, however it is written."""

import re
import unicodedata
from datetime import date

SHORT = 3
"""Maximum length of a stem that must match a whole word; otherwise "son" would match "song"."""
MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_TO_NINETEEN = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_BY_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_IRREGULAR = {"third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12}
_NUMBERS = {
    **{word: number for number, word in enumerate(_TO_NINETEEN, start=2)},
    **{f"{word}th": number for number, word in enumerate(_TO_NINETEEN, start=2)},
    **_IRREGULAR,
}
_TENS = {word: 10 * number for number, word in enumerate(_BY_TENS, start=2)}
_ROUND = _TENS | {f"{word[:-1]}ieth": number for word, number in _TENS.items()}
_AFTER_TENS = _NUMBERS | {"one": 1, "first": 1, "second": 2}
"""Words that may follow "twenty". "One", "first" and "second" are only in this table, since on
their own they often don't mean a number."""
_ORDINAL = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b")
_MONTH = "(" + "|".join((*MONTHS, "sept", *(name[:3] for name in MONTHS))) + r")\b\.?"
_DATES = (
    re.compile(r"\b(?P<y>\d{4})-(?P<m>\d\d)(?:-(?P<d>\d\d))?\b"),
    re.compile(r"\b(?P<d>\d{1,2})[/.](?P<m>\d{1,2})[/.](?P<y>\d{4})\b"),
    re.compile(rf"\b(?P<d>\d{{1,2}}) (?:of )?(?P<m>{_MONTH})(?:,? (?P<y>\d{{4}})\b)?"),
    re.compile(rf"\b(?P<m>{_MONTH}) (?P<d>\d{{1,2}})\b(?!:)(?:,? (?P<y>\d{{4}})\b)?"),
    re.compile(rf"\b(?P<m>{_MONTH})(?:,? (?:of )?(?P<y>\d{{4}})\b)?"),
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")

Day = tuple[int | None, int, int | None]
"""Year, month and day; None for a part that is not given."""


def fold(text: str) -> str:
    """Lower-case words separated by spaces, with a space at each end.

    Accents and possessives are removed; numbers up to 99 become figures; "isn't" becomes "is not".
    """
    text = unicodedata.normalize("NFKD", text.replace("’", "'")).lower()
    text = re.sub("[\u0300-\u036f]", "", text)
    text = text.replace("cannot", "can not").replace("can't", "can not").replace("n't", " not")
    words = re.findall("[a-z]+|[0-9]+", _ORDINAL.sub(r"\1", re.sub(r"'s\b|'", "", text)))
    return f" {' '.join(_in_figures(words))} "


def _in_figures(words: list[str]) -> list[str]:
    """Write the numbers two to ninety-nine, and third to ninety-ninth, in figures."""
    result: list[str] = []
    tens = 0
    for word in words:
        number = _NUMBERS.get(word, 0)
        unit = _AFTER_TENS.get(word, 0)
        if tens and 0 < unit < 10:
            result[-1] = str(tens + unit)
        elif number := number or _ROUND.get(word, 0):
            result.append(str(number))
        else:
            result.append(word)
        tens = _TENS.get(word, 0)
    return result


def holds(text: str, phrase: str) -> bool:
    """Whether `phrase` occurs in `text`, beginning at the start of a word. The last word may be
    longer in `text`; a short word or a number may only have an added "s"."""
    text, phrase = fold(text), fold(phrase).rstrip()
    last = phrase.rpartition(" ")[2]
    if len(last) > SHORT and not last.isdigit():
        return phrase in text
    return f"{phrase} " in text or f"{phrase}s " in text


def all_dates(text: str) -> set[Day]:
    """The dates in `text`, with both readings of 03/04/2026."""
    text = _ORDINAL.sub(r"\1", text.lower())
    found: set[Day] = set()
    for form in _DATES:
        for match in form.finditer(text):
            parts = match.groupdict()
            year = int(parts["y"]) if parts["y"] else None
            day = int(parts["d"]) if parts.get("d") else None
            found.add((year, _month(parts["m"]), day))
            if day is not None and "/" in match.group():
                found.add((year, day, _month(parts["m"])))
    return found


def _month(name: str) -> int:
    if name.isdigit():
        return int(name)
    return next(n for n, month in enumerate(MONTHS, start=1) if month.startswith(name[:3]))


def is_dated(text: str, when: tuple[str, ...]) -> bool:
    """Whether `text` contains one of these dates, or `when` is empty. `text` may omit the year."""
    return not when or any(_is_told(text, day) for day in when)


def _is_told(text: str, wanted: str) -> bool:
    if len(wanted) == len("2026"):
        return wanted in _YEAR.findall(text)
    year, month, day = _split(wanted)
    return any(
        found_month == month
        and (day is None or found_day == day)
        and (year is None or found_year is None or found_year == year)
        for found_year, found_month, found_day in all_dates(text)
    )


def _split(wanted: str) -> Day:
    """Parse 2026-03-14, 2026-03 or 03-14."""
    first, *rest = wanted.split("-")
    if len(first) == len("03"):
        return None, int(first), int(rest[0])
    return int(first), int(rest[0]), int(rest[1]) if len(rest) > 1 else None


def written_out(wanted: str) -> str:
    """All words that may express a label's date."""
    if len(wanted) == len("2026"):
        return wanted
    year, month, day = _split(wanted)
    words = [wanted, MONTHS[month - 1], MONTHS[month - 1][:3], str(month)]
    words += [str(part) for part in (year, day) if part is not None]
    if year is not None and day is not None:
        words.append(f"{date(year, month, day):%A}")
    return " ".join(words)
