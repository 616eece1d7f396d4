"""The memory tab, driven by keys, on a real store."""

import json
from pathlib import Path

from textual.widgets import Button, Input, Static

from assistant.events import Latency, TurnEnded, TurnHeard
from assistant.memory.records.memory import MemoryKind
from tests.support.memory_screen import Stage, stage
from ui.screen.memory.filters import FilterDialog
from ui.screen.memory.forgetting import ReceiptsDialog
from ui.screen.memory.table import MemoryList
from ui.screen.widgets.dialogs import Confirm, LineDialog
from ui.screen.widgets.lists import Listing

DOG = "My dog Max loves to play fetch."
LISBON = "My sister moved to Lisbon."
TEA = "I drink tea, never coffee."
TOLD = (DOG, LISBON, TEA)


def words(stage: Stage, selector: str) -> str:
    return str(stage.app.screen.query_one(selector, Static).render())


def detail(stage: Stage) -> str:
    return str(stage.detail.query_one(Static).render())


async def typed(stage: Stage, text: str) -> None:
    stage.tab.find()
    await stage.press(text[0])
    stage.app.query_one("#search", Input).value = text
    await stage.settled()


async def filtered(stage: Stage, option: str) -> None:
    await stage.press("f")
    await stage.until(lambda: isinstance(stage.app.screen, FilterDialog))
    listing = stage.app.screen.query_one(Listing)
    listing.highlighted = listing.get_option_index(option)
    await stage.press("enter")


async def at(stage: Stage, text: str) -> None:
    """Move the cursor to the memory with this text."""
    stage.table.go(stage.texts().index(text))
    await stage.settled()


async def test_with_an_empty_store_the_tab_says_what_will_appear_there(tmp_path: Path) -> None:
    async with stage(tmp_path) as here:
        line = here.table.render_line(1).text
        assert line.startswith("Memories appear here")
        await here.press("d", "p", "n", "w", "e", "T", "h", "y", "u")
        assert here.app.troubles != []  # "u" found nothing to bring back


async def test_all_memories_are_shown_with_their_origin_and_can_be_exported(tmp_path: Path) -> None:
    async with stage(tmp_path / "home", told=TOLD) as here:
        assert isinstance(here.app.focused, MemoryList)
        assert here.texts()[1::2] == [TEA, LISBON, DOG]
        await at(here, LISBON)
        shown = detail(here)
        assert "Based on the exchange of" in shown
        assert "assistant: I see." in shown
        await here.press("h")
        assert here.here == "I see."
        await here.press("escape", "l")
        assert here.here == LISBON
        await here.press("escape")
        here.session.tell(TurnHeard(2, LISBON), TurnEnded(2, LISBON, "I see.", False, Latency()))
        await at(here, DOG)
        await here.press("T")
        assert here.app.turns == []
        await at(here, LISBON)
        await here.press("T")
        assert here.app.turns == [2]

        await here.press("E")
        await here.until(lambda: isinstance(here.app.screen, LineDialog))
        file = tmp_path / "out.jsonl"
        here.app.screen.query_one(Input).value = str(file)
        await here.press("enter")
        await here.until(file.exists)
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        assert [row["text"] for row in rows if row["speaker"] == "user"] == list(TOLD)
        assert file.stat().st_mode & 0o077 == 0


async def test_search_uses_recall_or_plain_text_and_filters_narrow_the_list(tmp_path: Path) -> None:
    async with stage(tmp_path, told=TOLD) as here:
        await typed(here, "what does Max fetch")
        await here.until(lambda: here.here == DOG)
        assert "score" in here.table.render_line(0).text
        assert "words: " in detail(here)
        await here.press("ctrl+t")
        await here.until(lambda: here.table.total == 0)
        here.app.query_one("#search", Input).value = "LISB"
        await here.until(lambda: here.texts() == [LISBON])
        assert "1 with this text" in words(here, "#about")
        await here.press("down", "escape")
        await here.until(lambda: here.table.total == 6)
        assert here.app.query_one("#search", Input).value == ""

        here.desk.add("Rent is due on the first.", MemoryKind.FACT)
        here.bench.pass_time(10)
        await filtered(here, "kind:fact")
        await here.until(lambda: here.texts() == ["Rent is due on the first."])
        assert "fact" in words(here, "#about")
        await filtered(here, "state:pinned")
        await here.until(lambda: here.table.total == 0)
        assert "esc shows all" in here.table.render_line(1).text
        await here.press("escape")
        await here.until(lambda: here.table.total == 7)
        await filtered(here, "user:ada")
        await here.until(lambda: here.session.asked[-1].get("user") == "ada")
        assert here.table.total == 7
        await here.press("F")
        await here.until(lambda: "user" not in here.session.asked[-1])


async def test_memories_are_added_edited_and_marked(tmp_path: Path) -> None:
    async with stage(tmp_path, told=TOLD) as here:
        assert here.here != DOG
        [dog] = [row["id"] for row in here.rows() if row["text"] == DOG]
        here.tab.load(dog)
        here.tab.load()  # a reload meanwhile does not stop the cursor from moving there
        await here.until(lambda: here.here == DOG)
        await here.press("e")
        assert not isinstance(here.app.screen, LineDialog)  # the user's own words can't be edited

        for key in "pnw":  # pressed in quick succession, all apply to the memory chosen then
            here.app.simulate_key(key)
        here.app.simulate_key("g")
        await here.until(lambda: here.desk.stats()["pinned"] == 1)
        await at(here, DOG)
        marks = ("[pinned]", "[never recalled]", "-1")
        await here.until(lambda: all(mark in detail(here) for mark in marks))
        await here.press("p", "n")
        await here.until(lambda: not any(mark in detail(here) for mark in marks[:2]))
        assert here.here == DOG

        await here.press("a")
        await here.until(lambda: isinstance(here.app.screen, LineDialog))
        await here.press(*"ABC", "enter")
        await here.until(lambda: here.here == "ABC")
        await here.until(lambda: "written down by you" in detail(here))
        await here.press("e")
        await here.until(lambda: isinstance(here.app.screen, LineDialog))
        await here.press("D", "enter")
        await here.until(lambda: "ABCD" in detail(here))
        assert here.here == "ABCD"
        assert [each.text for each in here.desk.search("ABCD", 1).memories] == ["ABCD"]

        await here.press("g", "space", "space", "p")
        await here.until(lambda: here.desk.stats()["pinned"] == 2)
        assert "2 selected" in words(here, "#about")
        await here.press("escape")
        assert here.table.selection == set()


async def test_forgotten_memories_are_brought_back_or_deleted_for_good(tmp_path: Path) -> None:
    async with stage(tmp_path, told=TOLD) as here:
        await at(here, LISBON)
        await here.press("d")
        await here.until(lambda: here.table.total == 4)
        assert "gone for good in 60 s, undo with u" in words(here, "#countdown")
        here.bench.pass_time(8)
        await here.until(lambda: "in 52 s" in words(here, "#countdown"))
        await filtered(here, "state:being-forgotten")
        await here.until(lambda: LISBON in here.texts())
        assert "This is being forgotten." in detail(here)
        await here.press("escape", "u")
        await here.until(lambda: here.table.total == 6)
        assert not here.app.query_one("#countdown").display
        await at(here, LISBON)
        await here.press("space", "k")
        new = here.bench.tell("The plumber comes on Monday.")
        await here.bench.memory.settled()
        here.session.tell(TurnEnded(new.turn, new.user_text, "I see.", False, Latency()))
        await here.until(lambda: here.table.total == 8)  # the cursor must not move
        assert here.here == LISBON
        assert len(here.table.selection) == 1

        await here.press("ctrl+a")
        assert len(here.table.selection) == 8
        await here.press("d")
        await here.until(lambda: isinstance(here.app.screen, Confirm))
        focused = here.app.screen.focused
        assert isinstance(focused, Button)
        assert focused.id == "cancel"
        assert "Forget 8 memories and 4 exchanges?" in words(here, "Label")
        listed = str(here.app.screen.query(Static)[1].render())
        assert "· you said: " in listed
        assert "… and 2 memories more" in listed
        await here.press("enter")
        assert here.table.total == 8
        await here.press("d")
        await here.until(lambda: isinstance(here.app.screen, Confirm))
        await here.press("y")
        await here.until(lambda: here.table.total == 0)
        assert here.table.selection == set()
        here.bench.pass_time(61)
        assert await here.bench.forgetting.purge_due()
        await here.press("R")
        await here.until(lambda: isinstance(here.app.screen, ReceiptsDialog))
        await here.until(lambda: "Nothing was found." in words(here, "ReceiptsDialog Static"))
        await here.press("escape")
        await here.until(lambda: not here.app.query_one("#countdown").display)


async def test_on_a_narrow_screen_the_detail_opens_over_the_table(tmp_path: Path) -> None:
    async with stage(tmp_path, (80, 24), told=TOLD) as here:
        assert not here.detail.display
        await at(here, DOG)
        await here.press("enter")
        await here.until(lambda: DOG in detail(here))
        assert (here.detail.display, here.table.display) == (True, False)
        await here.press("y")
        assert here.app.clipboard == DOG
        await here.press("p")
        await here.until(lambda: "[pinned]" in detail(here))
        await here.press("escape")
        await here.until(lambda: here.table.display and here.table.has_focus)
        assert here.here == DOG
