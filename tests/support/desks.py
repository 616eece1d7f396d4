"""Fills a home with exchanges, and opens the memory admin of a home without a running assistant."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from assistant.context.conversation import Conversation
from assistant.encryption.vault import Vault, open_vault
from assistant.events import Event, Notice
from assistant.memory import MemoryService, UserMemory, open_memory
from assistant.memory.admin import MemoryAdmin
from assistant.memory.admin_requests import handle_request
from assistant.memory.browse import MemoryFilter
from assistant.memory.forgetting.receipts import PurgeResult
from assistant.memory.forgetting.resolver import ForgetRequest
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.records.serialization import to_json
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.encoders import HashingEncoder

Row = dict[str, Any]

DOG = "My dog Max barks at every postman in the street."
ROOF = "I was born under a leaking roof in Trondheim."
CELLO = "On Fridays I play the cello with three dentists."
SAID = {DOG: 90, ROOF: 20, CELLO: 5}
"""The user's statements, and how many minutes ago each was made."""


def talked(home: Home, user: str = "me") -> dict[str, str]:
    """Store the exchanges with these statements; returns the exchanges' ids by statement."""
    now, talk, told = datetime.now(UTC), Conversation.begin(user), {}
    with closing(Transcript.open(home.transcript)) as transcript:
        for turn, (said, minutes) in enumerate(SAID.items(), start=1):
            started = now - timedelta(minutes=minutes)
            talk.append_user(turn, said, started)
            exchange = talk.complete(turn, f"I see, number {turn}.", ended=started)
            transcript.store(talk, exchange)
            told[said] = exchange.id
    return told


@contextmanager
def open_memory_admin(
    home: Home,
    settings: Settings,
    build_encoder: Callable[[Settings], QueryEncoder],
    tell: Callable[[Notice], None] | None = None,
    vault: Vault | None = None,
) -> Iterator[MemoryAdmin]:
    """Open the memory admin of the settings' user, without a running assistant."""

    def emit(event: Event) -> None:
        if tell is not None and isinstance(event, Notice):
            tell(event)

    with ExitStack() as stack:
        if vault is None:
            vault = stack.enter_context(closing(open_vault(home, settings)))
        opened = open_memory(home, settings, vault.key, partial(build_encoder, settings), emit)
        yield stack.enter_context(opened).admin(settings.general.user)


def in_session(memory: MemoryService, user: str = "me") -> UserMemory:
    """Let the running session use the long-term memory of `user`, and return that memory."""
    memory.session_user = memory.user(user)
    return memory.session_user


@contextmanager
def at_desk(
    home: Home, grace_s: float = 60, user: str = "me", told: list[str] | None = None
) -> Iterator[MemoryAdmin]:
    """Open the user's memory admin.

    Args:
        told: collects the texts of notices.
    """

    def tell(notice: Notice) -> None:
        if told is not None:
            told.append(notice.text)

    settings = Settings.model_validate({"general": {"user": user}, "forget": {"grace_s": grace_s}})
    with open_memory_admin(home, settings, lambda _: QueryEncoder(HashingEncoder()), tell) as desk:
        yield desk


def ask(desk: MemoryAdmin, act: str, **more: Any) -> list[Row]:
    return list(handle_request(desk, {"act": act, **more}))


def newest(desk: MemoryAdmin, kind: MemoryKind | None = None) -> list[Memory]:
    return desk.memories([each.id for each in desk.browsing.chosen(MemoryFilter(kind))])


def forget_now(desk: MemoryAdmin, names: Sequence[str], *, sources: bool = False) -> PurgeResult:
    """Delete memories for good before returning."""
    turns = desk.forgetting.turns()
    plan = desk.resolver.preview(ForgetRequest(ids=tuple(names), sources=sources), turns).plan
    purging = desk.forgetting.purge_now(plan.exchanges, plan.memories)
    return desk.forgetting.wait_for(purging)


def fact(key: str, text: str, *sources: str, **more: Any) -> Row:
    memory = Memory(key, "me", MemoryKind.FACT, text, datetime.now(UTC), sources=sources)
    return {**to_json(memory), **more}


def said_of(rows: list[Row], event: str) -> set[str]:
    """The user's own texts in the rows with this event."""
    return {row["text"] for row in rows if row["event"] == event and row["speaker"] == "user"}
