"""Turn sentences about the user from the first person into the third person, and back again.

For example, "I'm vegan" becomes "The user is vegan". Works for English only. The only words added
are "the user", "the assistant" and verb endings.
"""

import re

from assistant.language.absolute_dates import past_tense
from assistant.language.dialogue_acts import WISHED
from assistant.language.word_lists import words_of

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
_BACK = {
    "has": "have", "is": "am", "was": "was", "does": "do", "goes": "go",
    "hasn't": "haven't", "isn't": "am not", "doesn't": "don't",
}  # fmt: skip
_USERS = re.compile(r"\b[Tt]he user['’]s\b")
_DOES = re.compile(r"\b[Tt]he user((?: (?:also|always|never|really|often|usually))?) ([\w']+)")
_IS_TOLD = re.compile(r"\b[Tt]he user\b")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_ASIDES = re.compile(
    r",? \b(?:you know|you see|i mean|mind you|literally|honestly|basically|um|uh|er|ooh|"
    r"like i said|"
    r"would you believe|of all things|i'll tell you|to be (?:fair|honest))\b(?=,|$)"
    r"|,? (?:so|and|but)(?: that's)?$",
    re.IGNORECASE,
)


def third_person(quote: str) -> str:
    """Rewrite the user's words as one sentence about the user, with a capital letter and a full
    stop.

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
        elif waits and word not in words_of("words", "between"):
            new, waits = _verb(match.group()), False
        made += [plain[at : match.start()], new]
        at = match.end()
    text = "".join([*made, plain[at:]]).strip(" ,;:.!…")
    return f"{text[:1].upper()}{text[1:]}."


def _verb(written: str) -> str:
    """Return the verb form that follows "the user"."""
    word = written.lower()
    if word in _VERBS:
        return _VERBS[word]
    if word in words_of("verbs", "unchanging") or "'" in word or past_tense().fullmatch(word):
        return written
    if re.search(r"(?:s|sh|ch|x|z|o)$", word):
        return f"{written}es"
    if re.search(r"[^aeiou]y$", word):
        return f"{written[:-1]}ies"
    return f"{written}s"


def first_person(text: str) -> str:
    """Rewrite a text about "the user" in the first person, as the user would say it.

    >>> first_person("The user's boss likes what the user does.")
    'my boss likes what I do.'
    """
    text = _DOES.sub(lambda match: f"I{match[1]} {_plain(match[2])}", _USERS.sub("my", text))
    return _IS_TOLD.sub("I", text)


def _plain(verb: str) -> str:
    """Return the form of a verb that follows "I": `likes` → `like`."""
    if verb in _BACK:
        return _BACK[verb]
    if len(verb) < 4 or verb == "this":  # as, his, its
        return verb
    if verb.endswith("ies") and len(verb) > 4:
        return f"{verb[:-3]}y"
    if re.search(r"(?:ss|sh|ch|x|zz)es$", verb):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb
