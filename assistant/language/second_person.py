"""Turn the user's words into the second person: "my dog is called Max" → "your dog is called Max".

Works for English only. Text in other languages, and text that the rules might get wrong, is quoted
unchanged.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from assistant.language.numbers import numbers
from assistant.language.sentences import begins_sentence, sentences
from assistant.language.speakers import ASSISTANT, USER
from assistant.language.third_person import first_person
from assistant.language.word_lists import words_of

LONGEST = 12
"""Maximum number of words in a phrase that the assistant reads back."""
LOOKED_AT = 400
"""Maximum number of characters of a text that are examined. Only the beginning of a long pasted
text is read back.
"""
SHORTEST_CUT = 5
"""Minimum number of words that remain when a phrase is cut between two clauses."""

TURNED = {
    "i": "you", "i'm": "you're", "im": "you're", "i've": "you've", "ive": "you've",
    "i'd": "you'd", "i'll": "you'll", "me": "you", "my": "your", "mine": "yours",
    "myself": "yourself", "we": "you", "we're": "you're", "we've": "you've", "we'd": "you'd",
    "we'll": "you'll", "us": "you", "our": "your", "ours": "yours", "ourselves": "yourselves",
    "am": "are", "was": "were", "wasn't": "weren't",
}  # fmt: skip
SUBJECTS = frozenset({"i", "we"})
_words = partial(words_of, "second_person")

_WORD = re.compile(r"(?<![\w-])[^\W\d_]+(?:'[^\W\d_]+)*(?![\w-])")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»")
_QUOTE = re.compile(r"[\"“”«»]")
_NUMBER_BEFORE = re.compile(r"\d\W*$")
_COUPLE = re.compile(
    r"(^|[.!?,;] |\b(?i:that|when|because|but|so|if|while|where|as|yesterday|today|then) )"
    r"([Mm]y [a-z]+|[A-Z][a-z]+) and I\b"
)
_OPENING = re.compile(
    r"^\W*(?:(?:oh|well|so(?! (?:far|much|many|long|that))|okay|ok|hey|hi|hello|and|but|um|uh|er|ah"
    r"|hmm|(?:no|yes|yeah|right|look|listen|sure)(?=[,.!:;])|(?:my )?(?:god|goodness|gosh)|anyway"
    r"|actually|by the way|you know(?=,)|you see(?=,)|i mean|like i said|as i said"
    r"|as i(?:'ve)? told you|i(?:'ve)? (?:already )?told you(?: already)?(?: that)?"
    r"(?= (?:i|i'm|i've|my|we|our|the)\b)|just so you know|for your information|let me tell you"
    r"|of course|(?:please )?(?:remember|note|keep in mind|don't forget|bear in mind)(?: that)?"
    r"(?= (?:i|i'm|i've|my|we|our|the|it|it's)\b))(?![\w'-])[\s,.:;!-]*)+",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:[,\s]+(?:right|okay|ok|yeah|you see|huh|you know|by the way|please|remember))+\W*$",
    re.IGNORECASE,
)


class _Token(NamedTuple):
    start: int
    end: int
    word: str
    """The word in lower case."""


def second_person(text: str) -> str | None:
    """Rewrite the user's words as the assistant would say them to the user; None if in doubt.

    Quoted speech is left unchanged.

    >>> second_person("I'm sure that my dog loves me.")
    "You're sure that your dog loves you."
    """
    plain = text.replace("’", "'")
    quoted = [match.span() for match in _QUOTED.finditer(plain)]
    if _QUOTE.search(_QUOTED.sub("", plain)):
        return None  # a quotation that doesn't end
    if not quoted:
        described = _described(plain)
        if described is None:
            return None
        plain = _COUPLE.sub(r"\1I and \2", described)
    tokens = [
        _Token(*match.span(), match.group().lower())
        for match in _WORD.finditer(plain)
        if not any(start <= match.start() < end for start, end in quoted)
    ]
    made: list[str] = []
    at = 0
    for place, token in enumerate(tokens):
        new = _turned(plain, tokens, place)
        if new is None:
            return None
        if new == token.word:
            continue
        first = begins_sentence(plain, token.start)
        made += [plain[at : token.start], new[:1].upper() + new[1:] if first else new]
        at = token.end
    return "".join([*made, plain[at:]])


def _described(text: str) -> str | None:
    """Rewrite "The user likes" as "I like", the way the user would say it; None if in doubt."""
    own = first_person(text)
    theirs = _words("theirs") & {match.group().lower() for match in _WORD.finditer(text)}
    return None if theirs and own != text else own  # "her" may mean the user or another person


def _turned(text: str, tokens: Sequence[_Token], place: int) -> str | None:
    """Return the replacement for one word; None if in doubt."""
    token = tokens[place]
    word, written = token.word, text[token.start : token.end]
    before = tokens[place - 1].word if place else ""
    after = tokens[place + 1].word if place + 1 < len(tokens) else ""
    if word in _words("second"):
        return _of_second(tokens, place)
    if word not in TURNED or (len(written) > 1 and written.isupper()):
        return word
    if word in ("was", "wasn't"):
        return _was(tokens, place)
    number = (
        _NUMBER_BEFORE.search(text[max(0, token.start - 4) : token.start]) or before in numbers()
    )
    kept = (
        (word == "am" and bool(number))
        or (word == "mine" and before in _words("mines"))
        or (word == "i" and before in _words("rulers"))
        or (word == "my" and (after in _words("exclaimed") or not after))
    )
    return word if kept else TURNED[word]


def _of_second(tokens: Sequence[_Token], place: int) -> str | None:
    """Return "me" for the `you` of "I told you". Return None for any other `you` or `your`, because
    it is unclear who is meant.
    """
    word = tokens[place].word
    before = [token.word for token in tokens[:place]]
    if word != "you" or not SUBJECTS & {each.partition("'")[0] for each in before}:
        return None
    spoken = len(before) > 1 and before[-1] in ("to", "with") and before[-2] in _words("spoken_to")
    return "me" if before[-1] in _words("to_you") or spoken else None


def _was(tokens: Sequence[_Token], place: int) -> str | None:
    word = tokens[place].word
    earlier = [token.word for token in tokens[:place]]
    if place + 1 < len(tokens) and tokens[place + 1].word == "i":
        return TURNED[word]
    while earlier and earlier[-1] in words_of("words", "between"):
        earlier.pop()
    if earlier and earlier[-1] == "i":
        return word if earlier[-2:-1] and earlier[-2] in _words("rulers") else TURNED[word]
    if (
        not earlier
        or earlier[-1] not in _words("joins")
        or not any(_is_i(each) for each in earlier)
    ):
        return word
    since = earlier[len(earlier) - 1 - [_is_i(each) for each in reversed(earlier)].index(True) :]
    return None if _words("other_subjects") & set(since) else TURNED[word]


def _is_i(word: str) -> bool:
    return word.partition("'")[0] == "i"


# -- phrases ------------------------------------------------------------------------------------


def spoken_phrase(text: str, speaker: str = USER, *, english: bool = True) -> str:
    """Return a short phrase that refers to an utterance, for use inside one of the assistant's
    sentences.

    >>> spoken_phrase("Oh, by the way, my dog is called Max.")
    'your dog is called Max'
    >>> spoken_phrase("What's the capital of Norway?")
    'your question "What\\'s the capital of Norway?"'
    """
    sentence = _telling(text)
    if speaker == ASSISTANT:
        return f'what I said, "{_short(sentence)}"'
    if speaker != USER:
        return f'what {speaker} said, "{_short(sentence)}"'
    if sentence.endswith("?"):
        return f'your question "{_short(sentence)}"'
    first = _WORD.search(sentence.replace("’", "'"))
    doubt = not english or first is None or first.group().lower() in _words("imperative")
    turned = None if doubt else second_person(sentence)
    if turned is None:
        return f'"{_short(sentence).replace(chr(34), chr(39))}"'
    return _lowered(_short(turned))


def spoken_topic(topic: str, *, english: bool = True) -> str:
    """Turn a topic into the second person, e.g. "my dog" → "your dog"; unchanged if in doubt."""
    plain = " ".join(topic.split()).strip(" .,!?;:")
    turned = second_person(plain) if english else None
    return plain if turned is None else _lowered(turned)


def _telling(text: str) -> str:
    """Return the first sentence that states something, without introductory words."""
    beginning = text if len(text) <= LOOKED_AT else text[:LOOKED_AT].rpartition(" ")[0]
    text = " ".join(beginning.split()) or text[:LOOKED_AT]
    found = [_bare(each.text) for each in sentences(text)]
    whole = [each for each in found if each]
    told = [each for each in whole if not each.endswith("?") and len(each.split()) > 1]
    return next(iter(told or whole), text.strip())


def _bare(sentence: str) -> str:
    plain = _OPENING.sub("", sentence.replace("’", "'"))
    asks = plain.rstrip().endswith("?")
    plain = _CLOSING.sub("?" if asks else "", plain)
    return plain.strip().rstrip(".!,;: ")


def _short(sentence: str) -> str:
    """Shorten a sentence to at most `LONGEST` words, with a cut between two clauses if possible."""
    words = sentence.split()
    if len(words) <= LONGEST:
        return sentence
    places, cuts = range(SHORTEST_CUT, LONGEST + 1), _words("cuts")
    clauses = [at for at in places if words[at - 1][-1] in ",;:" or words[at].lower() in cuts]
    kept = " ".join(words[: clauses[-1] if clauses else LONGEST]).rstrip(",;: ")
    return f"{kept}…" if kept.count('"') % 2 == 0 else f'{kept}…"'


def _lowered(sentence: str) -> str:
    """Convert the first letter to lower case, unless it may belong to a name."""
    first, space, rest = sentence.partition(" ")
    plain = first.lower().rstrip(",")
    small = plain in _words("function") or plain in TURNED.values()
    return f"{first.lower()}{space}{rest}" if small else sentence
