"""A long-term memory that can be closed and reopened."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path

from assistant.context.conversation import Conversation, Exchange
from assistant.events import Event
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.user_memory import UserMemory
from tests.support.encoders import SteeredEncoder
from tests.support.patience import LEISURE_S
from tests.support.user_memory import opened_memory


class Home:
    """The state that lasts from one start to the next."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.encoder = SteeredEncoder()
        self.events: list[Event] = []
        self.open_table: Callable[[], MemoryTable] = lambda: MemoryTable.open(
            str(folder / "memories")
        )

    def memory(
        self, user: str = "ada", transcript: Transcript | None = None
    ) -> AbstractAsyncContextManager[UserMemory]:
        return opened_memory(
            self.open_table, self.encoder, transcript, user=user, emit=self.events.append
        )


def exchange(conversation: Conversation, said: str, answer: str = "I see.") -> Exchange:
    turn = conversation.last_turn + 1
    conversation.append_user(turn, said, datetime.now(UTC))
    return conversation.complete(turn, answer)


async def recalled(memory: UserMemory, query: str) -> list[str]:
    found = await memory.recall(query, LEISURE_S)
    return [each.text for each in found.memories if each.speaker == "user"]
