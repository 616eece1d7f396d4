"""The assistant reads another time while its clock is simulated, and the machine's afterwards."""

from datetime import UTC, datetime, timedelta

from assistant.context import window
from assistant.context.conversation import Conversation
from assistant.context.prompt import date_line
from scripts.common.simulated_clock import local_zone, simulated_clock

NOON = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


def test_the_assistant_reads_the_simulated_time_and_nobody_else_does() -> None:
    time = NOON
    with local_zone("Europe/London"), simulated_clock(lambda: time):
        assert date_line(window.local_now()) == "(It is Wednesday 1 July 2026 13:00.)"
        said = Conversation.begin("ada").append_user(1, "Hello.")
        time += timedelta(days=1)
        assert date_line(window.local_now()) == "(It is Thursday 2 July 2026 13:00.)"
        assert datetime.now(UTC) != time

    assert (said.started, said.ended) == (NOON, None)
    assert abs(window.local_now() - datetime.now(UTC)) < timedelta(days=1)


def test_times_made_elsewhere_are_times_while_the_clock_is_simulated() -> None:
    with simulated_clock(lambda: NOON):
        kind = vars(window)["datetime"]
        assert isinstance(NOON, kind)
        assert not isinstance("noon", kind)


def test_the_local_zone_is_the_machines_own_again() -> None:
    before = NOON.astimezone().utcoffset()
    with local_zone("PST8PDT,M3.2.0,M11.1.0"):
        assert NOON.astimezone().hour == 5
    assert NOON.astimezone().utcoffset() == before
