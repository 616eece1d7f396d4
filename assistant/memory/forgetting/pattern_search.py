"""Searches data for thousands of secrets at once, to prove that they were deleted.

The secrets are vectors and texts. A text is searched for in every form that it may have on disk.
Each form is identified by eight of its bytes. Data is read as 64-bit numbers at all eight byte
offsets, and a bit table shows which numbers may match. Searching 20 MB takes about 0.2 s, no matter
how many secrets there are.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

ANCHOR = 8
"""Number of bytes that identify a form. Shorter forms are searched for one by one."""
SHORTEST_IN_BINARY = 6
"""Length in bytes of the shortest form that is searched for in binary data. Shorter forms occur by
chance in megabytes of vectors.
"""
SHORT_ONES = 64
"""Maximum number of forms shorter than `ANCHOR` that are searched for."""
PIECE = 20
"""Length in characters of the shortest part of a text that is searched for by itself."""
WORDS = 6
"""Number of words in each part of a long clause."""
BLOB = 64
"""Number of bytes in a part of a vector. Three such parts and the whole vector are searched for."""
FEWEST_DISTINCT = 8
"""A part of a vector is searched for only if it has at least this many different bytes. Parts with
fewer, e.g. only zeros, occur everywhere.
"""
HASH_BITS = 22
HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)

LOOKED_AT = 16
"""Approximate number of positions in a form at which its eight identifying bytes may begin."""

CLAUSE = re.compile(r"[.!?;:,\n]+")


@dataclass(frozen=True, slots=True)
class PatternForm:
    """A byte string to search for, the secret it belongs to, and the position of its identifying
    bytes.
    """

    content: bytes
    secret: int
    at: int = 0


@dataclass
class SearchPatterns:
    """The secrets to search for.

    `count` is the number of secrets that have at least one form to search for. `common` is the
    number of deleted texts that also occur in kept texts. Of the forms shorter than `ANCHOR`, only
    the `SHORT_ONES` longest are searched for; `short` is the number of secrets with forms that are
    left out. The object contains user text, so it is never written to disk.
    """

    count: int
    common: int = 0
    short: int = 0
    any_case: bool = False
    texts: tuple[str, ...] = field(default=(), repr=False)
    """Whole texts that don't occur in any remaining text."""
    _anchored: dict[int, list[PatternForm]] = field(default_factory=dict, repr=False)
    _short: list[PatternForm] = field(default_factory=list, repr=False)
    _longest: int = 1
    _bits: NDArray[np.bool_] = field(init=False, repr=False)
    _anchors: NDArray[np.uint64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._anchors = np.array(sorted(self._anchored), np.uint64)
        self._bits = np.zeros(1 << HASH_BITS, np.bool_)
        self._bits[_hashes(self._anchors)] = True

    @classmethod
    def of(
        cls,
        texts: Iterable[str],
        blobs: Iterable[bytes] = (),
        kept: Iterable[str] = (),
        *,
        any_case: bool = False,
    ) -> "SearchPatterns":
        """Create the patterns for these secrets.

        Args:
            texts: each is searched for whole, and in parts that would reveal it.
            blobs: vectors, as they are stored.
            kept: texts that are not deleted. Words that occur in them don't count as traces.
            any_case: whether to search for the texts in other cases too, e.g. lower and upper case.
        """
        texts = list(dict.fromkeys(text for text in map(str.strip, texts) if text))
        wanted = [(number, piece) for number, text in enumerate(texts) for piece in _pieces(text)]
        staying = _standing_in({piece for _, piece in wanted}, list(kept))
        common = sum(text in staying for text in texts)
        wanted = [(number, piece) for number, piece in wanted if piece not in staying]
        forms = [
            PatternForm(content, number)
            for number, piece in wanted
            for content in _forms(piece, any_case=any_case)
        ]
        pieces = [(len(texts) + n, piece) for n, blob in enumerate(blobs) for piece in _cut(blob)]
        forms += [PatternForm(piece, number) for number, piece in pieces]
        count = len({form.secret for form in forms})
        needles = cls._made(forms, count, common, any_case=any_case)
        needles.texts = tuple(text for text in texts if text not in staying)
        return needles

    @classmethod
    def _made(
        cls, forms: Iterable[PatternForm], count: int, common: int = 0, *, any_case: bool = False
    ) -> "SearchPatterns":
        anchored: dict[int, list[PatternForm]] = {}
        forms = list(forms)
        long = [form for form in forms if len(form.content) >= ANCHOR]
        short = [form for form in forms if len(form.content) < ANCHOR]
        often = Counter(window for form in long for _, window in _windows(form.content))
        for form in long:
            at, window = min(
                _windows(form.content), key=lambda each: (often[each[1]], -len(set(each[1])))
            )
            found = PatternForm(form.content, form.secret, at)
            anchored.setdefault(int.from_bytes(window, "little"), []).append(found)
        longest = max((len(form.content) for form in forms), default=1)
        short.sort(key=lambda form: len(form.content), reverse=True)
        left_out = len({form.secret for form in short[SHORT_ONES:]})
        return cls(count, common, left_out, any_case, (), anchored, short[:SHORT_ONES], longest)

    def __bool__(self) -> bool:
        return bool(self._anchored or self._short)

    @property
    def overlap(self) -> int:
        """Number of bytes by which consecutive pieces of data must overlap."""
        return self._longest - 1

    def found_in(self, data: bytes, *, text: bool = False) -> set[int]:
        """Return the numbers of the secrets that occur in the data.

        Args:
            text: whether the data is known to be text. If it is, even the shortest forms are
                searched for.
        """
        return {form.secret for form in self._forms_in(data, text=text)}

    def found_in_text(self, values: Iterable[str]) -> set[int]:
        joined = "\n".join(values)
        found = self.found_in(joined.encode("utf-8", "replace"), text=True)
        if self.any_case:
            found |= self.found_in(joined.casefold().encode("utf-8", "replace"), text=True)
        return found

    # -- inside ---------------------------------------------------------------------------------

    def _forms_in(self, data: bytes, *, text: bool = False) -> Iterator[PatternForm]:
        binary = not text and b"\0" in data[: 1 << 16]
        for form in self._short:
            if (len(form.content) >= SHORTEST_IN_BINARY or not binary) and form.content in data:
                yield form
        if not len(self._anchors):
            return
        for offset in range(min(ANCHOR, max(0, len(data) - ANCHOR + 1))):
            count = (len(data) - offset) // ANCHOR
            numbers = np.frombuffer(data, "<u8", count, offset)
            maybe = np.flatnonzero(self._bits[_hashes(numbers)])
            at = np.searchsorted(self._anchors[:-1], numbers[maybe])
            places = maybe[self._anchors[at] == numbers[maybe]]
            for place in places.tolist():
                start = offset + ANCHOR * place
                for form in self._anchored[int(numbers[place])]:
                    begin = start - form.at
                    if begin >= 0 and data[begin : begin + len(form.content)] == form.content:
                        yield form


def _hashes(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the upper bits of each number's wrapped product with a constant."""
    return (numbers * HASH_FACTOR) >> np.uint64(64 - HASH_BITS)


def _pieces(text: str) -> Iterator[str]:
    """Yield the text, its clauses, and sequences of words from long clauses."""
    pieces = {text: None}
    for clause in CLAUSE.split(text):
        words = clause.split()
        runs = [words[at : at + WORDS] for at in range(0, max(1, len(words) - WORDS + 1), 3)]
        for piece in (clause.strip(), *(" ".join(run) for run in runs)):
            if len(piece) >= PIECE:
                pieces[piece] = None
    yield from pieces


def _forms(text: str, *, any_case: bool) -> set[bytes]:
    """Return the forms in which this program, libraries or the system would store a text."""
    texts = {text}
    if any_case:
        texts |= {text.casefold(), text.lower(), text.upper(), text.capitalize()}
    found: set[bytes] = set()
    for each in texts:
        escaped = (json.dumps(each)[1:-1], json.dumps(each, ensure_ascii=False)[1:-1])
        found |= {form.encode("utf-8", "replace") for form in (each, *escaped)}
        found |= {each.encode(code, "replace") for code in ("utf-16-le", "utf-16-be")}
    return found


def _cut(blob: bytes) -> Iterator[bytes]:
    """Yield the whole vector, and its beginning, middle and end."""
    middle = max(0, len(blob) - BLOB) // 2
    pieces = (blob, blob[:BLOB], blob[middle : middle + BLOB], blob[-BLOB:])
    yield from {piece for piece in pieces if len(set(piece)) >= FEWEST_DISTINCT}


def _windows(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield positions spread over a form, each with the eight bytes at that position.

    The rarest of these byte strings is used to identify the form.
    """
    last = len(content) - ANCHOR
    for at in range(0, last + 1, max(1, last // LOOKED_AT)):
        yield at, content[at : at + ANCHOR]


def _standing_in(pieces: set[str], kept: list[str]) -> set[str]:
    """Return the pieces that are part of a remaining text."""
    if not kept:
        return set()
    known = list(pieces)
    searching = SearchPatterns._made(
        (
            PatternForm(piece.encode("utf-8", "replace"), number)
            for number, piece in enumerate(known)
        ),
        len(known),
    )
    whole = "\n".join(kept)
    found = searching.found_in(whole.encode("utf-8", "replace"), text=True)
    words = set(kept) | set(whole.split())
    tiny = {piece for piece in known if len(piece) < ANCHOR and (piece in words or piece in whole)}
    return {known[number] for number in found} | tiny
