"""A home in which something was told, and the desk of one in which no assistant runs."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from assistant.compose.memory_requests import open_memory_admin
from assistant.context.conversation import Conversation
from assistant.events import Notice
from assistant.memory.admin import MemoryAdmin
from assistant.memory.admin_requests import handle_request
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
"""What was told, and how many minutes ago."""


def talked(home: Home, user: str = "me") -> dict[str, str]:
    """Tell it; returns the exchanges by what was said."""
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
def at_desk(
    home: Home, grace_s: float = 60, user: str = "me", told: list[str] | None = None
) -> Iterator[MemoryAdmin]:
    """
    Args:
        told: takes the sentences of notices.
    """

    def tell(notice: Notice) -> None:
        if told is not None:
            told.append(notice.text)

    settings = Settings.model_validate({"general": {"user": user}, "forget": {"grace_s": grace_s}})
    with open_memory_admin(home, settings, lambda _: QueryEncoder(HashingEncoder()), tell) as desk:
        yield desk


def ask(desk: MemoryAdmin, act: str, **more: Any) -> list[Row]:
    return list(handle_request(desk, {"act": act, **more}))


def forget_now(desk: MemoryAdmin, names: Sequence[str], *, sources: bool = False) -> PurgeResult:
    """Gone for good when it returns."""
    turns = desk.forgetting.turns()
    plan = desk.resolver.preview(ForgetRequest(ids=tuple(names), sources=sources), turns).plan
    purging = desk.forgetting.executor.purge_now(plan.exchanges, plan.memories)
    return desk.forgetting.run(purging)


def fact(key: str, text: str, *sources: str, **more: Any) -> Row:
    memory = Memory(key, "me", MemoryKind.FACT, text, datetime.now(UTC), sources=sources)
    return {**to_json(memory), **more}


def said_of(rows: list[Row], event: str) -> set[str]:
    """Texts of the rows of a kind that the user said or wrote."""
    return {row["text"] for row in rows if row["event"] == event and row["speaker"] == "user"}
