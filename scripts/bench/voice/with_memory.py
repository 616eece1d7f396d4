"""Compares the assistant with and without a long-term memory, alternately on the same models."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from assistant.compose.memory import profile_encoder
from assistant.context.conversation import Conversation
from assistant.context.short_term import ShortTermMemory
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.materialize import materialize_exchange
from assistant.memory.records.memory import Memory
from assistant.memory.retrieval.results import RecalledForTurn
from assistant.memory.store.table import MemoryTable
from assistant.memory.turn_recall import TurnRecall
from assistant.memory.user_memory import UserMemory
from assistant.paths import Home
from assistant.settings import Settings
from scripts.bench.filling import said_and_asked
from scripts.bench.voice.ablation import Variant
from scripts.bench.voice.labels import Clip
from scripts.bench.voice.listening import Outcome
from scripts.bench.voice.ours import Ours
from scripts.bench.voice.report import Pair, figures, first_audio

AT_ONCE = 64


class Remembering:
    """`ours` with `count` memories: facts and other things that one user said."""

    name = "on"

    def __init__(self, ours: Ours, home: Home, settings: Settings, count: int) -> None:
        self._ours = ours
        self.count = count
        self._least_score = settings.memory.least_score
        self._memory = UserMemory(
            settings.general.user,
            lambda: MemoryTable.open(str(home.memories)),
            profile_encoder(settings),
            TextAnalyzer(settings.persona.language),
            lambda _: None,
        )
        self.found: list[tuple[int, bool, bool]] = []
        """For each recall: the number of near memories, whether the vector came too late, and
        whether the fast encoder stood in for the stronger one."""

    async def load(self) -> None:
        """Load and fill the memory. Raises ModelMissing: the profile's encoder was not pulled."""
        await self._memory.load(None)
        others, facts = said_and_asked()
        said = [text for text, _ in facts] + others
        start = datetime.now(UTC) - timedelta(days=60)
        memories: list[Memory] = []
        for number, text in enumerate(islice(said, self.count)):
            talk = Conversation.begin(self._memory.user_id)
            moment = start + timedelta(hours=number)
            talk.append_user(1, text, moment)
            memories += materialize_exchange(talk.user, talk.id, talk.complete(1, "", ended=moment))
        await asyncio.to_thread(self._memory.put, memories)
        await asyncio.wrap_future(self._memory.strengthening.begin())
        while await self._memory.strengthening.some(AT_ONCE):
            """Repeat until all memories have the stronger encoder's vectors, if there is one."""
        self._memory.strengthening.rest()

    async def hear(self, clip: Clip) -> Outcome:
        def noting(short_term: ShortTermMemory) -> _Noting:
            return _Noting(self._memory, short_term, self._least_score, self.found)

        with_memory = replace(self._ours.parts, recaller=noting)
        return await Variant(self.name, self._ours, with_memory).hear(clip)

    async def close(self) -> None:
        await self._memory.close()


class _Noting(TurnRecall):
    """Recall that counts what it finds."""

    def __init__(
        self,
        memory: UserMemory,
        short_term: ShortTermMemory,
        least_score: float,
        found: list[tuple[int, bool, bool]],
    ) -> None:
        super().__init__(memory, short_term.shown, least_score=least_score)
        self._noted = found

    async def recall(
        self, query: str, deadline_s: float, *, about_user: bool = False, draft: bool = False
    ) -> RecalledForTurn:
        found = await super().recall(query, deadline_s, about_user=about_user, draft=draft)
        if not draft:
            near = sum(each.near for each in found.memories)
            self._noted.append((near, found.missed, found.stand_in))
        return found


def compared(pairs: Sequence[Pair], on: Remembering, seed: int) -> dict[str, Any]:
    """Figures from pairs (without, with memory). A ratio above 1 says that an answer takes longer
    with memory."""
    found = figures(pairs, seed)
    told = {key: each for key, each in found.items() if key.startswith(("ratio", "clips", "comp"))}
    notes = [count for count, _, _ in on.found]
    return (
        {"off": found["ours"], "on": found["stock"]}
        | told
        | {
            "memories": on.count,
            "recalls": len(notes),
            "recalled_mean": round(sum(notes) / len(notes), 1) if notes else None,
            "missed": sum(missed for _, missed, _ in on.found),
            "stand_in": sum(stand_in for _, _, stand_in in on.found),
        }
    )


def table(found: dict[str, Any]) -> str:
    """The figures as text for a person."""
    return (
        f"{first_audio(found, ('off', 'on'))}\n"
        f"{found['recalls']} recalls from {found['memories']} memories, {found['missed']} missed, "
        f"{found['stand_in']} by the fast encoder alone; "
        f"{found['recalled_mean']} near enough on average"
    )
