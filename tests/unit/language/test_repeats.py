"""When something that repeats is due, in all zones and across changes of their clocks."""

import json
import random
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest

from assistant.language.repeats import Repeat, occurrence
from tests.support.zones import BERLIN as HERE
from tests.support.zones import in_zone

BERLIN = ZoneInfo("Europe/Berlin")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
DAILY, LAST_FRIDAY = Repeat(1, "day"), Repeat(1, "month", (4,), nth=-1)


@cache
def changes() -> tuple[tuple[ZoneInfo, datetime], ...]:
    """All changes of UTC offsets from mid-2026 to the end of 2027, in all zones."""
    found = []
    for name in sorted(available_timezones()):
        zone = ZoneInfo(name)
        at = datetime(2026, 6, 1, tzinfo=UTC)
        while at.year < 2028:
            offset = at.astimezone(zone).utcoffset()
            before, after = at, at + DAY
            if after.astimezone(zone).utcoffset() != offset:
                while after - before > timedelta(minutes=1):
                    middle = before + (after - before) / 2
                    changed = middle.astimezone(zone).utcoffset() != offset
                    before, after = (before, middle) if changed else (middle, after)
                found.append((zone, after.replace(second=0, microsecond=0)))
            at += DAY
    return tuple(found)


def rung(local: datetime, repeat: Repeat, zone: ZoneInfo, count: int) -> Iterator[datetime]:
    """Yield times at which something is due, each asked for right at the one before."""
    after = (local - 2 * DAY).replace(tzinfo=UTC)
    for _ in range(count):
        found = occurrence(local, repeat, after, zone)
        assert found is not None
        assert found > after
        yield found
        after = found


def exists(local: datetime, zone: ZoneInfo) -> bool:
    return local.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) == local


def test_there_are_many_changes_to_test_with() -> None:
    assert len(changes()) > 300


def test_no_day_is_skipped_and_none_rings_twice_around_any_change_of_clocks() -> None:
    for zone, change in changes():
        around = change.astimezone(zone).replace(tzinfo=None)
        for minutes in range(-90, 91, 30):
            local = around + timedelta(minutes=minutes) - 2 * DAY
            times = list(rung(local, DAILY, zone, 5))
            for number, found in enumerate(times):
                wanted = local + number * DAY
                shown = found.astimezone(zone).replace(tzinfo=None)
                assert shown == wanted if exists(wanted, zone) else shown > wanted, (zone, wanted)
                assert shown.date() - wanted.date() <= timedelta(days=int(not exists(wanted, zone)))


def test_a_time_that_exists_twice_rings_at_the_first_only() -> None:
    for zone, change in changes():
        local = (change - timedelta(minutes=1)).astimezone(zone).replace(tzinfo=None)
        first = occurrence(local, DAILY, change - DAY / 2, zone)
        assert first == change - timedelta(minutes=1)
        second = occurrence(local, DAILY, first, zone)
        assert second is not None
        assert second - first >= timedelta(hours=22)


@pytest.mark.parametrize(
    ("local", "after", "due"),
    [
        # Clocks go forward from 2:00 to 3:00, and back from 3:00 to 2:00.
        ("2027-03-28 02:30", "2027-03-28 00:00", "2027-03-28 03:30"),
        ("2026-10-25 02:30", "2026-10-24 20:00", "2026-10-25 02:30"),
        ("2026-10-25 02:30", "2026-10-25 00:30", "2026-10-26 02:30"),
    ],
)
def test_skipped_times_are_moved_and_repeated_ones_are_not_repeated(
    local: str, after: str, due: str
) -> None:
    at, since = datetime.fromisoformat(local), datetime.fromisoformat(f"{after}+00:00")
    found = occurrence(at, DAILY, since, BERLIN)
    assert found is not None
    assert f"{found.astimezone(BERLIN):%Y-%m-%d %H:%M}" == due
    with in_zone(HERE):
        assert occurrence(at, DAILY, since) == found


def test_something_that_does_not_repeat_is_due_once() -> None:
    local = datetime.fromisoformat("2026-11-20 09:00")
    at = local.replace(tzinfo=BERLIN)
    assert occurrence(local, None, at - HOUR, BERLIN) == at
    assert occurrence(local, None, at, BERLIN) is None


@pytest.mark.parametrize("unit", ["day", "week", "month", "year", "minute", "hour"])
def test_a_repetition_is_due_at_the_same_times_wherever_one_begins_to_ask(unit: str) -> None:
    chance = random.Random(unit)
    for _ in range(100):
        repeat = Repeat.from_json({"every": chance.randint(1, 5), "unit": unit})
        local = datetime.fromisoformat("2026-01-01 00:00") + timedelta(
            minutes=chance.randrange(525_600)
        )
        times = list(rung(local, repeat, BERLIN, 12))
        assert times == sorted(set(times))
        between = chance.choice(list(pairwise(times)))
        after = between[0] + (between[1] - between[0]) * chance.random()
        assert occurrence(local, repeat, after, BERLIN) == between[1]


def test_repeats_by_weekdays_are_due_on_exactly_these_days() -> None:
    chance = random.Random(1)
    for _ in range(50):
        weekdays = tuple(sorted(chance.sample(range(7), chance.randint(1, 7))))
        every = chance.randint(1, 3)
        first = datetime.fromisoformat("2026-11-02 07:00") + chance.randrange(14) * DAY
        while first.weekday() not in weekdays:
            first += DAY
        monday = first - first.weekday() * DAY
        wanted = [
            day.date()
            for day in (first + number * DAY for number in range(200))
            if day.weekday() in weekdays and (day - monday).days // 7 % every == 0
        ][:20]
        repeat = Repeat(every, "week", weekdays)
        found = [at.astimezone(BERLIN).date() for at in rung(first, repeat, BERLIN, len(wanted))]
        assert found == wanted


def test_the_thirty_first_of_every_month_is_the_last_day_of_shorter_ones() -> None:
    local = datetime.fromisoformat("2026-11-30 09:00")
    found = rung(local, Repeat(1, "month", day=31), BERLIN, 30)
    days = [at.astimezone(BERLIN).date() for at in found]
    assert [day.day for day in days] == [monthrange(day.year, day.month)[1] for day in days]
    assert [day.month for day in days[:5]] == [11, 12, 1, 2, 3]


def test_the_twenty_ninth_of_february_is_the_twenty_eighth_in_other_years() -> None:
    found = rung(datetime.fromisoformat("2028-02-29 09:00"), Repeat(1, "year"), BERLIN, 5)
    days = [at.astimezone(BERLIN).date() for at in found]
    assert days[0] == date(2028, 2, 29)
    assert days[4] == date(2032, 2, 29)
    assert {(day.month, day.day) for day in days[1:4]} == {(2, 28)}


@pytest.mark.parametrize(("nth", "due"), [(1, (4, 1, 1)), (4, (25, 22, 22)), (-1, (25, 22, 29))])
def test_a_weekday_of_the_month_is_counted(nth: int, due: tuple[int, ...]) -> None:
    repeat = Repeat(1, "month", (0,), nth=nth)
    found = list(rung(datetime.fromisoformat(f"2027-01-{due[0]:02} 09:00"), repeat, BERLIN, 3))
    assert tuple(at.astimezone(BERLIN).day for at in found) == due


def test_hours_count_real_time_when_clocks_change() -> None:
    times = list(rung(datetime.fromisoformat("2026-10-24 22:00"), Repeat(2, "hour"), BERLIN, 8))
    assert {later - one for one, later in pairwise(times)} == {2 * HOUR}


def test_the_end_of_the_calendar_is_no_error() -> None:
    end = datetime.fromisoformat("9999-12-31 23:00")
    assert occurrence(end, Repeat(1, "year"), end.replace(tzinfo=UTC), BERLIN) is None
    assert occurrence(end, DAILY, end.replace(tzinfo=UTC), BERLIN) is None
    with in_zone(HERE):
        assert occurrence(end, DAILY, end.replace(tzinfo=UTC)) is None


@pytest.mark.parametrize(
    "repeat",
    [
        DAILY,
        Repeat(2, "week", (0, 4)),
        Repeat(1, "month", day=31),
        Repeat(1, "month", (4,), nth=-1),
    ],
)
def test_a_repetition_survives_being_stored(repeat: Repeat) -> None:
    assert Repeat.from_json(json.loads(json.dumps(repeat.as_json()))) == repeat


@pytest.mark.parametrize(("every", "unit"), [(0, "day"), (-1, "week"), (1, "eon")])
def test_what_is_no_repetition_is_refused(every: int, unit: str) -> None:
    with pytest.raises(ValueError, match="No repetition"):
        Repeat.from_json({"every": every, "unit": unit})
