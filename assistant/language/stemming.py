"""Turns text into the stems that are searched, and finds the words that matched."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache, cached_property

import Stemmer

from assistant.language.normalisation import APOSTROPHES, american_spelling, numbers_in
from assistant.language.numbers import numbers
from assistant.language.word_lists import synonyms, words_of
from data import located

LONGEST = 40
"""Only this many characters of a word are used; anything longer is not a real word, and caching it
would fill memory."""
REMEMBERED = 200_000
"""Number of words whose stems are cached before the cache is emptied."""

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
    "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Snowball's algorithms by ISO 639-1 code."""

_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z0-9]+)*")
_LATIN_ACCENTS = re.compile("[\u0300-\u036f]")


class TextAnalyzer:
    """Finds the words of a text and their stems, in one language.

    Args:
        language: ISO 639-1 code. Without a stemmer for it (or with `auto`), words are compared as
            they are; without a list of stop words for it, all words count.
    """

    def __init__(self, language: str = "en") -> None:
        self.language = language
        self._letters = _Letters()

    @cached_property
    def _stems(self) -> "_Stems":
        """The stems, loaded when the first text is analysed."""
        return _Stems(self.language)

    def content(self, text: str) -> list[str]:
        """The stems of `text` in order, with repetitions, without stop words."""
        return list(filter(None, map(self._stems.__getitem__, self._split(self._fold(text)))))

    def content_and_numbers(self, text: str) -> set[str]:
        """What a text is about: the stems of its words, and each number as `#` and its digits,
        however it was written."""
        stems = {stem for stem in self.content(text) if not stem[0].isdecimal()}
        found = numbers_in(text)
        if found and self.language == "en":
            stems -= self._number_stems
        return stems | {f"#{each}" for each in found}

    @cached_property
    def _number_stems(self) -> frozenset[str]:
        words = (word for word, value in numbers().items() if value != 1)
        return frozenset(stem for word in words for stem in self.content(word))

    def terms(self, query: str) -> dict[str, set[str]]:
        """The words of a query as they are written there, and the stems of each."""
        words = self._split(unicodedata.normalize("NFC", query).translate(APOSTROPHES))
        return {word: set(self.content(word)) for word in words}

    def clear(self) -> None:
        """Empty the cache of stems: it reveals which words were ever said."""
        self._stems.clear()

    def _fold(self, text: str) -> str:
        """Lower case, with one kind of apostrophe and one form of each accented letter.

        In English, accents are removed: recognisers write Zoë and café with or without.
        """
        if text.isascii():
            return text.lower()
        text = unicodedata.normalize("NFKD", text.translate(APOSTROPHES))
        if self.language == "en":
            text = _LATIN_ACCENTS.sub("", text)
        return unicodedata.normalize("NFC", text).lower()

    def _split(self, text: str) -> Iterable[str]:
        if text.isascii():
            return _ASCII_WORD.findall(text)
        words = (word.strip("'") for word in text.translate(self._letters).split())
        return [word for word in words if word]


@cache
def synonym_stems(*groups: str) -> dict[str, str]:
    """Stems of English words → the stem that replaces each when texts are compared."""
    stem = Stemmer.Stemmer(STEMMERS["en"], 0).stemWord
    return {stem(word): stem(usual) for word, usual in synonyms(*groups).items()}


class _Letters(dict[int, str]):
    """A translation table that turns everything between words into spaces; entries are computed on
    first use.

    Combining marks belong to words, since many scripts write vowels with them. Scripts without
    spaces between words are searched by character.
    """

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if _unspaced(code):
            result = f" {character} "
        elif character.isalnum() or character == "'" or unicodedata.category(character)[0] == "M":
            result = character
        else:
            result = " "
        self[code] = result
        return result


def _unspaced(code: int) -> bool:
    """Whether a character's script has no spaces between words: Thai, Lao, Burmese, Khmer, kana,
    Han."""
    return (
        0x0E00 <= code <= 0x0EFF
        or 0x1000 <= code <= 0x109F
        or 0x1780 <= code <= 0x17FF
        or 0x3040 <= code <= 0x30FF
        or 0x3400 <= code <= 0x9FFF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x3FFFF
    )


def _stop_words(language: str) -> frozenset[str]:
    """NLTK's stop words, as in bm25s; empty for languages without a list."""
    lists = json.loads(located("languages/stop_words.json").read_text("utf-8"))
    return frozenset(lists.get(language, "").split())


class _Stems(dict[str, str]):
    """Word → stem, or "" for a stop word; computed on first use."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._english = language == "en"
        self._stop = _stop_words(language) | (
            words_of("words", "spoken") if self._english else set()
        )
        self._stem: Callable[[str], str] = str
        if language in STEMMERS:
            # No cache of its own (0): it could not be purged of what was forgotten.
            self._stem = Stemmer.Stemmer(STEMMERS[language], 0).stemWord

    def __missing__(self, word: str) -> str:
        stem = self._worked_out(word[:LONGEST])
        if len(word) <= LONGEST:
            if len(self) >= REMEMBERED:
                self.clear()
            self[word] = stem
        return stem

    def _worked_out(self, word: str) -> str:
        if word in self._stop:
            return ""
        if "'" in word:
            word = self._without_apostrophe(word)
        if word in self._stop:
            return ""
        return self._stem(american_spelling(word) if self._english else word)

    def _without_apostrophe(self, word: str) -> str:
        """mum's → mum, don't → nothing, o'brien → obrien; outside English, l'amour → amour."""
        if not self._english:
            return max(word.split("'"), key=len)
        if word.endswith("n't"):
            return ""
        head, _, tail = word.rpartition("'")
        return (head if tail in words_of("words", "clitics") else word).replace("'", "")
