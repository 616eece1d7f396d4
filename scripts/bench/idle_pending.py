"""Fills a home with days of idle work, and counts how much of that work was done."""

import asyncio
import sqlite3
from collections.abc import Iterable
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import cycle, islice

from assistant.compose.memory import profile_encoder
from assistant.context.conversation import Conversation
from assistant.encryption.vault import open_vault
from assistant.memory.service import open_memory
from assistant.paths import Home
from assistant.settings import Settings
from scripts.bench.filling import said_and_asked

AGO = timedelta(days=60)
"""Age of the conversations, which are too old to be continued."""
TURNS = 20


def settings_of(profile: str, pending: bool) -> Settings:
    """If `pending`, the model judges facts whenever nobody is talking; otherwise idle work is
    off."""
    idle = {"every_s": 0.01, "max_load": 1, "on_battery": "all", "extract": "model"}
    return Settings.model_validate(
        {
            "general": {"profile": profile, "sounds": False},
            "idle": idle if pending else {"enabled": False},
            "encryption": {"mode": "off"},
        }
    )


def flags_of(pending: bool) -> list[str]:
    """The same settings of idle work as command-line flags."""
    wanted = settings_of("tiny", pending).idle.model_dump(exclude_unset=True)
    found: list[str] = []
    for name, value in wanted.items():
        found += ["--set", f"idle.{name}={str(value).lower() if value in (True, False) else value}"]
    return found


def fill(home: Home, profile: str, exchanges: int) -> None:
    """Store and remember this many statements by a user, without extracting facts. Blocking.

    Raises:
        StoreError, ModelError: something is missing or broken.
    """
    others, facts = said_and_asked()
    told = [text for text, _ in facts] + others
    store(home, profile, islice(cycle(told), exchanges))


def store(home: Home, profile: str, said: Iterable[str]) -> None:
    """Store and remember what a user said, without extracting facts. Blocking.

    Raises:
        StoreError, ModelError: something is missing or broken.
    """
    settings = settings_of(profile, pending=True)
    with ExitStack() as stack:
        vault = stack.enter_context(closing(open_vault(home, settings)))
        encoder = partial(profile_encoder, settings)
        memory = stack.enter_context(open_memory(home, settings, vault.key, encoder, print))
        talk = Conversation.begin(settings.general.user)
        for number, text in enumerate(said):
            if number % TURNS == 0:
                talk = Conversation.begin(settings.general.user)
            at = datetime.now(UTC) - AGO + timedelta(minutes=number)
            turn = number % TURNS + 1
            talk.append_user(turn, text, at)
            memory.transcript.store(talk, talk.complete(turn, "I see.", ended=at))
        asyncio.run(memory.user(settings.general.user).settled())


def worked_on(home: Home) -> int:
    """The number of exchanges that idle work has processed."""
    with closing(sqlite3.connect(home.transcript)) as db:
        return int(db.execute("SELECT count(*) FROM derived").fetchone()[0])
