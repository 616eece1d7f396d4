"""Important exchanges stay in the window when their neighbours leave. Between two cuts of the
window, the beginning of the prompt does not change."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from assistant.context.conversation import Conversation, Exchange
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
from tests.support.context import NOW, say, summary_of
from tests.support.forgetting import START, bench
from tests.support.scripted_model import ScriptedModel


class Ratings:
    """Importance of exchanges by the user's words; a test may change it at any time."""

    def __init__(self, **known: float) -> None:
        self.known = known
        self.asked = 0

    def __call__(self, exchanges: Sequence[Exchange]) -> Mapping[str, float]:
        self.asked += 1
        return {e.id: self.known[e.user_text] for e in exchanges if e.user_text in self.known}


def window_of(ratings: Ratings, *, room: int = 200) -> ContextWindow:
    context = Context(max_context_tokens=4_000, keep_important_tokens=room)
    return ContextWindow(
        ScriptedModel(), Settings(context=context), lambda: NOW, importance=ratings
    )


def talked(turns: int, summarised: int = 0) -> Conversation:
    """A conversation of the turns q1, q2, …, the first `summarised` of which have a summary."""
    talk = Conversation.begin("ada")
    for number in range(1, turns + 1):
        say(talk, f"q{number}", f"Yes {number} " + "word " * 30)
    if summarised:
        assert talk.apply(summary_of(talk, summarised))
    return talk


def asked(window: ContextWindow, talk: Conversation) -> list[str]:
    prompt = window.build(talk, "And now?")
    assert prompt.tokens <= prompt.budget
    return [each.content for each in prompt.stable_messages if each.role == "user"]


@pytest.mark.parametrize(
    ("ratings", "room", "shown"),
    [
        ({"q2": 0.9, "q4": 0.8, "q5": 0.3}, 200, ["q2", "q4", "q7", "q8"]),
        ({"q1": 0.7, "q2": 0.9, "q3": 0.8}, 90, ["q2", "q3", "q7", "q8"]),
        ({"q1": 1.0, "q2": 1.0}, 5, ["q7", "q8"]),
        ({"q1": 1.0, "q2": 1.0}, 0, ["q7", "q8"]),
    ],
)
def test_the_most_important_exchanges_that_a_summary_covers_stay_if_they_fit(
    ratings: dict[str, float], room: int, shown: list[str]
) -> None:
    window, talk = window_of(Ratings(**ratings), room=room), talked(8, summarised=6)
    assert asked(window, talk) == shown
    assert window.shown(talk) == {e.id for e in talk.exchanges if e.user_text in shown}
    assert window.build(talk, "And now?").stable_messages == window.read_ahead(talk)[:-1]


def test_the_beginning_of_the_prompt_is_the_same_until_the_next_summary() -> None:
    ratings = Ratings(q2=0.9)
    window, talk = window_of(ratings), talked(8, summarised=6)
    before = window.build(talk, "And now?").stable_messages
    ratings.known = {"q1": 1.0, "q3": 1.0}
    times = ratings.asked
    for number in range(9, 14):
        window.settle(talk)
        after = window.build(talk, "And now?").stable_messages
        assert after[: len(before)] == before
        before = after
        say(talk, f"q{number}", "Yes.")
    assert ratings.asked == times
    assert talk.apply(summary_of(talk, 10, "another"))
    assert asked(window, talk) == ["q1", "q3", "q11", "q12", "q13"]


def test_a_full_window_drops_important_exchanges_last_and_only_while_it_moves() -> None:
    ratings = Ratings(q3=0.9, q9=0.9)
    window, talk = window_of(ratings), talked(200)
    assert window.settle(talk)
    shown = asked(window, talk)
    assert shown[:2] == ["q3", "q9"]
    assert shown[2:] == [f"q{n}" for n in range(200 - len(shown) + 3, 201)]
    ratings.known = {"q1": 1.0}
    assert not window.settle(talk)
    assert asked(window, talk) == shown
    plain, same = window_of(Ratings()), window_of(Ratings(q3=0.9), room=0)
    assert plain.settle(talk) is same.settle(talk) is True
    assert asked(plain, talk) == asked(same, talk)


def test_an_exchange_that_left_the_window_does_not_return_if_it_becomes_important() -> None:
    ratings = Ratings()
    window, talk = window_of(ratings), talked(200)
    window.settle(talk)
    ratings.known = {"q1": 1.0}
    assert talk.apply(summary_of(talk, 190))
    assert asked(window, talk)[0] == "q191"


def test_a_forgotten_exchange_leaves_the_window_even_if_it_is_important() -> None:
    window, talk = window_of(Ratings(q2=0.9)), talked(6, summarised=4)
    assert "q2" in asked(window, talk)
    talk.hide([talk.exchanges[1].id])
    assert asked(window, talk) == ["q1", "q3", "q4", "q5", "q6"]


# -- weights ------------------------------------------------------------------------------------


def memory(**known: Any) -> Memory:
    given: dict[str, Any] = {"kind": MemoryKind.FACT, "importance": 0.8, **known}
    return Memory("m", "ada", text="x", created=NOW, **given)


def test_pins_facts_and_uses_weigh_much_and_plain_utterances_little() -> None:
    assert importance_to_exchange(memory(pinned=True, importance=0.1)) == 1.0
    assert importance_to_exchange(memory()) == pytest.approx(0.8)
    assert importance_to_exchange(memory(kind=MemoryKind.EXCHANGE)) < importance_to_exchange(
        memory(kind=MemoryKind.EXCHANGE, uses=3)
    )
    assert importance_to_exchange(
        memory(kind=MemoryKind.EXCHANGE, uses=99)
    ) < importance_to_exchange(memory(uses=1))
    assert importance_to_exchange(memory(kind=MemoryKind.SUMMARY)) == 0.0


async def test_weights_come_from_the_memories(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada"), START) as here:
        wish, plain = here.tell("Always give me Fahrenheit."), here.tell("Nice weather.")
        await here.memory.settled()
        found = importance_of_exchanges([wish, plain], lambda: here.memory.index)
        assert found[wish.id] == WISH
        assert found[plain.id] < WISH / 2
        here.memory.mark_used([f"{plain.id}-user"], START)
        await here.memory.settled()
        again = importance_of_exchanges([plain], lambda: here.memory.index)
        assert again[plain.id] > found[plain.id]


def test_until_the_memories_are_loaded_only_the_words_decide_the_weight() -> None:
    def closed() -> UserIndex:
        raise StoreError("It is still being read.")

    talk = Conversation.begin("ada")
    say(talk, "From now on call me Annie.", "Yes.")
    assert list(importance_of_exchanges(talk.exchanges, closed).values()) == [WISH]
