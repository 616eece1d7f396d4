"""Numbers in words."""

import re

from assistant.language.word_lists import listed

_UNITS = listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)


_TENS = listed("twenty thirty forty fifty sixty seventy eighty ninety")


_ORDINALS = listed(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
    " fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)


NUMBERS = (
    {word: value for value, word in enumerate(_UNITS)}
    | {word: 10 * value for value, word in enumerate(_TENS, start=2)}
    | {word: value for value, word in enumerate(_ORDINALS, start=1)}
    | {"thirtieth": 30}
)


_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")


def _digits(found: list[str]) -> list[str]:
    """`forty three` → `43`, `4th` → `4`. One may be a pronoun: it stays a word by itself."""
    made: list[str] = []
    tens = False
    for place, word in enumerate(found):
        value = NUMBERS.get(word)
        if value is None:
            ordinal = _ORDINAL.fullmatch(word)
            made.append(ordinal.group(1) if ordinal else word)
            tens = False
        elif tens and 0 < value < 10:
            made[-1] = str(int(made[-1]) + value)
            tens = False
        else:
            alone = word in ("one", "second") and not found[place + 1 : place + 2]
            made.append(word if alone else str(value))
            tens = value >= 20 and value % 10 == 0
    return made
