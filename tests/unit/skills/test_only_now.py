"""Without a transcript, it is said once that what is set up lasts only as long as the session."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from assistant.events import Event
from assistant.intents import CommandKind
from assistant.language.stemming import TextAnalyzer
from assistant.memory import Transcript
from assistant.skills import Lists, Notes, OnlyNow, SkillRegistry
from assistant.skills.only_now import ONLY_NOW
from assistant.state import StateStore
from tests.support.state_skills import SkillBench, Watching

NOTE, ADD, READ = CommandKind.NOTE_ADD, CommandKind.LIST_ADD, CommandKind.LIST_READ


class Both(OnlyNow):
    """Lists and notes."""

    def __init__(self, store: StateStore, off_record: Callable[[], bool]) -> None:
        lexicon = TextAnalyzer("en")
        self.parts: list[Watching] = [kind(store, lexicon, off_record) for kind in (Lists, Notes)]
        super().__init__(self.parts)

    def watch(self, event: Event) -> None:
        for each in self.parts:
            each.watch(event)


@pytest.fixture
def here() -> Iterator[SkillBench]:
    with closing(Transcript.in_ram()) as transcript:
        store, off_record = StateStore(transcript, "me"), [False]
        skill = Both(store, lambda: off_record[0])
        yield SkillBench(store, skill, SkillRegistry([skill]), off_record, [0.0])


async def test_it_is_said_once(here: SkillBench) -> None:
    assert await here.obey(READ) == "You don't have any lists yet."
    assert await here.obey(ADD, "milk") == f"Added milk to your shopping list. {ONLY_NOW}"
    assert await here.obey(ADD, "eggs") == "Added eggs to your shopping list."
    assert await here.obey(NOTE, "the boiler is old") == "Noted: the boiler is old."


async def test_it_is_said_after_a_question_too(here: SkillBench) -> None:
    assert await here.obey(NOTE) == "What should I note?"
    assert await here.answer("The boiler is old.") == f"Noted: the boiler is old. {ONLY_NOW}"


async def test_it_is_said_after_a_yes_too(here: SkillBench) -> None:
    asked = await here.obey(ADD, "milk", sure=False)
    assert asked == "Shall I add milk to your shopping list?"
    assert await here.answer("Yes.") == f"Added milk to your shopping list. {ONLY_NOW}"


async def test_what_was_not_set_up_is_not_warned_about(here: SkillBench) -> None:
    here.off_record[0] = True
    said = await here.obey(NOTE, "the boiler is old")
    assert said is not None
    assert ONLY_NOW not in said
