"""Counts word errors: words that were recognised wrongly, missed or inserted."""

import re

from num2words import num2words

TAGS = re.compile(r"<[^>]*>|\[[^]]*\]")
"""Matches a transcriber's marks, such as <cutoff> or [laughter]."""


def normalised(text: str, *, spelled: bool = True) -> list[str]:
    """Lower case, no punctuation, digits as words, spelled letters one by one.

    References written entirely in capitals need `spelled=False`.

    >>> normalised("Erase OJTKS-35!")
    ['erase', 'o', 'j', 't', 'k', 's', 'thirty', 'five']
    """
    words: list[str] = []
    for piece in re.findall(r"\d+|[^\W\d_]+(?:'[^\W\d_]+)*", text):
        if piece.isdigit():
            words += spoken_number(piece)
        elif spelled and piece.isupper() and len(piece) > 1:
            words += list(piece.lower())
        else:
            words.append(piece.lower().replace("'", ""))
    return words


def spoken_number(digits: str) -> list[str]:
    """Up to two digits as one number; more, or a leading zero, digit by digit, as people say
    codes."""
    parts = [digits] if len(digits) <= 2 and not digits.startswith("0") else list(digits)
    return [word for part in parts for word in num2words(int(part)).replace("-", " ").split()]


def edit_distance(reference: list[str], heard: list[str]) -> int:
    row = list(range(len(heard) + 1))
    for i, expected in enumerate(reference, 1):
        previous, row[0] = row[0], i
        for j, word in enumerate(heard, 1):
            previous, row[j] = (
                row[j],
                min(row[j] + 1, row[j - 1] + 1, previous + (expected != word)),
            )
    return row[-1]
