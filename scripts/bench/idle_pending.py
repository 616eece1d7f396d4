"""A home that has work for days between utterances, and what of it was done."""

import asyncio
import sqlite3
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice

from assistant.compose import memory_requests
from assistant.context.conversation import Conversation
from assistant.encryption.vault import Vault, open_vault
from assistant.memory.store.location import store_location
from assistant.memory.store.repair import open_store
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Settings
from scripts.bench.filling import said_and_asked

AGO = timedelta(days=60)
"""Too long for the conversation to be taken up."""
TURNS = 20


def settings_of(profile: str, pending: bool) -> Settings:
    """Facts are judged by the model whenever it is quiet, or nothing is done then."""
    idle = {"every_s": 0.01, "max_load": 1, "on_battery": "all", "extract": "model"}
    return Settings.model_validate(
        {
            "general": {"profile": profile, "sounds": False},
            "idle": idle if pending else {"enabled": False},
            "encryption": {"mode": "off"},
        }
    )


def flags_of(pending: bool) -> list[str]:
    """The same for the command."""
    wanted = settings_of("tiny", pending).idle.model_dump(exclude_unset=True)
    found: list[str] = []
    for name, value in wanted.items():
        found += ["--set", f"idle.{name}={str(value).lower() if value in (True, False) else value}"]
    return found


def fill(home: Home, profile: str, exchanges: int) -> None:
    """So many statements of a user, remembered, of which no facts were extracted. Blocking.

    Raises:
        StoreError, ModelError.
    """
    settings = settings_of(profile, pending=True)
    others, facts = said_and_asked()
    told = [text for text, _ in facts] + others
    with ExitStack() as stack:
        vault = stack.enter_context(closing(open_vault(home, settings)))
        transcript = Transcript.open(home.transcript, vault.key)
        stack.callback(transcript.close)
        talk = Conversation.begin(settings.general.user)
        for number, text in enumerate(islice(cycle(told), exchanges)):
            if number % TURNS == 0:
                talk = Conversation.begin(settings.general.user)
            at = datetime.now(UTC) - AGO + timedelta(minutes=number)
            turn = number % TURNS + 1
            talk.append_user(turn, text, at)
            transcript.store(talk, talk.complete(turn, "I see.", ended=at))
        _remember(home, settings, vault, transcript)


def _remember(home: Home, settings: Settings, vault: Vault, transcript: Transcript) -> None:
    table = open_store(store_location(home, settings, vault.key), lambda _: None)
    encoder = memory_requests.profile_encoder(settings)
    encoder.load()
    memory = memory_requests.load_user_memory(
        settings.general.user, table, encoder, settings, transcript
    )
    memory.store.owns_table = True

    async def settle() -> None:
        await memory.settled()
        await memory.close()

    asyncio.run(settle())


def worked_on(home: Home) -> int:
    """Of how many exchanges something was made."""
    with closing(sqlite3.connect(home.transcript)) as db:
        return int(db.execute("SELECT count(*) FROM derived").fetchone()[0])
