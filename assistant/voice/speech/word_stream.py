"""Splits a streamed answer into written words, each with its position in the answer.

A word is usually a run of text without whitespace. It is passed on when the whitespace after it
arrives. Thoughts (`<think>…</think>`) and fenced code span several words, and marks such as "##"
are markdown only at the start of a line, so they are handled here. The module `pronunciation`
handles everything inside a word.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assistant.voice.speech.pronunciation import MAGNITUDES, needs_next_word

_THINK_OPEN = ("<think>", "<thinking>")
_THINK_CLOSE = ("</think>", "</thinking>")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_LINE_MARK = re.compile(r"#{1,6}|[-*+•>]+|([-*_=])\1{2,}|\[[ xX]\]|[|:\-]+")
_NUMBERED = re.compile(r"(\d{1,3})[.)]")
_WIDE_STOPS = "。！？"
"""Marks that end a sentence in scripts without spaces between sentences."""


@dataclass(frozen=True, slots=True)
class WrittenWord:
    """The word `answer[start:end]`. `text` is the part of the word to be read aloud.

    If `is_code` is True, the range is a whole block of code, and `text` is empty.
    """

    text: str
    start: int
    end: int
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class Break:
    """The end of a line, e.g. of a paragraph, a heading or a list item."""


class WordStream:
    """Splits the pieces of a streamed answer into words. Offsets count characters from the start of
    the answer."""

    def __init__(self) -> None:
        self._text = ""
        self._at = 0
        """The offset up to which the answer has been processed."""
        self._ended = False
        self._line_begins = True
        self._in_table = False
        self._thinking = False

    def feed(self, delta: str) -> Iterator[WrittenWord | Break]:
        """Add a piece of the answer; yield the words that it completes."""
        self._text += delta
        return self._read()

    def finish(self) -> Iterator[WrittenWord | Break]:
        """End the answer; yield its last word, even though no whitespace follows it."""
        self._ended = True
        return self._read()

    def _read(self) -> Iterator[WrittenWord | Break]:
        while self._at < len(self._text):
            before = self._at
            found = self._step()
            if found is not None:
                yield found
            if self._at == before:
                return

    def _step(self) -> WrittenWord | Break | None:
        """Process the text at the offset `_at` and advance the offset. Return the word or break
        that was found, if any. If more text is needed, the offset stays the same."""
        character = self._text[self._at]
        if self._thinking:
            self._skip_thought()
            return None
        if character == "\n":
            self._at += 1
            self._line_begins, self._in_table = True, False
            return Break()
        if character.isspace():
            self._at += 1
            return None
        if character == "<" and (tag := self._tag(self._at, _THINK_OPEN + _THINK_CLOSE)) != "":
            if tag is not None:
                self._at += len(tag)
                self._thinking = tag.lower() in _THINK_OPEN
            return None
        if self._line_begins and character in "`~":
            return self._code_or_word()
        return self._word()

    def _tag(self, at: int, tags: tuple[str, ...]) -> str | None:
        """Return the tag at `at`, or "" if there is none. Return None if more text is needed to
        decide. After a backquote, as in "`<think>`", a tag counts as an ordinary word.
        """
        if at and self._text[at - 1] == "`":
            return ""
        rest = self._text[at : at + max(map(len, tags))]
        for tag in tags:
            if rest.lower().startswith(tag):
                return rest[: len(tag)]
        open_still = not self._ended and any(tag.startswith(rest.lower()) for tag in tags)
        return None if open_still else ""

    def _skip_thought(self) -> None:
        ends = [
            found + len(tag)
            for tag in _THINK_CLOSE
            if (found := self._text.lower().find(tag, self._at)) >= 0
        ]
        if ends:
            self._at = min(ends)
            self._thinking = False
        elif self._ended:
            self._at = len(self._text)

    def _code_or_word(self) -> WrittenWord | None:
        fence = _FENCE.match(self._text, self._at)
        if fence is None:
            short = len(self._text) - self._at < 3 and not self._ended
            return None if short else self._word()
        closing = re.compile(rf"\n[ \t]*{re.escape(fence[1])}[`~]*[ \t]*(?=\n|\Z)")
        found = closing.search(self._text, fence.end())
        if found is not None and found.end() == len(self._text) and not self._ended:
            found = None
        if found is None and not self._ended:
            return None
        start = self._at
        self._at = found.end() if found is not None else len(self._text)
        return WrittenWord("", start, self._at, is_code=True)

    def _word(self) -> WrittenWord | None:
        start = self._at
        end = self._word_end(start)
        if end is None:
            return None
        word = self._text[start:end]
        if needs_next_word(word):
            end = self._with_magnitude(end)
            if end is None:
                return None
            word = self._text[start:end]
        self._at = end
        return WrittenWord(self._without_line_mark(word), start, end)

    def _word_end(self, start: int) -> int | None:
        """Return the end of the word that begins at `start`, or None if more text is needed."""
        at = start
        while at < len(self._text):
            character = self._text[at]
            if character == "\n" or (character.isspace() and not self._in_link(start, at)):
                return at
            if character == "<" and at > start:
                tag = self._tag(at, _THINK_OPEN + _THINK_CLOSE)
                if tag != "":
                    return at if tag else None
            at += 1
            if character in _WIDE_STOPS:
                return at
        return at if self._ended else None

    def _in_link(self, start: int, at: int) -> bool:
        """Whether `at` is inside the target of a link in the word that begins at `start`. A link's
        target may contain spaces, e.g. before its title."""
        target = self._text.rfind("](", start, at)
        return target >= 0 and self._text.find(")", target, at) < 0

    def _with_magnitude(self, end: int) -> int | None:
        """Return the end of an amount with its magnitude, e.g. "$5 million", given the end of "$5".
        Return `end` if no magnitude follows, or None if more text is needed."""
        if self._text[end : end + 1] != " ":
            return end
        after = self._word_end(end + 1)
        if after is None:
            return None
        return (
            after if self._text[end + 1 : after].strip('.,;:!?*)"').lower() in MAGNITUDES else end
        )

    def _without_line_mark(self, word: str) -> str:
        """Return the word, or "" if it is markdown at the start of a line, such as "##" or "-".
        In a table, bars are replaced."""
        if self._line_begins:
            if _LINE_MARK.fullmatch(word):
                self._in_table = self._in_table or word.startswith("|")
                return ""
            self._line_begins = False
            self._in_table = self._in_table or word.startswith("|")
            if numbered := _NUMBERED.fullmatch(word):
                return f"{numbered[1]},"
        if self._in_table:
            return self._cell(word)
        return word

    @staticmethod
    def _cell(word: str) -> str:
        """Replace the bars in a word of a table with marks that make the voice pause."""
        if not word.strip("|:-"):
            return "—" if "|" in word else ""
        return word.strip("|").replace("|", ", ")
