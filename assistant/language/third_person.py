"""Turns what users said about themselves into the third person: "I'm vegan" → "The user is vegan".

English only. Nothing is added but "the user" and verb endings.
"""

import re

from assistant.language.absolute_dates import PAST
from assistant.language.standing_orders import WISHED
from assistant.language.word_lists import language_data, listed

_USER = "the user"
_FORMS = {
    "i'm": f"{_USER} is", "im": f"{_USER} is", "i've": f"{_USER} has", "ive": f"{_USER} has",
    "i'll": f"{_USER} will", "i'd": f"{_USER} would", "me": _USER, "my": f"{_USER}'s",
    "mine": f"{_USER}'s", "myself": "themselves", "we": _USER, "we're": f"{_USER} is",
    "we've": f"{_USER} has", "we'll": f"{_USER} will", "us": _USER, "our": f"{_USER}'s",
    "ours": f"{_USER}'s", "ourselves": "themselves", "i": _USER,
    "you": "the assistant", "your": "the assistant's",
}  # fmt: skip
_SUBJECTS = frozenset({"i", "we"})
_VERBS = {
    "am": "is", "are": "is", "have": "has", "do": "does", "don't": "doesn't", "dont": "doesn't",
    "haven't": "hasn't", "aren't": "isn't", "were": "was", "weren't": "wasn't", "go": "goes",
}  # fmt: skip
_UNCHANGING = frozenset(listed(language_data("en")["verbs"]["unchanging"]))
_BETWEEN = frozenset(
    listed(
        "also always never really just still only once already both almost often usually sometimes"
        " no longer finally mostly absolutely actually probably now even ever not all mainly rarely"
        " hardly"
    )
)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_ASIDES = re.compile(
    r",? \b(?:you know|you see|i mean|mind you|literally|honestly|basically|um|uh|er|ooh|"
    r"like i said|"
    r"would you believe|of all things|i'll tell you|to be (?:fair|honest))\b(?=,|$)"
    r"|,? (?:so|and|but)(?: that's)?$",
    re.IGNORECASE,
)


def third_person(quote: str) -> str:
    """One sentence about the user, with a capital and a full stop.

    >>> third_person("I don't eat mushrooms")
    "The user doesn't eat mushrooms."
    """
    wish = WISHED.match(quote.replace("’", "'"))
    if wish is not None:
        order = {"always": "to always", "from now on": "from now on to", "stop": "to stop"}
        word = "stop" if wish["stop"] else "how"
        how = order.get(wish[word].lower().strip(" ,"), "never to")
        quote = f"I want you {how} {quote[wish.end(word) :].lstrip(' ,')}"
    plain = " ".join(_ASIDES.sub("", quote.replace("’", "'")).split())
    made: list[str] = []
    at = 0
    waits = False
    for match in _WORD.finditer(plain):
        word = match.group().lower()
        new = match.group()
        if word in _FORMS:
            new = _FORMS[word]
            waits = word in _SUBJECTS
        elif waits and word not in _BETWEEN:
            new, waits = _verb(match.group()), False
        made += [plain[at : match.start()], new]
        at = match.end()
    text = "".join([*made, plain[at:]]).strip(" ,;:.!…")
    return f"{text[:1].upper()}{text[1:]}."


def _verb(written: str) -> str:
    """The verb form that follows "the user"."""
    word = written.lower()
    if word in _VERBS:
        return _VERBS[word]
    if word in _UNCHANGING or "'" in word or PAST.fullmatch(word):
        return written
    if re.search(r"(?:s|sh|ch|x|z|o)$", word):
        return f"{written}es"
    if re.search(r"[^aeiou]y$", word):
        return f"{written[:-1]}ies"
    return f"{written}s"
