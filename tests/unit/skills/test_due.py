"""What is due rings: once, whatever happens to the clock and the machine in between."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from assistant.errors import StoreError
from assistant.events import Notice
from assistant.language.repeats import Repeat
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.stored_values import microseconds
from assistant.skills.due.due import AGAIN_S, CHECK_S
from assistant.skills.due.due_times import due_at
from assistant.state import EntryKind
from tests.support.due import LONDON, START, Bench

HOUR_S = 3600.0


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "t.db", lambda watch, off: [])
    yield bench
    bench.transcript.close()


def timer(here: Bench, seconds: float, name: str = "") -> str:
    ends = here.set_by_hand.now + timedelta(seconds=seconds)
    content = {"name": name, "length_s": seconds, "ends_at": microseconds(ends)}
    return here.store.add(EntryKind.TIMER, [content])[0].id


def alarm(here: Bench, local: str, repeat: Repeat | None = None) -> str:
    since = microseconds(here.set_by_hand.now)
    more = {} if repeat is None else {"repeat": repeat.as_json(), "since": since}
    return here.store.add(EntryKind.ALARM, [{"name": "", "local": local, **more}])[0].id


def reminder(here: Bench, words: str, local: str) -> str:
    return here.store.add(EntryKind.REMINDER, [{"words": words, "local": local}])[0].id


async def test_what_is_due_rings_once(here: Bench) -> None:
    alarm(here, "2026-11-18T10:30")
    assert await here.wait(590) == []
    assert await here.wait(20) == ["It's half past ten."]
    assert await here.wait(700) == []
    assert here.contents(EntryKind.ALARM) == []


async def test_what_is_due_together_rings_together(here: Bench) -> None:
    timer(here, 600, "pasta")
    reminder(here, "call my sister", "2026-11-18T10:30")
    rang = await here.wait(600)
    assert rang == ["The pasta timer is done. Here's your reminder to call your sister."]
    assert await here.wait(600) == []


async def test_a_reminder_is_told_once_but_an_alarm_insists(here: Bench) -> None:
    reminder(here, "the bins", "2026-11-18T10:30")
    alarm(here, "2026-11-18T10:40")
    await here.wait(1200)
    assert here.ringer.rang == [
        ("Here's your reminder about the bins.", False),
        ("It's twenty to eleven.", True),
    ]


async def test_what_is_not_heard_rings_again(here: Bench) -> None:
    timer(here, 60)
    here.ringer.hears = False
    await here.wait(60)
    assert await here.watch.check() == AGAIN_S
    here.ringer.hears = True
    assert await here.wait(0) == ["The one minute timer is done."]


async def test_what_becomes_due_while_something_rings_rings_with_it(here: Bench) -> None:
    timer(here, 60, "egg")
    timer(here, 70, "pasta")
    here.ringer.times, here.ringer.after = 2, lambda: here.set_by_hand.pass_(10)
    await here.wait(60)
    assert [text for text, _ in here.ringer.rang] == [
        "The egg timer is done.",
        "The egg timer is done. The pasta timer is done.",
    ]
    assert await here.wait(300) == []


async def test_what_was_silenced_before_it_was_said_rings_again(here: Bench) -> None:
    timer(here, 60, "egg")
    timer(here, 70, "pasta")
    here.ringer.times, here.ringer.heard = 2, 1
    here.ringer.after = lambda: here.set_by_hand.pass_(10)
    await here.wait(60)
    here.ringer.times, here.ringer.after = 1, lambda: None
    assert await here.wait(0) == ["The pasta timer is done."]
    assert await here.wait(300) == []


async def test_an_alarm_that_becomes_due_after_a_reminder_still_insists(here: Bench) -> None:
    reminder(here, "the bins", "2026-11-18T10:30")
    alarm(here, "2026-11-18T10:31")
    until_quiet = [70.0, 0.0]
    here.ringer.before = lambda: here.set_by_hand.pass_(until_quiet.pop(0))
    await here.wait(600)
    await here.wait(0)
    assert here.ringer.rang == [
        ("Here's your reminder about the bins.", False),
        ("It's ten thirty-one.", True),
    ]


async def test_what_is_due_next_need_not_wait_until_what_was_not_heard_rings_again(
    here: Bench,
) -> None:
    timer(here, 60)
    timer(here, 65)
    here.ringer.hears = False
    await here.wait(50)
    here.set_by_hand.pass_(10)
    assert await here.watch.check() == 5


async def test_what_was_cancelled_before_its_words_does_not_ring(here: Bench) -> None:
    key = timer(here, 60)
    here.set_by_hand.pass_(61)
    here.ringer.before = lambda: here.store.remove([key])
    assert await here.watch.check() == CHECK_S
    assert here.ringer.rang == []


async def test_what_is_hidden_by_a_deletion_does_not_ring(here: Bench) -> None:
    key = reminder(here, "call Anna", "2026-11-18T10:30")
    hidden = HiddenItems("f", "ada", START, START, (), (key,))
    here.ringer.before = lambda: here.store.hide(hidden)
    assert await here.wait(900) == []
    here.ringer.before = lambda: None
    here.store.unhide(hidden, [])
    assert await here.wait(0) == ["Here's your reminder to call Anna."]


async def test_an_alarm_repeats(here: Bench) -> None:
    alarm(here, "2026-11-19T07:00", Repeat(1, "week", (0, 1, 2, 3, 4)))
    rang = list[str]()
    for _ in range(6):
        here.set_by_hand.pass_(20 * HOUR_S)  # until twenty past six
        rang += await here.wait(HOUR_S)
        here.set_by_hand.pass_(3 * HOUR_S)
    assert rang == ["It's seven o'clock."] * 4  # Thursday, Friday, Monday and Tuesday


async def test_an_alarm_keeps_its_local_time_when_the_clocks_change(here: Bench) -> None:
    here.set_by_hand.now = datetime(2027, 3, 27, 12, tzinfo=UTC)
    alarm(here, "2027-03-28T07:00", Repeat(1, "day"))
    await here.wait(18.5 * HOUR_S)  # until half past seven in summer time
    assert [text for text, _ in here.ringer.rang] == ["It's seven o'clock."]


# -- off ----------------------------------------------------------------------------------------


async def test_what_was_due_while_it_was_off_is_told_once_in_one_sentence(here: Bench) -> None:
    alarm(here, "2026-11-19T07:00")
    reminder(here, "call Anna", "2026-11-19T08:00")
    here.set_by_hand.pass_(24 * HOUR_S)
    here.restart(lambda watch, off: [])
    assert await here.wait(60) == [
        "While I was off, your alarm for seven and a reminder to call Anna were due."
    ]
    assert not here.ringer.rang[0][1], "nobody has to silence it"
    here.restart(lambda watch, off: [])
    assert await here.wait(900) == []
    assert here.contents(EntryKind.ALARM) == []


async def test_what_repeats_goes_on_after_it_was_missed(here: Bench) -> None:
    alarm(here, "2026-11-19T07:00", Repeat(1, "day"))
    here.set_by_hand.pass_(3 * 24 * HOUR_S)
    here.restart(lambda watch, off: [])
    assert await here.wait(0) == ["While I was off, your alarm for seven on Thursday was due."]
    assert await here.wait(24 * HOUR_S) == ["It's seven o'clock."]


async def test_what_was_due_while_the_machine_slept_is_told(here: Bench) -> None:
    timer(here, 600, "pasta")
    await here.wait(10)
    here.set_by_hand.pass_(HOUR_S)  # nobody looks at the clock, as if the process were stopped
    assert await here.wait(0) == ["While I was off, the pasta timer was due."]
    assert await here.wait(HOUR_S) == []


async def test_what_becomes_due_just_after_a_sleep_rings_as_usual(here: Bench) -> None:
    timer(here, HOUR_S, "pasta")
    timer(here, 60, "egg")
    await here.wait(10)
    here.set_by_hand.pass_(HOUR_S - 10)
    await here.wait(20)
    assert here.ringer.rang == [
        ("While I was off, the egg timer was due.", False),
        ("The pasta timer is done.", True),
    ]


async def test_what_is_not_heard_after_a_start_is_told_later(here: Bench) -> None:
    alarm(here, "2026-11-19T07:00")
    here.set_by_hand.pass_(24 * HOUR_S)
    here.restart(lambda watch, off: [])
    here.ringer.hears = False
    await here.wait(100)
    here.ringer.hears = True
    assert await here.wait(10) == ["While I was off, your alarm for seven was due."]


# -- clocks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("hours", [1, -1])
async def test_a_timer_counts_real_time(here: Bench, hours: int) -> None:
    timer(here, 1800)
    await here.wait(600)
    here.set_by_hand.now += timedelta(hours=hours)
    assert await here.wait(1190) == []
    assert await here.wait(10) == ["The timer for half an hour is done."]


@pytest.mark.parametrize("hours", [1, -1])
async def test_an_alarm_follows_the_clock(here: Bench, hours: int) -> None:
    alarm(here, "2026-11-18T12:00")
    await here.wait(60)
    here.set_by_hand.now += timedelta(hours=hours)
    at_noon = datetime(2026, 11, 18, 12, tzinfo=LONDON)
    still = (at_noon - here.set_by_hand.now).total_seconds()
    assert await here.wait(still - 10) == []
    assert await here.wait(10) == ["It's noon."]


async def test_an_alarm_that_the_clock_jumps_over_rings_at_once(here: Bench) -> None:
    alarm(here, "2026-11-18T10:50")
    await here.wait(60)
    here.set_by_hand.now += timedelta(hours=1)
    assert len(await here.wait(10)) == 1


async def test_nothing_rings_twice_because_the_clock_is_set_back(here: Bench) -> None:
    alarm(here, "2026-11-18T10:30", Repeat(1, "day"))
    alarm(here, "2026-11-18T10:30")
    assert len(await here.wait(660)) == 1
    here.set_by_hand.now -= timedelta(hours=1)
    assert await here.wait(2 * HOUR_S) == []
    assert await here.wait(24 * HOUR_S) == ["It's half past ten."]


async def test_a_wrong_year_does_not_silence_an_alarm_for_long(here: Bench) -> None:
    alarm(here, "2026-11-18T10:30", Repeat(1, "day"))
    await here.wait(60)
    here.set_by_hand.now += timedelta(days=1000)
    await here.wait(60)
    here.set_by_hand.now -= timedelta(days=1000)
    here.ringer.rang.clear()
    assert await here.wait(24 * HOUR_S) == ["It's half past ten."]


async def test_an_alarm_follows_the_zone(here: Bench) -> None:
    alarm(here, "2026-11-19T07:00")
    await here.wait(60)
    here.set_by_hand.zone = ZoneInfo("America/New_York")
    at = datetime(2026, 11, 19, 7, tzinfo=ZoneInfo("America/New_York"))
    still = (at - here.set_by_hand.now).total_seconds()
    assert await here.wait(still - 10) == []
    assert await here.wait(10) == ["It's seven o'clock."]


async def test_one_alarm_is_not_lost_on_a_flight_to_the_east(here: Bench) -> None:
    alarm(here, "2026-11-18T12:00")
    await here.wait(60)
    here.set_by_hand.zone = ZoneInfo("Asia/Tokyo")
    assert len(await here.wait(20)) == 1


def test_a_time_that_is_skipped_is_moved_by_the_gap() -> None:
    content = {"local": "2027-03-28T01:30"}
    assert due_at(content, LONDON) == datetime(2027, 3, 28, 1, 30, tzinfo=UTC)


# -- trouble ------------------------------------------------------------------------------------


async def test_what_was_heard_does_not_ring_again_if_it_cannot_be_recorded(
    here: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    timer(here, 60)

    def full(_: object) -> None:
        raise StoreError("The disk is full.")

    await here.wait(50)
    here.set_by_hand.pass_(10)
    with monkeypatch.context() as patch:
        patch.setattr(here.store, "change_all", full)
        for _ in range(3):
            with pytest.raises(StoreError):
                await here.watch.check()
            here.set_by_hand.pass_(30)
    assert len(here.ringer.rang) == 1
    assert await here.wait(60) == []
    assert "rang_at" in here.contents(EntryKind.TIMER)[0]


async def test_the_watch_reports_an_error_once_and_goes_on(
    here: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    timer(here, 0)
    monkeypatch.setattr("assistant.skills.due.due.AGAIN_S", 0.0)
    rang = asyncio.Event()
    here.ringer.after = rang.set
    fails = [StoreError("The disk is full.")] * 3
    entries = here.store.entries

    def sometimes(*args: Any) -> Any:
        if fails:
            raise fails.pop()
        return entries(*args)

    monkeypatch.setattr(here.store, "entries", sometimes)
    running = asyncio.create_task(here.watch.run())
    await rang.wait()
    running.cancel()
    notices = [each for each in here.events if isinstance(each, Notice)]
    assert [each.text for each in notices] == ["The disk is full."]


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (EntryKind.ALARM, {"name": "", "local": "soon"}),
        (EntryKind.ALARM, {"local": "2026-11-18T10:20", "repeat": {"every": 1, "unit": "day"}}),
        (EntryKind.TIMER, {"ends_at": 10**30}),
        (EntryKind.TIMER, {"ends_at": 0}),
        (EntryKind.REMINDER, {"local": "2026-11-18T10:20"}),
    ],
)
async def test_an_unreadable_entry_silences_nothing_else_and_is_logged_once(
    here: Bench, kind: EntryKind, content: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    here.store.add(kind, [content])
    timer(here, 60, "pasta")
    assert await here.wait(60) == ["The pasta timer is done."]
    assert here.store.entries(kind, unreadable=True)[0].content == content
    assert [each.levelname for each in caplog.records] == ["WARNING"]


async def test_the_watch_goes_on_after_an_error_of_the_ringer(
    here: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    timer(here, 0)
    monkeypatch.setattr("assistant.skills.due.due.AGAIN_S", 0.0)
    rang = asyncio.Event()
    fails = [RuntimeError("No loudspeaker.")]

    def sometimes() -> None:
        if fails:
            raise fails.pop()

    here.ringer.before, here.ringer.after = sometimes, rang.set
    running = asyncio.create_task(here.watch.run())
    async with asyncio.timeout(5):
        await rang.wait()
    running.cancel()


async def test_a_new_timer_wakes_the_watch(here: Bench) -> None:
    rang = asyncio.Event()
    here.ringer.after = rang.set
    running = asyncio.create_task(here.watch.run())
    await asyncio.sleep(0)
    timer(here, 0)
    await rang.wait()
    running.cancel()


async def test_two_hundred_reminders_each_ring_once(here: Bench) -> None:
    at = START.replace(tzinfo=None)
    contents = [
        {"words": f"call number {n}", "local": (at + timedelta(seconds=n)).isoformat()}
        for n in range(1, 201)
    ]
    here.store.add(EntryKind.REMINDER, contents)
    rang = " ".join(await here.wait(210))
    assert rang.count("Here's your reminder") == 100  # five of the ten that are due at each look
    assert rang.count("And there are five more.") == 20
    assert await here.wait(1500) == []
    assert here.contents(EntryKind.REMINDER) == []
