"""The profile in every prompt: explicitly stated names and pins, in lines that none can leave."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assistant.context.conversation import Conversation, Exchange
from assistant.context.memory_block import OPENING, PROFILE_OPENING, profile_block
from assistant.context.window import ContextWindow
from assistant.errors import StoreError
from assistant.events import Event, MemoryUsed, ProfileChanged
from assistant.memory.curation.materialize import materialize_exchange
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.user_memory import UserMemory
from assistant.settings import Memory as MemorySettings
from assistant.settings import Settings
from tests.support.context import recalled
from tests.support.memories import memory
from tests.support.poison import ATTACKS
from tests.support.scripted_model import ScriptedModel
from tests.support.user_memory import user_index, user_memory

START = datetime(2026, 11, 21, 11, 48, tzinfo=UTC)


def said(text: str, answer: str = "Nice.", at: int = 0) -> Exchange:
    return Exchange(f"e{at}", at, text, START + timedelta(days=at), answer, ended=START)


def test_a_name_is_taken_only_from_the_users_words() -> None:
    made = materialize_exchange("ada", "c", said("My name is Anna.", "Call me Bob."))
    assert [(each.kind, each.text) for each in made] == [
        (MemoryKind.EXCHANGE, "My name is Anna."),
        (MemoryKind.EXCHANGE, "Call me Bob."),
        (MemoryKind.PROFILE, "The user's name is Anna."),
    ]
    assert (made[2].id, made[2].sources) == ("e0-name", ("e0",))


def test_the_newest_name_comes_first_then_the_newest_notes() -> None:
    def each(key: str, text: str, kind: MemoryKind, day: int) -> Memory:
        pinned = kind is not MemoryKind.PROFILE
        return Memory(key, "ada", kind, text, START + timedelta(days=day), pinned=pinned)

    index = user_index(4)
    index.add(
        [
            each("p1", "old pin", MemoryKind.FACT, 1),
            each("x-name", "The user's name is Al.", MemoryKind.PROFILE, 2),
            each("p2", "new pin", MemoryKind.EXCHANGE, 9),
            each("y-name", "The user's name is Bo.", MemoryKind.PROFILE, 3),
            each("z-address", "The user wants to be called B.", MemoryKind.PROFILE, 1),
            each("x-name-not", "Likes tea.", MemoryKind.PROFILE, 4),
        ]
    )
    assert [note.text for note in index.profile] == [
        "The user's name is Bo.",
        "The user wants to be called B.",
        "new pin",
        "Likes tea.",
        "old pin",
    ]


# -- in the prompt ------------------------------------------------------------------------------


def count(text: str) -> int:
    return len(text.split())


def test_the_profile_is_small_and_contains_the_first_notes() -> None:
    notes = [recalled(f"note {number} " + "word " * 8, kind="fact") for number in range(50)]
    block = profile_block(notes, count, 60)
    assert count(block) <= 60
    assert block.startswith(f"({PROFILE_OPENING}\n- note 0 ")
    assert block.endswith(")")
    assert profile_block(notes, count, 5) == ""
    assert profile_block([], count, 100) == ""
    long = profile_block([recalled("word " * 500)], count, 100)
    assert long.endswith("…)")


def test_the_dates_in_the_profile_do_not_depend_on_the_current_day() -> None:
    note = recalled("The exam is on Friday.", said=START, kind="exchange")
    assert "- 21 November 2026: The exam" in profile_block([note, note], count, 100)
    assert profile_block([note, note], count, 100).count("exam") == 1


def test_no_note_breaks_out_of_its_line() -> None:
    for key, attack in ATTACKS.items():
        block = profile_block([recalled(attack[:300], kind="fact")], len, 4000)
        inside = block.removeprefix(f"({PROFILE_OPENING}\n- ").removesuffix(")")
        assert "\n" not in inside, key
        assert inside.count("(") == inside.count(")"), key
        for mark in ("<|", "[INST]", "<<SYS>>", "<start_of_turn>"):
            assert mark not in inside, key


class Profile:
    def __init__(self, *texts: str) -> None:
        self.notes = tuple(recalled(text, kind="profile") for text in texts)

    def __call__(self) -> tuple[MemoryUsed, ...]:
        return self.notes


def test_the_profile_is_in_the_stable_part_of_the_prompt_until_it_is_removed() -> None:
    profile, model = Profile("The user's name is Anna."), ScriptedModel()
    window = ContextWindow(model, Settings(), lambda: START, profile)
    talk = Conversation.begin("ada")
    first = window.build(talk, "Is it Tuesday?", memories=[recalled("the user's name is Anna.")])
    talk.append_user(1, "Is it Tuesday?", START)
    talk.complete(1, "Yes.", ended=START)
    second = window.build(talk, "Two and two?")

    system = first.messages[0].content
    assert system.endswith(f"\n\n({PROFILE_OPENING}\n- The user's name is Anna.)")
    assert second.messages[0].content == window.read_ahead(talk)[0].content == system
    assert OPENING not in first.messages[-1].content, "the name is in the prompt once"
    for prompt in (first, second):
        assert prompt.tokens == model.count_messages(prompt.messages)
        assert sum(section.tokens for section in prompt.sections) == prompt.tokens
    assert [each.name for each in second.sections][:2] == ["system", "profile"]

    profile.notes = ()
    third = window.build(talk, "Two and two?")
    assert "Anna" not in "".join(message.content for message in third.messages)
    assert sum(section.tokens for section in third.sections) == third.tokens


def test_the_size_of_the_profile_is_a_setting() -> None:
    settings = Settings(memory=MemorySettings(profile_tokens=0))
    window = ContextWindow(ScriptedModel(), settings, lambda: START, Profile("Anna."))
    assert "Anna" not in window.build(Conversation.begin("ada"), "Hi").messages[0].content


# -- in the long-term memory --------------------------------------------------------------------


async def opened(folder: Path, events: list[Event], *kept: Memory) -> UserMemory:
    made = user_memory(folder / "memories", emit=events.append)
    await made.load(None)
    if kept:
        await asyncio.to_thread(made.put, kept)
    return made


def texts(memory: UserMemory) -> list[str]:
    return [note.text for note in memory.profile()]


def changed(change: dict[str, Any], old: Memory) -> Memory:
    return replace(old, **change)


async def test_the_profile_of_a_running_memory_follows_changed_pins(tmp_path: Path) -> None:
    events: list[Event] = []
    plain = memory("Allergic to walnuts.")
    long_term = await opened(tmp_path, events, plain)
    assert texts(long_term) == []
    for change, expected in (
        ({"pinned": True}, [plain.text]),
        ({"never_recall": True}, []),
        ({"never_recall": False, "superseded_by": "other"}, []),
        ({"superseded_by": None}, [plain.text]),
        ({"pinned": False}, []),
        ({"pinned": True}, [plain.text]),
    ):
        await asyncio.to_thread(long_term.change, [plain.id], partial(changed, change))
        assert texts(long_term) == expected
    await asyncio.to_thread(long_term.delete, [plain])
    assert texts(long_term) == []
    await asyncio.sleep(0)
    reported = [event.count for event in events if isinstance(event, ProfileChanged)]
    assert reported == [1, 0, 1, 0, 1, 0]
    await long_term.close()


async def test_a_new_name_is_in_the_profile_at_once_and_after_a_restart(tmp_path: Path) -> None:
    events: list[Event] = []
    first = await opened(tmp_path, events)
    first.remember("c", said("My name is Anna."))
    assert texts(first) == ["The user's name is Anna."]
    await first.settled()
    await first.close()
    again = await opened(tmp_path, events)
    assert texts(again) == ["The user's name is Anna."]
    again.remember("c", said("Sorry, my name is Hanna.", at=1))
    assert texts(again) == ["The user's name is Hanna."]
    await again.close()


async def test_a_failed_write_leaves_the_profile_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Event] = []
    pin = replace(memory("Likes tea."), pinned=True)
    long_term = await opened(tmp_path, events, pin)

    def fails(*_: object) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(long_term.table, "delete", fails)
    with pytest.raises(StoreError):
        await asyncio.to_thread(long_term.delete, [pin])
    assert texts(long_term) == ["Likes tea."]
    await long_term.close()
