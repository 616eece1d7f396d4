"""Holds a short conversation under observation, with speech, memory and idle work."""

import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assistant.compose import SessionPlan
from assistant.encryption import HomeLock, Vault
from assistant.errors import AssistantError, ModelFailed
from assistant.events import Event, Phase, PhaseChanged, Remarked, TurnEnded
from assistant.paths import Home
from assistant.settings import Settings
from data import located
from ui.network_audit.audit import Attempt, NetworkAudit
from ui.session.assistant_process import COMMAND, AssistantProcess

STATEMENT = "My locker code is 4471."
QUESTION = "What is my locker code?"
FORGET = "Forget that."
RECORDING = "recordings/today.flac"
ANSWER_S = 120.0
"""Maximum seconds to wait for an answer. It is long, because the machine may be busy."""
SHORT_ANSWER_TOKENS = 24
"""Maximum number of tokens in an answer. It is low because the first session lasts until its answer
has been spoken."""
LASTING_S = 25.0
"""Minimum duration of the second session, in seconds. A library such as onnxruntime may try to
connect only after it has been loaded for a while."""

Events = asyncio.Queue[Event | AssistantError | None]
"""Queue of the assistant's events. An error in it ends the conversation."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The result of a conversation under observation.

    Attributes:
        attempts: the attempts to reach other machines.
        blind_spot: a sentence about attempts that could not be observed; None if all could be.
        seconds: duration of the conversation.
    """

    attempts: list[Attempt]
    blind_spot: str | None
    seconds: float


async def converse_under_watch(
    settings: Settings, command: Sequence[str] = COMMAND, lasting_s: float = LASTING_S
) -> Watched:
    """Hold two sessions with the assistant under observation, and return what was observed.

    In the first session, the assistant hears a recording and is told a fact. In the second one, it
    is asked for the fact and has to forget it. Idle work is enabled in both. Uses a temporary
    home and the models in the settings.

    Args:
        command: runs `ui.session.assistant_worker`.
        lasting_s: minimum duration of the second session.

    Raises:
        AssistantError: the conversation failed.
    """
    began = time.monotonic()
    trial = _trial_settings(settings)
    with tempfile.TemporaryDirectory(prefix="assistant-") as name:
        folder = Path(name)
        audit = NetworkAudit(folder)
        home = Home(folder / "home").create()
        vault = Vault(None, HomeLock(home, alone=False))
        watched, environment = audit.watched(command), audit.environment(os.environ)

        async def unlock() -> Vault:
            return vault

        async def hold(plan: SessionPlan, lines: Sequence[str], lasting_s: float = 0.0) -> None:
            events: Events = asyncio.Queue()
            assistant = AssistantProcess(
                home, trial, unlock, plan, command=watched, environment=environment
            )
            await assistant.start(lambda event, _at: events.put_nowait(event), events.put_nowait)
            try:
                await _talk(assistant, events, plan, lines, lasting_s)
            finally:
                await assistant.close()

        try:
            speech = SessionPlan(recordings=(located(RECORDING),), output=folder / "answer.wav")
            await hold(speech, (STATEMENT,))
            await hold(SessionPlan(typed=True), (QUESTION, FORGET), lasting_s)
        finally:
            vault.close()
        return Watched(audit.attempts(), audit.blind_spot(), time.monotonic() - began)


async def _talk(
    assistant: AssistantProcess,
    events: Events,
    plan: SessionPlan,
    lines: Sequence[str],
    lasting_s: float,
) -> None:
    """Say the lines, each after the answer to the previous one.

    If the plan has a recording, first wait for the answer to it. Takes at least `lasting_s`
    seconds.

    Raises:
        AssistantError: there was no answer.
    """
    began = time.monotonic()
    if plan.recordings:
        await _until(events, TurnEnded, Remarked)
    else:
        while await _until(events, PhaseChanged) != PhaseChanged(Phase.LISTENING):
            continue
    for line in lines:
        assistant.say(line)
        await _until(events, TurnEnded, Remarked)
    await asyncio.sleep(max(0.0, lasting_s - (time.monotonic() - began)))


async def _until(events: Events, *kinds: type[Event]) -> Event:
    try:
        async with asyncio.timeout(ANSWER_S):
            while True:
                event = await events.get()
                if isinstance(event, AssistantError):
                    raise event
                if isinstance(event, kinds):
                    return event
    except TimeoutError as error:
        raise ModelFailed(f"The trial conversation got no answer for {ANSWER_S:g} s.") from error


def _trial_settings(settings: Settings) -> Settings:
    """Return the user's settings, changed for a short trial that stores no data in the user's home.

    Answers are short, and idle work starts at once. No tool server is started, because tool
    servers are the user's own programs, and this trial only tests the assistant.
    """
    values = settings.model_dump()
    values["llm"] |= {"max_answer_tokens": SHORT_ANSWER_TOKENS}
    values["memory"] |= {"store": None, "enabled": True}
    values["encryption"] |= {"mode": "off"}
    values["context"] |= {"resume_within_h": 0}
    values["idle"] |= {"enabled": True, "every_s": 1, "max_load": 1, "on_battery": "all"}
    values["mcp"] = {}
    return Settings.model_validate(values)
