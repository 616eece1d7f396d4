"""A short conversation under observation: everything that the assistant does, in half a minute."""

import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from assistant.encryption import HomeLock, Vault
from assistant.errors import AssistantError, ModelFailed
from assistant.events import Event, Phase, PhaseChanged, Remarked, TurnEnded
from assistant.paths import Home
from assistant.settings import Settings
from data import located
from ui.network_audit.audit import Attempt, NetworkAudit
from ui.session.assistant_process import COMMAND, AssistantProcess
from ui.session.session import SessionPlan

TOLD = "My locker code is 4471."
ASKED = "What is my locker code?"
FORGET = "Forget that."
RECORDING = "recordings/today.flac"
ANSWER_S = 120.0
"""Seconds that an answer may take on a busy machine."""
LASTING_S = 25.0
"""Seconds. A library may report only after having been loaded for a while, such as onnxruntime."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What was observed, and a sentence on what could not be, if anything."""

    attempts: list[Attempt]
    blind_spot: str | None
    seconds: float


async def converse_under_watch(
    settings: Settings, command: Sequence[str] = COMMAND, lasting_s: float = LASTING_S
) -> Watched:
    """Tell it something, let it do idle work, ask in another session, and have it forgotten.

    Uses a temporary home and the models of the settings.

    Args:
        command: runs `ui.session.assistant_worker`.
        lasting_s: minimum duration of the second session.

    Raises:
        AssistantError: the conversation failed.
    """
    began = time.monotonic()
    trial = _trial_settings(settings)
    with NetworkAudit() as audit, tempfile.TemporaryDirectory(prefix="assistant-") as folder:
        home = Home(Path(folder) / "home").create()
        vault = Vault(None, HomeLock(home, alone=False))
        watched, environment = audit.watched(command), audit.environment(os.environ)
        speech = SessionPlan(recordings=(located(RECORDING),), output=Path(folder) / "answer.wav")
        try:
            first = _Visit(home, trial, vault, speech, watched, environment)
            await first.hold((TOLD,))
            second = _Visit(home, trial, vault, SessionPlan(typed=True), watched, environment)
            await second.hold((ASKED, FORGET), lasting_s)
        finally:
            vault.close()
        return Watched(audit.attempts(), audit.blind_spot(), time.monotonic() - began)


def _trial_settings(settings: Settings) -> Settings:
    """The user's settings, but for where data is stored, and with idle work that starts at once."""
    values = settings.model_dump()
    values["memory"] |= {"store": None, "enabled": True}
    values["encryption"] |= {"mode": "off"}
    values["context"] |= {"resume_within_h": 0}
    values["idle"] |= {"enabled": True, "every_s": 1, "max_load": 1, "on_battery": "all"}
    return Settings.model_validate(values)


class _Visit:
    """One session of the assistant, from start to end."""

    def __init__(
        self,
        home: Home,
        settings: Settings,
        vault: Vault,
        plan: SessionPlan,
        command: list[str],
        environment: dict[str, str],
    ) -> None:
        self._spoken = bool(plan.recordings)
        self._events: asyncio.Queue[Event | AssistantError] = asyncio.Queue()

        async def unlock() -> Vault:
            return vault

        self._hosted = AssistantProcess(
            home, settings, unlock, plan, command=command, environment=environment
        )

    async def hold(self, lines: Sequence[str], lasting_s: float = 0.0) -> None:
        """Say the lines, each after the answer to the one before; last at least so long.

        Raises:
            AssistantError: there was no answer.
        """
        began = time.monotonic()
        await self._hosted.start(self._hear, self._end)
        try:
            if self._spoken:
                await self._until(TurnEnded, Remarked)
            else:
                await self._until_listening()
            for line in lines:
                self._hosted.say(line)
                await self._until(TurnEnded, Remarked)
            await asyncio.sleep(max(0.0, lasting_s - (time.monotonic() - began)))
        finally:
            await self._hosted.close()

    def _hear(self, event: Event, _at: datetime) -> None:
        self._events.put_nowait(event)

    def _end(self, error: AssistantError | None) -> None:
        if error is not None:
            self._events.put_nowait(error)

    async def _until_listening(self) -> None:
        while await self._until(PhaseChanged) != PhaseChanged(Phase.LISTENING):
            continue

    async def _until(self, *kinds: type[Event]) -> Event:
        try:
            async with asyncio.timeout(ANSWER_S):
                while True:
                    event = await self._events.get()
                    if isinstance(event, AssistantError):
                        raise event
                    if isinstance(event, kinds):
                        return event
        except TimeoutError as error:
            raise ModelFailed(
                f"The trial conversation got no answer for {ANSWER_S:g} s."
            ) from error
