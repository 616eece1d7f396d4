"""What matters stays in the window while what is around it leaves; between two cuts nothing of the
prompt's beginning changes."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assistant.context.conversation import Conversation, Exchange, Summary
from assistant.context.window import ContextWindow
from assistant.errors import StoreError
from assistant.memory.curation.importance import (
    WISH,
    importance_of_exchanges,
    importance_to_exchange,
)
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.user_index import UserIndex
from assistant.settings import Context, Settings
from tests.support.forgetting import bench
from tests.support.scripted_model import ScriptedModel

START = datetime(2026, 11, 21, 11, 48, tzinfo=UTC)


class Ratings:
    """By the words of the question; may change at any time."""

    def __init__(self, **known: float) -> None:
        self.known = known
        self.asked = 0

    def __call__(self, exchanges: Sequence[Exchange]) -> Mapping[str, float]:
        self.asked += 1
        return {
            each.id: self.known[key]
            for each in exchanges
            for key in self.known
            if each.user_text == key
        }


def window_of(ratings: Ratings, *, tokens: int = 4_000, room: int = 200) -> ContextWindow:
    context = Context(max_context_tokens=tokens, keep_important_tokens=room)
    return ContextWindow(
        ScriptedModel(), Settings(context=context), lambda: START, importance=ratings
    )


def say(talk: Conversation, question: str, words: int = 30) -> str:
    turn = talk.last_turn + 1
    talk.append_user(turn, question, START + timedelta(minutes=turn))
    return talk.complete(turn, f"Yes {turn} " + "word " * words, ended=START).id


def talked(turns: int) -> Conversation:
    talk = Conversation.begin("ada")
    for number in range(1, turns + 1):
        say(talk, f"q{number}")
    return talk


def asked(window: ContextWindow, talk: Conversation) -> list[str]:
    prompt = window.build(talk, "And now?")
    assert prompt.tokens <= prompt.budget
    return [each.content for each in prompt.stable_messages if each.role == "user"]


def summed_up(talk: Conversation, upto: int) -> None:
    covers = tuple(each.id for each in talk.exchanges[:upto])
    assert talk.apply(Summary(f"s{upto}", "They talked.", covers, START))


def test_what_matters_of_what_a_summary_covers_stays_in_order() -> None:
    ratings = Ratings(q2=0.9, q4=0.8, q5=0.3)
    window, talk = window_of(ratings), talked(8)
    summed_up(talk, 6)
    assert asked(window, talk) == ["q2", "q4", "q7", "q8"]
    ids = [each.id for each in talk.exchanges]
    assert window.shown(talk) == {ids[1], ids[3], ids[6], ids[7]}


def test_the_beginning_is_the_same_until_the_summary_is_another() -> None:
    ratings = Ratings(q2=0.9)
    window, talk = window_of(ratings), talked(8)
    summed_up(talk, 6)
    before = window.build(talk, "And now?").stable_messages
    ratings.known = {"q1": 1.0, "q3": 1.0}
    times = ratings.asked
    for number in range(9, 14):
        window.settle(talk)
        after = window.build(talk, "And now?").stable_messages
        assert after[: len(before)] == before
        before = after
        say(talk, f"q{number}")
    assert ratings.asked == times
    summed_up(talk, 10)
    assert asked(window, talk) == ["q1", "q3", "q11", "q12", "q13"]


def test_there_is_room_for_only_so_much_and_what_matters_most_has_it() -> None:
    window, talk = window_of(Ratings(q1=0.7, q2=0.9, q3=0.8), room=90), talked(6)
    summed_up(talk, 5)
    assert asked(window, talk) == ["q2", "q3", "q6"]


@pytest.mark.parametrize("room", [0, 5])
def test_without_room_all_is_as_it_was(room: int) -> None:
    ratings = Ratings(q1=1.0, q2=1.0)
    window, talk = window_of(ratings, room=room), talked(6)
    summed_up(talk, 5)
    assert asked(window, talk) == ["q6"]
    plain, same = window_of(Ratings()), window_of(ratings, room=room)
    long = talked(200)
    assert plain.settle(long) is same.settle(long) is True
    assert asked(plain, long) == asked(same, long)


def test_a_full_window_drops_what_matters_last() -> None:
    ratings = Ratings(q3=0.9, q9=0.9)
    window, talk = window_of(ratings), talked(200)
    assert window.settle(talk)
    shown = asked(window, talk)
    assert shown[:2] == ["q3", "q9"]
    assert shown[2:] == [f"q{n}" for n in range(200 - len(shown) + 3, 201)]
    ratings.known = {}
    assert not window.settle(talk)
    assert asked(window, talk) == shown


def test_what_has_left_the_window_does_not_come_back() -> None:
    ratings = Ratings()
    window, talk = window_of(ratings), talked(200)
    window.settle(talk)
    ratings.known = {"q1": 1.0}
    summed_up(talk, 190)
    assert asked(window, talk)[0] == "q191"


def test_what_is_forgotten_is_gone_whatever_it_mattered() -> None:
    window, talk = window_of(Ratings(q2=0.9)), talked(6)
    summed_up(talk, 4)
    assert "q2" in asked(window, talk)
    talk.hide([talk.exchanges[1].id])
    assert asked(window, talk) == ["q1", "q3", "q4", "q5", "q6"]


def test_what_it_holds_is_read_ahead_too() -> None:
    window, talk = window_of(Ratings(q2=0.9)), talked(6)
    summed_up(talk, 4)
    ahead = window.read_ahead(talk)
    assert window.build(talk, "And now?").stable_messages == ahead[:-1]


# -- what matters -------------------------------------------------------------------------------


def memory(**known: Any) -> Memory:
    given: dict[str, Any] = {"kind": MemoryKind.FACT, "importance": 0.8, **known}
    return Memory("m", "ada", text="x", created=START, **given)


def test_pins_facts_and_uses_weigh_and_being_said_hardly() -> None:
    assert importance_to_exchange(memory(pinned=True, importance=0.1)) == 1.0
    assert importance_to_exchange(memory()) == pytest.approx(0.8)
    assert importance_to_exchange(memory(kind=MemoryKind.EXCHANGE)) < importance_to_exchange(
        memory(kind=MemoryKind.EXCHANGE, uses=3)
    )
    assert importance_to_exchange(
        memory(kind=MemoryKind.EXCHANGE, uses=99)
    ) < importance_to_exchange(memory(uses=1))
    assert importance_to_exchange(memory(kind=MemoryKind.SUMMARY)) == 0.0


async def test_weights_are_read_of_what_is_remembered(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada"), START) as here:
        wish, pinned, plain = (
            here.tell(each)
            for each in ("Always give me Fahrenheit.", "My dog is called Max.", "Nice weather.")
        )
        await here.memory.settled()
        found = importance_of_exchanges([wish, pinned, plain], lambda: here.memory.index)
        assert found[wish.id] == WISH
        assert found[plain.id] < WISH / 2
        here.memory.mark_used([f"{plain.id}-user"], START)
        await here.memory.settled()
        again = importance_of_exchanges([plain], lambda: here.memory.index)
        assert again[plain.id] > found[plain.id]


def test_while_nothing_is_read_the_words_alone_tell() -> None:
    def closed() -> UserIndex:
        raise StoreError("It is still being read.")

    talk = Conversation.begin("ada")
    say(talk, "From now on call me Annie.")
    assert list(importance_of_exchanges(talk.exchanges, closed).values()) == [WISH]
