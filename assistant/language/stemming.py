"""Convert texts and search queries to word stems."""

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
"""Maximum number of characters of a word that are used. Longer strings are not real words and would
fill memory.
"""
REMEMBERED = 200_000
"""Maximum number of words whose stems are cached. When the cache is full, it is emptied."""

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
    "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Names of Snowball's stemming algorithms by ISO 639-1 code."""

_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z0-9]+)*")
_LATIN_ACCENTS = re.compile("[\u0300-\u036f]")


class TextAnalyzer:
    """Finds the words of a text and their stems, in one language.

    Args:
        language: ISO 639-1 code, or `auto`. If the language has no stemmer, words are compared
            unchanged. If it has no list of stop words, all words count.
    """

    def __init__(self, language: str = "en") -> None:
        self.language = language
        self._letters = _Letters()

    @cached_property
    def _stems(self) -> "_Stems":
        """The stems, loaded when the first text is analysed."""
        return _Stems(self.language)

    def content(self, text: str) -> list[str]:
        """Return the stems of `text` in order, with repetitions but without stop words."""
        return list(filter(None, map(self._stems.__getitem__, self._split(self._fold(text)))))

    def content_and_numbers(self, text: str) -> set[str]:
        """Return the stems of a text's words, and its numbers as `#` followed by digits.

        A number gets the same form whether it was written in words or in digits.
        """
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
        """Map each word of a query, as written, to its stems."""
        words = self._split(unicodedata.normalize("NFC", query).translate(APOSTROPHES))
        return {word: set(self.content(word)) for word in words}

    def clear(self) -> None:
        """Empty the cache of stems, because its entries reveal words that users have said."""
        self._stems.clear()

    def _fold(self, text: str) -> str:
        """Convert a text to lower case with one kind of apostrophe and one form of each accented
        letter.

        In English, accents are removed, because speech recognisers write e.g. Zoë and café with or
        without them.
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
    """Map the stem of each English synonym to the stem that replaces it when texts are compared."""
    stem = Stemmer.Stemmer(STEMMERS["en"], 0).stemWord
    return {stem(word): stem(usual) for word, usual in synonyms(*groups).items()}


class _Letters(dict[int, str]):
    """A translation table that keeps words and turns everything else into spaces.

    Each character is looked up on first use and then cached. Combining marks belong to words,
    because many scripts write vowels with them. In scripts without spaces between words, each
    character becomes a word of its own.
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
    """Whether a character's script has no spaces between words: Thai, Lao, Burmese, Khmer, kana or
    Han.
    """
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
    """Return NLTK's stop words, as used by bm25s; empty for languages without a list."""
    lists = json.loads(located("languages/stop_words.json").read_text("utf-8"))
    return frozenset(lists.get(language, "").split())


class _Stems(dict[str, str]):
    """Maps words to their stems, or to "" for stop words. Stems are computed on first use."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._english = language == "en"
        self._stop = _stop_words(language) | (
            words_of("words", "spoken") if self._english else set()
        )
        self._stem: Callable[[str], str] = str
        if language in STEMMERS:
            # Size 0 disables the stemmer's own cache, which can't be purged of forgotten words.
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
        """Remove an apostrophe, and an ending such as 's, from a word: mum's → mum, o'brien →
        obrien.

        Returns "" for negations such as don't. In other languages, the longest part remains:
        l'amour → amour.
        """
        if not self._english:
            return max(word.split("'"), key=len)
        if word.endswith("n't"):
            return ""
        head, _, tail = word.rpartition("'")
        return (head if tail in words_of("words", "clitics") else word).replace("'", "")
