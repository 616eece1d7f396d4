"""Converts one written word to the words that are read aloud.

Language models write markdown, links, units and emoji, even when instructed not to. A voice must
not read these out as symbols. Here, a word is the text between two spaces. The module `clauses`
combines words into clauses.

In English, symbols are replaced by words, e.g. "%" by "percent". In other languages, web and
e-mail addresses and LaTeX formulas are still read in English, characters that nobody would read
aloud are dropped, and the remaining symbols are left to the voice.
"""

import re
import unicodedata
from dataclasses import dataclass
from enum import IntEnum
from urllib.parse import urlsplit

from assistant.language.sentences import MARKS, is_abbreviation


class Pause(IntEnum):
    """The kind of pause that may follow a word."""

    NONE = 0
    CLAUSE = 1
    SENTENCE = 2


@dataclass(frozen=True, slots=True)
class SpokenForm:
    """The words to say, with their punctuation. There are none if the written word is not spoken,
    e.g. if it is an emoji."""

    words: tuple[str, ...]
    ending: Pause = Pause.NONE


SILENT = SpokenForm(())
COMMA = SpokenForm((), Pause.CLAUSE)

_CLAUSE_MARKS = ",;:、，；：—–"
_CLOSERS = "\"'”’»)]}*_~`」』"
_SPOKEN_SIGNS = "%&+=€$£°"
"""Signs that the voice itself reads aloud in other languages. In English, words have already
replaced them."""
_DASHES = {"-", "--", "–", "—", "―"}

_SPELLED_OUT = {
    "e.g.": "for example",
    "i.e.": "that is",
    "vs.": "versus",
    "vs": "versus",
    "w/": "with",
    "w/o": "without",
    "c++": "C plus plus",
    "c#": "C sharp",
    "f#": "F sharp",
    "km/h": "kilometers per hour",
    "m/s": "meters per second",
    "1/2": "one half",
    "1/3": "one third",
    "2/3": "two thirds",
    "1/4": "one quarter",
    "3/4": "three quarters",
}
_SYMBOLS = {
    "°C": " degrees Celsius ",
    "°F": " degrees Fahrenheit ",
    "℃": " degrees Celsius ",
    "℉": " degrees Fahrenheit ",
    "°": " degrees ",
    "<=": " at most ",
    ">=": " at least ",
    "!=": " is not equal to ",
    "==": " equals ",
    "->": " to ",
    "=>": " to ",
    "&": " and ",
    "%": " percent ",
    "→": " to ",
    "⇒": " to ",
    "≈": " about ",
    "≠": " is not equal to ",
    "≤": " at most ",
    "≥": " at least ",
    "×": " times ",
    "·": " ",
    "÷": " divided by ",
    "±": " plus or minus ",
    "=": " equals ",
    "+": " plus ",
    "½": " one half ",
    "¼": " one quarter ",
    "¾": " three quarters ",
    "²": " squared ",
    "³": " cubed ",
    "@": " at ",
}
_SYMBOL = re.compile("|".join(re.escape(symbol) for symbol in _SYMBOLS))
_CURRENCIES = {"$": ("dollar", "cent"), "€": ("euro", "cent"), "£": ("pound", "penny")}
MAGNITUDES = frozenset({"hundred", "thousand", "million", "billion", "trillion"})

_MONEY = re.compile(r"([$€£])(\d[\d,]*)(?:\.(\d\d?))?(?:\s+([a-z]+)|([kKmMbB]))?(?![\w])")
_MONEY_ALONE = re.compile(r"[*_(\"]*[$€£]\d[\d,]*(?:\.\d+)?")
_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"]+", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_DOTTED_NAME = re.compile(r"(?<![\w.])[A-Za-z][\w-]+(?:\.[A-Za-z][\w-]*)+(?=\W*$)")
_LINK_TARGET = re.compile(r"\]\([^)]*\)?")
_TAG = re.compile(r"</?[A-Za-z][\w-]*/?>")
_EMOTICON = re.compile(r"[:;=][-']?[)(\]\[DPpOo/\\|3*]+")
_NUMBER_RANGE = re.compile(r"(?<=[\d%])\s*[-–—]\s*(?=[$€£]?\d)")


def needs_next_word(word: str) -> bool:
    """Whether the word must be read together with the next one, e.g. "$5" with "million"."""
    return _MONEY_ALONE.fullmatch(word) is not None


def read_aloud(word: str, language: str = "en") -> SpokenForm:
    """Convert a written word to its spoken form. An amount with its magnitude, e.g. "$5 million",
    counts as one word."""
    if word in _DASHES:
        return COMMA
    ending = _ending(word)
    if _EMOTICON.fullmatch(word):
        return SILENT
    text = _plain(word)
    if language.startswith("en"):
        text = _in_english(text)
    words = tuple(part for piece in text.split() for part in _cleaned(piece).split())
    words = tuple(piece for piece in words if any(c.isalnum() or c in _SPOKEN_SIGNS for c in piece))
    if not words:
        return SpokenForm((), ending)
    return SpokenForm(_punctuated(words, word, ending), ending)


def _ending(word: str) -> Pause:
    bare = _LINK_TARGET.sub("", word).rstrip(_CLOSERS)
    if not bare:
        return Pause.NONE
    if bare[-1] in _CLAUSE_MARKS:
        return Pause.CLAUSE
    if bare[-1] not in MARKS:
        return Pause.NONE
    stem = bare[:-1].lstrip("\"'“‘([*_").lower()
    if stem == "etc":
        return Pause.CLAUSE
    return Pause.NONE if bare[-1] == "." and is_abbreviation(stem) else Pause.SENTENCE


def _plain(word: str) -> str:
    """Remove markdown, tags and LaTeX markup, and shorten web addresses."""
    text = word.removeprefix("!") if word.startswith("![") else word
    text = text.replace("’", "'").replace("‘", "'")
    text = _URL.sub(lambda found: _domain(found[0]), _LINK_TARGET.sub("", text))
    text = _EMAIL.sub(lambda found: found[0].replace(".", " dot ").replace("@", " at "), text)
    text = _TAG.sub("", text)
    if "\\" in text or "^" in text:
        text = _formula(text)
    text = re.sub(r"\$(?!\d)", "", text)
    return text.replace("**", "").replace("~~", "").replace("`", "").replace("…", "...")


def _domain(url: str) -> str:
    """Return the spoken name of a web address, e.g. "example dot com" for
    "https://www.example.com/a?b"."""
    address = url if "://" in url else f"https://{url}"
    try:
        host = urlsplit(address.rstrip(".,;:!?)'*_`")).hostname or ""
    except ValueError:
        host = ""
    spoken = host.removeprefix("www.").replace(".", " dot ")
    trailing = url[len(url.rstrip(".,;:!?)'*_`")) :]
    return f"{spoken or 'a link'}{trailing}"


def _formula(text: str) -> str:
    text = re.sub(r"\\(?:d|t)?frac\{([^{}]*)\}\{([^{}]*)\}", r" \1 over \2 ", text)
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r" square root of \1 ", text)
    text = re.sub(r"\^\{?2\}?(?!\d)", " squared ", text)
    text = re.sub(r"\^\{?3\}?(?!\d)", " cubed ", text)
    text = re.sub(r"\^\{?([\w+-]+)\}?", r" to the \1 ", text)
    text = re.sub(r"\\(?:times|cdot)(?![a-z])", " times ", text)
    text = re.sub(r"\\(?:text|mathrm|mathbf)\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\(?:left|right|quad|displaystyle)(?![a-z])|\\[()\[\]{},;! ]", " ", text)
    return re.sub(r"\\([A-Za-z]+)", r" \1 ", text).replace("\\", " ")


def _in_english(text: str) -> str:
    if text == "*":
        return "times"
    core = text.strip('"“”()[]{}*_').rstrip(",;:!?")
    for written in (core.lower(), core.rstrip(".").lower()):
        if written in _SPELLED_OUT:
            return text.replace(
                core if written == core.lower() else core.rstrip("."), _SPELLED_OUT[written]
            )
    text = _MONEY.sub(_money, _NUMBER_RANGE.sub(" to ", text))
    text = re.sub(r"~(?=\d)", " about ", text)
    text = re.sub(r"#(?=\d)", " number ", text)
    text = re.sub(r"(?<![\w)])[-−](?=\d)", " minus ", text)
    text = _DOTTED_NAME.sub(lambda found: found[0].replace(".", " dot "), text)
    text = _SYMBOL.sub(lambda found: _SYMBOLS[found[0]], text)
    return re.sub(r"[/\\_|<>~^#*]+", " ", text)


def _money(found: re.Match[str]) -> str:
    sign, whole, part, magnitude, letter = found.groups()
    unit, small = _CURRENCIES[sign]
    scale = magnitude or {"k": "thousand", "m": "million", "b": "billion"}.get(
        (letter or "").lower(), ""
    )
    if scale in MAGNITUDES:
        return f"{whole}{'.' + part if part else ''} {scale} {unit}s"
    amount = f"{whole} {unit}{'' if whole == '1' else 's'}"
    if part and int(part):
        cents = int(part.ljust(2, "0"))
        amount += f" and {cents} {small if cents == 1 else _plural(small)}"
    return f"{amount} {magnitude}" if magnitude else amount


def _plural(small: str) -> str:
    return "pence" if small == "penny" else f"{small}s"


def _cleaned(piece: str) -> str:
    """Remove emoji, brackets, quotes and markdown. Replace em dashes with commas."""
    kept = "".join(c for c in piece if not _is_unspoken(c))
    kept = re.sub(r"[—―]+", ", ", kept).strip()
    return kept.strip("*_~")


def _is_unspoken(character: str) -> bool:
    if character in '"“”„«»()[]{}|<>*`\u20e3':
        return True
    category = unicodedata.category(character)
    return (
        category in {"So", "Sk", "Cf", "Cs", "Co", "Cn", "Cc"} or 0xFE00 <= ord(character) <= 0xFE0F
    )


def _punctuated(words: tuple[str, ...], written: str, ending: Pause) -> tuple[str, ...]:
    """Add the written word's final punctuation mark to the last spoken word, for the voice's
    intonation."""
    bare = _LINK_TARGET.sub("", written).rstrip(_CLOSERS)
    last = words[-1].rstrip(MARKS + _CLAUSE_MARKS)
    if ending is Pause.NONE:
        mark = "." if words[-1].endswith(".") and bare.endswith(".") else ""
    else:
        mark = {"…": ".", "—": ",", "–": ","}.get(bare[-1], bare[-1])
    return (*words[:-1], f"{last}{mark}")
