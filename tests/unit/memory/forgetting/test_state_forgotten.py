"""Timers, lists, notes and the like are forgotten like memories: by topic, by time, and all."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from assistant.context import Exchange
from assistant.forms import Form, FormLibrary, OpenForm, Proposal, Way
from assistant.language.second_person import spoken_phrase
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.answer_origins import AnsweredTurn
from assistant.memory.forgetting.cascade import cascade
from assistant.memory.forgetting.executor import ForgettingExecutor
from assistant.memory.forgetting.memory_access import MemoryAccess
from assistant.memory.forgetting.resolver import ForgetRequest, NothingMeant, Resolver
from assistant.memory.transcript.database import Transcript
from assistant.state import EntryKind, StateRequests, StateStore, StoredWords
from assistant.state.forgettable import outlines

CALL = {"words": "call the dermatologist", "at": 1_800_000_000_000_000}


NOW = datetime(2026, 11, 16, tzinfo=UTC)


class Bench:
    """A home with state only, and what forgets it."""

    def __init__(self, transcript: Transcript, grace_s: float) -> None:
        self.transcript = transcript
        self.store = StateStore(transcript, "ada")
        transcript.locations.append(StoredWords(transcript))
        state = partial(StateRequests(transcript, self.store, "ada").outlines, "ada")
        access = MemoryAccess("ada", state=state)
        self.forgetting = ForgettingExecutor(transcript, access, [self.store], grace_s=grace_s)
        self.resolver = Resolver(transcript, access, TextAnalyzer("en"))

    def fill(self) -> None:
        [shopping] = self.store.add(EntryKind.LIST, [{"name": "shopping"}])
        self.store.add(EntryKind.ITEM, [{"text": "quince jelly", "done": False}], shopping.id)
        self.store.add(EntryKind.NOTE, [{"text": "The rash on my arm itches."}])
        self.store.add(EntryKind.REMINDER, [CALL])

    def texts(self) -> list[str]:
        entries = (each for kind in EntryKind for each in self.store.entries(kind))
        return sorted(text for each in entries for text in each.texts)

    async def forget(self, request: ForgetRequest) -> None:
        plan = self.resolver.resolve(request)
        await self.forgetting.hide(plan.exchanges, plan.memories)


@asynccontextmanager
async def bench(folder: Path, grace_s: float = 60) -> AsyncIterator[Bench]:
    with closing(Transcript.open(folder / "transcript.sqlite3")) as transcript:
        here = Bench(transcript, grace_s)
        here.fill()
        yield here


async def test_a_list_is_forgotten_with_its_items_and_can_be_brought_back(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        before = here.texts()
        await here.forget(ForgetRequest(about="my shopping list"))
        assert here.texts() == ["The rash on my arm itches.", "call the dermatologist"]
        assert await here.forgetting.undo() is not None
        assert here.texts() == before


@pytest.mark.parametrize(
    ("topic", "gone"),
    [("the rash", "The rash on my arm itches."), ("dermatologist", "call the dermatologist")],
)
async def test_notes_and_reminders_about_a_topic_leave_no_byte(
    tmp_path: Path, topic: str, gone: str
) -> None:
    async with bench(tmp_path, grace_s=0) as here:
        plan = here.resolver.resolve(ForgetRequest(about=topic))
        result = await here.forgetting.purge_now(plan.exchanges, plan.memories)
        assert result.receipt.clean
        assert gone not in here.texts()
        assert "quince jelly" in here.texts()
    files = [each.read_bytes() for each in tmp_path.glob("transcript*")]
    assert not any(gone.encode() in each for each in files)
    assert any(b"quince jelly" in each for each in files)


async def test_answers_of_a_form_are_forgotten_with_all_that_they_ever_were(tmp_path: Path) -> None:
    async with bench(tmp_path, grace_s=0) as here:
        opened = OpenForm.begin(here.store, intake())
        opened.put([Proposal("reason", "hives on my neck", "these hives on my neck")], "x1")
        opened.put([Proposal("reason", "a cough", "a cough")], "x2")
        opened.put([Proposal("allergies", ["walnuts"], "walnuts")], "x3")
        plan = here.resolver.resolve(ForgetRequest(about="hives"))
        result = await here.forgetting.purge_now(plan.exchanges, plan.memories)
        assert result.receipt.clean
        assert opened.reload()
        assert opened.values() == {"allergies": ["walnuts"]}
    files = [each.read_bytes() for each in tmp_path.glob("transcript*")]
    assert not any(gone in each for each in files for gone in (b"hives", b"cough"))
    assert any(b"walnuts" in each for each in files)


async def test_what_an_exchange_gave_to_a_form_is_forgotten_with_it(tmp_path: Path) -> None:
    async with bench(tmp_path, grace_s=0) as here:
        opened = OpenForm.begin(here.store, intake())
        opened.put([Proposal("reason", "hives", "hives")], "x1")
        opened.put([Proposal("allergies", ["walnuts"], "walnuts")], "x1")
        opened.put([Proposal("allergies", ["latex"], "latex")], "x2")
        gone = outlines(here.store, "ada")
        slots = [key for key, each in gone.items() if each.sources == ("x1",)]
        assert [gone[key].text for key in slots] == ["reason: hives"]
        result = await here.forgetting.purge_now(["x1"], slots)
        assert result.receipt.clean
        assert opened.reload()
        assert opened.values() == {"allergies": ["latex"]}
        assert here.store.changes(opened.filled[0].id) == []
    files = [each.read_bytes() for each in tmp_path.glob("transcript*")]
    assert not any(gone in each for each in files for gone in (b"hives", b"walnuts"))


async def test_an_answer_that_no_skill_can_read_is_forgotten_too(tmp_path: Path) -> None:
    async with bench(tmp_path, grace_s=0) as here:
        opened = OpenForm.begin(here.store, intake())
        here.store.add(EntryKind.SLOT, [{"slot": "reason", "note": "hives"}], opened.key)
        [change] = opened.put([Proposal("allergies", ["walnuts"], "walnuts")], "x1")
        with here.transcript.writing() as db:
            query = "INSERT INTO state_change (entry, at, exchange, content) VALUES (?, 0, '', '?')"
            db.execute(query, (change.key,))
        plan = here.resolver.resolve(ForgetRequest(about="hives"))
        assert (await here.forgetting.purge_now(plan.exchanges, plan.memories)).receipt.clean
        assert [each.content["value"] for each in opened.filled] == [["walnuts"]]
    files = [each.read_bytes() for each in tmp_path.glob("transcript*")]
    assert not any(b"hives" in each for each in files)


async def test_a_form_is_forgotten_by_its_name(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        before = here.texts()
        OpenForm.begin(here.store, intake()).put([Proposal("reason", "hives", "hives")], "x1")
        await here.forget(ForgetRequest(about="my medical intake form"))
        assert here.texts() == before
        assert await here.forgetting.undo() is not None
        assert "hives" in here.texts()


def intake() -> Form:
    form = FormLibrary(Path("/nonexistent")).get("medical_intake")
    assert form is not None
    return form


async def test_everything_includes_the_state(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.forget(ForgetRequest(everything=True))
        assert here.texts() == []


async def test_what_is_in_no_entry_is_not_found(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        with pytest.raises(NothingMeant):
            here.resolver.resolve(ForgetRequest(about="my bicycle"))


async def test_what_is_forgotten_is_named_as_the_user_would_name_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        plan = here.resolver.resolve(ForgetRequest(about="my shopping list"))
        assert [spoken_phrase(each.text, english=True) for each in plan.items] == [
            "your shopping list"
        ]


@asynccontextmanager
async def plan(folder: Path) -> AsyncIterator[Bench]:
    """A plan with a line that two exchanges have changed."""
    async with bench(folder, grace_s=0) as here:
        [trip] = here.store.add(
            EntryKind.TASK, [{"name": "plan the trip to Lisbon", "opened": 1, "used_at": 1}]
        )
        [stay] = here.store.add(
            EntryKind.LINE, [_line("stay at the hostel", "exchange-1")], trip.id
        )
        here.store.change(
            stay.id, _line("stay at the Ritz", "exchange-2"), "exchange-2", logged=True
        )
        here.store.add(EntryKind.LINE, [_line("no guided tours", "exchange-3")], trip.id)
        yield here


def _line(text: str, exchange: str) -> dict[str, object]:
    return {"text": text, "said_at": 1, "exchange": exchange}


async def test_a_line_is_forgotten_by_a_topic_that_it_had_before(tmp_path: Path) -> None:
    async with plan(tmp_path) as here:
        found = here.resolver.resolve(ForgetRequest(about="the hostel"))
        result = await here.forgetting.purge_now(found.exchanges, found.memories)
        assert result.receipt.clean
        assert "stay at the Ritz" not in here.texts()
        assert {"plan the trip to Lisbon", "no guided tours"} <= set(here.texts())
    assert not _on_disk(tmp_path, b"hostel", b"Ritz")


async def test_what_an_exchange_has_settled_is_forgotten_with_it(tmp_path: Path) -> None:
    async with plan(tmp_path) as here:
        said = Exchange("exchange-3", 3, "No guided tours.", NOW, "Fine.", ended=NOW)
        found = here.resolver.resolve(ForgetRequest(that=True), [AnsweredTurn(said, ())])
        await here.forgetting.purge_now(found.exchanges, found.memories)
        assert "no guided tours" not in here.texts()
        assert "stay at the Ritz" in here.texts()
    assert not _on_disk(tmp_path, b"guided")


async def test_what_a_line_said_before_is_forgotten_with_its_exchange(tmp_path: Path) -> None:
    async with plan(tmp_path) as here:
        result = await here.forgetting.purge_now(["exchange-1"], [])
        assert result.receipt.clean
        assert "stay at the Ritz" in here.texts()
    assert not _on_disk(tmp_path, b"hostel")


async def test_a_task_is_forgotten_with_its_lines(tmp_path: Path) -> None:
    async with plan(tmp_path) as here:
        await here.forget(ForgetRequest(about="the trip to Lisbon"))
        assert not {"plan the trip to Lisbon", "no guided tours"} & set(here.texts())


def _on_disk(folder: Path, *words: bytes) -> bool:
    files = [each.read_bytes() for each in folder.glob("transcript*")]
    return any(word in each for each in files for word in words)


async def test_what_several_exchanges_gave_to_one_answer_is_forgotten_with_any_of_them(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, grace_s=0) as here:
        opened = OpenForm.begin(here.store, intake())
        opened.put([Proposal("reason", "hives", "hives")], "x0")
        opened.put([Proposal("allergies", ["walnuts"], "walnuts")], "x1")
        opened.put([Proposal("allergies", ["latex"], "latex", way=Way.ADD)], "x2")
        opened.reload()
        assert opened.values()["allergies"] == ["walnuts", "latex"]
        outline = outlines(here.store, "ada")
        cascaded = cascade(here.transcript, "ada", outline, [], ["x1"])
        result = await here.forgetting.purge_now(["x1"], cascaded.ids)
        assert result.receipt.clean
        assert opened.reload()
        assert opened.values() == {"reason": "hives"}
    files = [each.read_bytes() for each in tmp_path.glob("transcript*")]
    assert not any(gone in each for each in files for gone in (b"walnuts", b"latex"))
