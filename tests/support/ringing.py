"""A session in which something rings, and what its loudspeaker plays."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.events import Event
from assistant.voice.audio.chimes import ring_sound
from models.interfaces import Samples, SpeechToText
from tests.support.fakes import ScriptedLlm, ScriptedStt, ToneTts, silence
from tests.support.session import Session, session

UP = "Your ten minute timer is up."
BELL = ring_sound(ToneTts.sample_rate)
WORDS_S = 0.05 * len(UP)
ONCE_S = len(BELL) / ToneTts.sample_rate + WORDS_S
LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen."


@dataclass
class Heard:
    """The sound of a session's loudspeaker."""

    bell: Samples = field(default_factory=lambda: BELL)
    blocks: list[Samples] = field(default_factory=list)

    @property
    def bells(self) -> int:
        """Number of times that the bell has begun to sound."""
        first = self.bell[: len(self.bell) // 4]
        whole = np.concatenate(self.blocks) if self.blocks else np.zeros(0, np.int16)
        found = np.flatnonzero(whole == first.max())
        starts = found - int(first.argmax())
        return sum(
            at >= 0 and np.array_equal(whole[at : at + len(first)], first) for at in starts.tolist()
        )


@asynccontextmanager
async def ringing(
    folder: Path,
    *,
    stt: SpeechToText | None = None,
    hears: Samples | None = None,
    llm: ScriptedLlm | None = None,
    **options: Any,
) -> AsyncIterator[tuple[Session, Heard]]:
    """A session, and what its loudspeaker plays."""
    heard = Heard()
    async with session(
        stt or ScriptedStt("-"),
        llm or ScriptedLlm("Sunny."),
        silence(0.2) if hears is None else hears,
        folder,
        **options,
    ) as talk:
        play = talk.loudspeaker.play

        async def note(samples: Samples) -> None:
            heard.blocks.append(samples)
            await play(samples)

        monkeypatch = pytest.MonkeyPatch()
        monkeypatch.setattr(talk.loudspeaker, "play", note)
        yield talk, heard
        monkeypatch.undo()


def start(
    talk: Session, words: Callable[[], str | None] = lambda: UP, *, insistent: bool = True
) -> "asyncio.Task[int]":
    return asyncio.create_task(talk.loop.ringer.ring(words, insistent=insistent))


async def until(happened: Callable[[], object]) -> None:
    while not happened():
        await asyncio.sleep(0.02)


def order(talk: Session, *kinds: type[Event]) -> list[type[Event]]:
    return [type(event) for event in talk.events if isinstance(event, kinds)]
