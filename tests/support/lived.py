"""Runs all kinds of idle work over a simulated month and checks the result: repeated facts don't
pile up, the newest value of a changed fact holds, the queue drains, and the settings bound what is
stored."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path

from assistant.context.conversation import Conversation
from assistant.idle.jobs.compaction import FOLDED
from assistant.language.speakers import ASSISTANT, USER
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.transcript.derived_outputs import DerivedOutputs
from assistant.memory.transcript.fact_rows import EXTRACTED
from assistant.memory.turn_recall import Archive
from assistant.settings import Idle, Settings
from models.interfaces import LanguageModel
from tests.support.encoders import SteeredEncoder
from tests.support.idle_home import IdleHome, all_on, idle_home
from tests.support.memories import stored
from tests.support.month import LASTS, Key, Said, month

MOST_PER_FACT = 1.3
ANSWERS_KEPT = timedelta(days=12)
BETWEEN = 25
"""Number of exchanges between two long silences."""
ME = "me"


class Encoder(SteeredEncoder):
    dimensions = 256


def settings(extract: str) -> Settings:
    """Settings that store answers for twelve days and leave little room in the fast tiers."""
    memory = {"expire_exchange_days": ANSWERS_KEPT.days, "hot_rows": 20, "warm_rows": 50}
    every = all_on()
    return every.model_copy(
        update={
            "memory": Settings.model_validate({"memory": memory}).memory,
            "idle": every.idle.model_copy(update={"extract": extract}),
        }
    )


@dataclass
class Lived:
    """The utterances of the month, in `said` by exchange id, in their order."""

    said: dict[str, Said] = field(default_factory=dict)

    def keys(self, memory: Memory) -> set[Key | None]:
        """The facts that a memory's sources tell; None stands for a source that tells no fact."""
        return {self.said[source].tells for source in memory.sources}

    def now(self) -> dict[str, str]:
        """The value that each subject has at the end."""
        return dict(each.tells for each in self.said.values() if each.tells is not None)


async def live(home: IdleHome, exchanges: int, conversations: int) -> Lived:
    """Talk for a month, with silences in which all idle work is done."""
    lived, until = Lived(), datetime.now(UTC)
    archive = Archive(home.transcript, home.memory)
    for _, talk in groupby(month(exchanges, conversations, until), lambda each: each.conversation):
        conversation = Conversation.begin(ME)
        for turn, said in enumerate(talk, 1):
            conversation.append_user(turn, said.text, said.at)
            exchange = conversation.complete(turn, said.answer, ended=said.at)
            archive.store(conversation, exchange)
            lived.said[exchange.id] = said
            if turn % BETWEEN == 0:
                home.clock[0] = said.at
                await quiet(home)
        await quiet(home)
    return lived


async def quiet(home: IdleHome) -> None:
    await home.memory.settled()
    await home.scheduler.run_until_empty()


async def check(
    folder: Path,
    exchanges: int,
    conversations: int,
    llm: LanguageModel | None = None,
    extract: str = "model",
) -> None:
    """Live through a month, and check what is stored at the end.

    Args:
        llm: by default a model that fits any schema and finds every fact worth remembering.
        extract: the setting `idle.extract`, which says whether a model judges facts at all.
    """
    folder.mkdir()
    how = settings(extract)
    async with idle_home(folder, llm, settings=how, encoder=Encoder()) as home:
        lived = await live(home, exchanges, conversations)
    async with idle_home(folder, llm, settings=how, encoder=Encoder()) as home:
        assert home.queue.counts() == []
        await home.until_empty()
        assert home.queue.counts() == []
        rows = stored(home.memory.table, ME)
        facts = [
            each for each in rows if each.kind not in (MemoryKind.EXCHANGE, MemoryKind.SUMMARY)
        ]
        piled_up(lived, facts)
        newest_holds(home, lived, facts)
        bounded(home, lived, rows, facts, conversations)


def piled_up(lived: Lived, facts: list[Memory]) -> None:
    by_key: dict[Key, list[Memory]] = defaultdict(list)
    for each in facts:
        [key] = lived.keys(each)  # two keys would mean that two facts were merged
        assert key is not None, each.text
        by_key[key].append(each)
    worst = sorted(by_key.items(), key=lambda each: -len(each[1]))[:5]
    shown = [(key, [each.text for each in found]) for key, found in worst]
    assert len(facts) / len(by_key) <= MOST_PER_FACT, shown
    told = {each.tells for each in lived.said.values() if each.tells is not None}
    assert len(by_key) >= 0.95 * len(told), told - by_key.keys()


def newest_holds(home: IdleHome, lived: Lived, facts: list[Memory]) -> None:
    """Of several values, only the newest is not superseded, and a question about the subject
    recalls it first."""
    by_about: dict[str, list[Memory]] = defaultdict(list)
    for each in facts:
        [(about, _)] = [key for key in lived.keys(each) if key is not None]
        by_about[about].append(each)
    changed = {about: found for about, found in by_about.items() if len(values(lived, found)) > 1}
    assert changed
    for about, found in changed.items():
        now = lived.now()[about]
        holding = [each for each in found if each.superseded_by is None]
        assert values(lived, holding) == {now}, (about, [each.text for each in holding])
        recalled = home.memory.find(holding[0].text.replace(now, "")).memories
        told = [key[1] for each in recalled for key in keys_of(lived, each.sources, about)]
        assert told[:1] == [now], (about, told)


def keys_of(lived: Lived, sources: tuple[str, ...], about: str) -> set[Key]:
    tells = (lived.said[source].tells for source in sources)
    return {key for key in tells if key is not None and key[0] == about}


def values(lived: Lived, facts: list[Memory]) -> set[str]:
    return {key[1] for each in facts for key in lived.keys(each) if key is not None}


def bounded(
    home: IdleHome, lived: Lived, rows: list[Memory], facts: list[Memory], conversations: int
) -> None:
    """The numbers of rows of each kind, of derived outputs and of memories in RAM are bounded."""
    answers = [each for each in rows if each.speaker == ASSISTANT]
    oldest = datetime.now(UTC) - ANSWERS_KEPT - timedelta(hours=1)
    assert answers
    assert all(max(each.told, each.last_used or each.told) > oldest for each in answers)
    assert len(answers) < len(lived.said) * (ANSWERS_KEPT / LASTS) * 1.2
    words = [each for each in rows if each.kind is MemoryKind.EXCHANGE and each.speaker == USER]
    assert len(words) <= len(lived.said)
    summaries = [each for each in rows if each.kind is MemoryKind.SUMMARY]
    assert 0 < len(summaries) <= len(lived.said) / Idle().summarise_turns + conversations
    assert len(rows) == len(words) + len(answers) + len(facts) + len(summaries)
    derived: Mapping[str, object] = DerivedOutputs(home.transcript, ME).of(EXTRACTED)
    assert derived.keys() == lived.said.keys()
    assert len(home.memory.index) == len(rows)
    assert home.memory.index.unmerged <= FOLDED
    tiers = home.memory.index.tier_counts()
    assert sum(tiers.values()) == len(rows)
