"""Which words of an answer have been heard, by how far the loudspeaker has played.

After an interruption the conversation holds these words and no others.
"""

import re
from collections import deque
from collections.abc import Iterable

from assistant.voice.frames import TimedWord

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)\s*", re.DOTALL | re.IGNORECASE)
_STRAY = re.compile(r"</think(?:ing)?>\s*", re.IGNORECASE)


def heard_text(answer: str, source_end: int | None = None) -> str:
    """The answer up to `source_end` (default: all of it), without the model's thoughts."""
    return _STRAY.sub("", _THOUGHT.sub("", answer[:source_end])).strip()


class HeardWords:
    """The words of one answer that are queued for the loudspeaker, in order. Positions are in
    samples since the loudspeaker was opened."""

    def __init__(self) -> None:
        self._due: deque[tuple[int, int]] = deque()
        """Where each word ends: the position, and the place in the answer."""
        self._source_end = 0

    def queue(self, words: Iterable[TimedWord], start: int) -> None:
        """Add the words of a clause whose sound starts at the position `start`."""
        self._due.extend((start + each.end_sample, each.word.source_end) for each in words)

    def played(self, position: int) -> int | None:
        """Note that everything before `position` has been heard. Returns the place in the answer
        up to which that is so, or None if no further word has ended."""
        before = self._source_end
        while self._due and self._due[0][0] <= position:
            _, self._source_end = self._due.popleft()
        return self._source_end if self._source_end != before else None

    def drop(self) -> None:
        """Forget the words that are still queued: they will not be heard."""
        self._due.clear()
