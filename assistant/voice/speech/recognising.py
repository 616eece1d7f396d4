"""Transcribes speech on a thread of its own, one segment at a time."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from assistant.voice.audio.echo import echo_similarity
from assistant.voice.speech.hallucination import SpeechSegment
from models.interfaces import SpeechToText, Transcription

DRAFTS_SHARE = 0.25
"""Maximum share of the time that drafts take. A draft in progress delays the final transcript."""


class Recogniser:
    """Transcribes segments of speech, and limits the time that drafts take.

    A draft is a quick transcript of speech that goes on.
    """

    def __init__(self, stt: SpeechToText) -> None:
        self._stt = stt
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hear")
        self._waiting = 0
        """Number of segments that are being transcribed or waiting."""
        self._draft_began = float("-inf")
        """The `time.monotonic()` at which the last draft began."""
        self._draft_s = 0.0
        """Seconds that the last draft took."""

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    @property
    def is_free(self) -> bool:
        return not self._waiting

    @property
    def is_rested(self) -> bool:
        """Whether drafts have taken little of the time lately."""
        return time.monotonic() - self._draft_began >= self._draft_s / DRAFTS_SHARE

    async def recognise(
        self, segment: SpeechSegment, *, draft: bool = False
    ) -> tuple[Transcription, float]:
        """Return the segment's transcription, and how much of its sound is the assistant's own
        voice.

        Raises:
            ModelError: the recogniser failed.
        """
        self._waiting += 1
        began = time.monotonic()
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._listen_to, segment, draft)
        finally:
            self._waiting -= 1
            if draft:
                self._draft_began, self._draft_s = began, time.monotonic() - began

    def _listen_to(self, segment: SpeechSegment, draft: bool) -> tuple[Transcription, float]:
        own_voice = echo_similarity(segment.samples, segment.played)
        return self._stt.transcribe(segment.samples, draft=draft), own_voice
