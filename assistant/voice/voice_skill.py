"""The skill that makes the assistant's voice louder, quieter, slower or faster."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from assistant.intents import Command, CommandKind
from assistant.language.numbers import with_digits
from assistant.skills import Reply
from assistant.state import EntryKind, StateStore
from assistant.voice.voice_control import FASTEST, LOUDEST_DB, QUIETEST_DB, SLOWEST, VoiceControl

STEP_DB = 4.0
"""A step of the volume in dB, large enough for anybody to notice."""
STEP_SPEED = 1.15
"""Factor by which a step changes the speed."""
LITTLE, LOT = 0.75, 2.5
"""Numbers of steps for "a little" and "a lot"."""
LIMIT = 1000.0
"""A number of steps that reaches the limit in any case."""
ALIKE = 0.01
"""Volumes (in dB) and speeds that differ by less count as the same."""
AGAIN = "All right, my voice is as it was."

_AMOUNTS = (
    (re.compile(r"\b(?:as \w+ as|as possible|max\w*|min\w*|full\w*|all the way|top)\b"), LIMIT),
    (re.compile(r"\b(?:little|bit|slightly|touch|tad|notch|somewhat|tiny|smidge\w*)\b"), LITTLE),
    (
        re.compile(
            r"\b(?:lots?|much|way|far|loads|plenty|really|significantly|twice|double|half)\b"
        ),
        LOT,
    ),
)
"""Words for amounts, and their numbers of steps. A sound that is 10 dB lower seems half as loud."""
_SHARE = re.compile(r"(?<![\d.])(\d{1,3}) ?(?:%|percent|per cent)")
_OF_TEN = re.compile(r"(?:to|level|at) (10|\d)(?: out of 10| of 10)?")
_HALF = re.compile(r"\b(?:to half|halfway|middle)\b")
_USUAL = re.compile(r"\b(?:normal|usual|default|regular)\b")


@dataclass(frozen=True, slots=True)
class Amount:
    """How much the user wants to change the voice: by a number of steps, by a share (`by`), to a
    share (`to`), or back to the usual."""

    steps: float = 1.0
    by: float | None = None
    to: float | None = None
    usual: bool = False


def amount(when: str | None) -> Amount:
    """Read "a little", "to 50 percent", "by 20%", "as loud as you can". Any other words count
    as one step.

    >>> amount("by twenty percent"), amount("a lot").steps
    (Amount(steps=1.0, by=0.2, to=None, usual=False), 2.5)
    """
    words = " ".join(with_digits((when or "").lower().replace("-", " ").split(), lone=True))
    if found := _SHARE.search(words):
        share = min(int(found[1]), 100) / 100
        return Amount(by=share) if re.search(r"\bby\b", words) else Amount(to=share)
    if found := _OF_TEN.fullmatch(words):
        return Amount(to=int(found[1]) / 10)
    if _USUAL.search(words):
        return Amount(usual=True)
    if _HALF.search(words):
        return Amount(to=0.5)
    return Amount(next((steps for word, steps in _AMOUNTS if word.search(words)), 1.0))


class VoiceSkill:
    """Changes the voice, and keeps the change for later sessions.

    The change is kept in the user's state, not in the settings file: that file is the user's own,
    and the environment may override it. The entry contains the volume as `volume_db`. Its `speed`
    is a factor by which the speed in the settings is multiplied, so that the setting keeps its
    effect.

    Args:
        usual_speed: the setting `tts.speed`.
    """

    kinds = frozenset(
        {CommandKind.LOUDER, CommandKind.QUIETER, CommandKind.SLOWER, CommandKind.FASTER}
    )

    def __init__(self, control: VoiceControl, state: StateStore, usual_speed: float = 1.0) -> None:
        self._control = control
        self._state = state
        self._usual_speed = usual_speed

    def load(self) -> None:
        """Restore the volume and the speed chosen in earlier sessions. Blocking.

        Raises:
            StoreError: the state can't be read.
        """
        for entry in self._state.entries(EntryKind.VOICE)[-1:]:
            volume, speed = (float(entry.content[key]) for key in ("volume_db", "speed"))
            self._set(volume, speed * self._usual_speed)

    async def carry_out(self, command: Command) -> Reply | None:
        if command.kind in (CommandKind.LOUDER, CommandKind.QUIETER):
            return await self._change_volume(command)
        return await self._change_speed(command)

    async def ask(self, command: Command) -> Reply | None:
        text = f"Shall I speak {command.kind.value}?"
        return Reply(text, if_yes=partial(self._agreed, command))

    async def _agreed(self, command: Command) -> Reply:
        return await self.carry_out(command) or Reply("")

    async def _change_volume(self, command: Command) -> Reply:
        louder, before = command.kind is CommandKind.LOUDER, self._control.volume_db
        wanted, sign = amount(command.when), 1 if louder else -1
        span = LOUDEST_DB - QUIETEST_DB
        after = before + sign * (STEP_DB * wanted.steps if wanted.by is None else wanted.by * span)
        if wanted.to is not None:
            after = QUIETEST_DB + wanted.to * span
        after = 0.0 if wanted.usual else min(max(after, QUIETEST_DB), LOUDEST_DB)
        if abs(after - before) < ALIKE:
            limits = {LOUDEST_DB: "loud", QUIETEST_DB: "quiet"}
            return _unchanged(limits.get(before), "volume")
        word = "louder" if after > before else "quieter"
        return await self._changed(after, self._control.speed, word)

    async def _change_speed(self, command: Command) -> Reply:
        before, wanted = self._control.speed, amount(command.when)
        sign = 1 if command.kind is CommandKind.FASTER else -1
        limit = FASTEST if sign > 0 else SLOWEST
        if wanted.steps == LIMIT:
            after = limit
        elif wanted.by is not None:
            after = before * (1 + sign * wanted.by)
        else:
            after = before * STEP_SPEED ** (sign * wanted.steps)
        if wanted.usual:
            after = self._usual_speed
        elif wanted.to is not None:  # "half as fast"; no share makes the voice faster
            after = self._usual_speed * wanted.to if sign < 0 else limit
        after = min(max(after, SLOWEST), FASTEST)
        if abs(after - before) < ALIKE:
            return _unchanged({FASTEST: "fast", SLOWEST: "slow"}.get(before), "speed")
        word = "faster" if after > before else "slower"
        return await self._changed(self._control.volume_db, after, word)

    async def _changed(self, volume_db: float, speed: float, word: str) -> Reply:
        before = (self._control.volume_db, self._control.speed)
        await asyncio.to_thread(self._keep, volume_db, speed)
        self._set(volume_db, speed)
        return Reply(f"Okay, {word}.", undo=partial(self._undo, *before), lasts=True)

    async def _undo(self, volume_db: float, speed: float) -> Reply:
        await asyncio.to_thread(self._keep, volume_db, speed)
        self._set(volume_db, speed)
        return Reply(AGAIN, lasts=True)

    def _set(self, volume_db: float, speed: float) -> None:
        self._control.volume_db = min(max(volume_db, QUIETEST_DB), LOUDEST_DB)
        self._control.speed = min(max(speed, SLOWEST), FASTEST)

    def _keep(self, volume_db: float, speed: float) -> None:
        content: Mapping[str, float] = {
            "volume_db": round(volume_db, 2),
            "speed": round(speed / self._usual_speed, 4),
        }
        kept = self._state.entries(EntryKind.VOICE)
        if not kept or self._state.change(kept[-1].id, content) is None:
            self._state.add(EntryKind.VOICE, [content])


def _unchanged(limit: str | None, what: str) -> Reply:
    if limit is None:
        return Reply(f"That's my {what} already.", lasts=True)
    return Reply(f"That's as {limit} as I can be.", lasts=True)
