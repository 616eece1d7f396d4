import asyncio
from datetime import UTC, datetime

import pytest

from assistant.context.conversation import Conversation
from assistant.context.prompt import load_prompt
from assistant.context.summary import RETRY_AFTER, Summarizer
from assistant.context.window import ContextWindow
from assistant.errors import ModelFailed
from assistant.events import Event, Notice
from assistant.settings import Context, Settings
from models.interfaces import Lane
from tests.support.scripted_model import ScriptedModel

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)


class Bench:
    """A summarizer with its surroundings."""

    def __init__(self, model: ScriptedModel | None = None, **context: int | str) -> None:
        self.model = model or ScriptedModel(["They spoke of dogs."])
        settings = Settings(context=Context.model_validate(context))
        self.window = ContextWindow(self.model, settings, now=lambda: NOW)
        self.told: list[Event] = []
        self.summarizer = Summarizer(self.model, settings, self.window, self.told.append)
        self.conversation = Conversation.begin("ada")

    def talk(self, turns: int, words: int = 3) -> None:
        for _ in range(turns):
            turn = self.conversation.last_turn + 1
            self.conversation.append_user(turn, f"question {turn}", NOW)
            self.conversation.complete(turn, f"answer {turn} " + "word " * words, ended=NOW)

    def due(self) -> bool:
        return self.summarizer.due(self.conversation)

    def ids(self, count: int) -> tuple[str, ...]:
        return tuple(exchange.id for exchange in self.conversation.exchanges[:count])


async def test_due_by_messages() -> None:
    bench = Bench(max_unsummarized_messages=20)
    bench.talk(10)
    assert not bench.due()
    bench.talk(1)
    assert bench.due()


async def test_due_by_tokens_before_the_window_has_to_move() -> None:
    bench = Bench(max_context_tokens=1000, max_unsummarized_messages=1000)
    while not bench.due():
        assert not bench.window.settle(bench.conversation)
        bench.talk(1, words=20)
        assert bench.conversation.last_turn < 100
    tokens = bench.window.unsummarized_tokens(bench.conversation)
    assert bench.summarizer.trigger_tokens < tokens <= 1000
    assert not bench.window.settle(bench.conversation)


async def test_all_but_the_last_messages_are_covered() -> None:
    bench = Bench(keep_last_messages=4)
    bench.talk(11)
    summary = await bench.summarizer.run(bench.conversation)

    assert summary is not None
    assert summary.text == "They spoke of dogs."
    assert summary.covers == bench.ids(9)
    assert bench.conversation.summary is None, "only `apply` changes the conversation"
    assert bench.conversation.apply(summary)
    assert not bench.due()


async def test_an_odd_number_of_kept_messages_keeps_whole_exchanges() -> None:
    bench = Bench(keep_last_messages=3)
    bench.talk(11)
    summary = await bench.summarizer.run(bench.conversation)
    assert summary is not None
    assert summary.covers == bench.ids(9)


async def test_nothing_is_due_when_all_must_be_kept() -> None:
    bench = Bench(keep_last_messages=40, max_unsummarized_messages=4)
    bench.talk(12)
    assert not bench.due()
    assert await bench.summarizer.run(bench.conversation) is None
    assert bench.model.requests == []


async def test_the_request_is_background_work_on_the_words_alone() -> None:
    bench = Bench()
    bench.talk(11)
    await bench.summarizer.run(bench.conversation)
    (request,) = bench.model.requests

    assert request.lane is Lane.BACKGROUND
    assert [message.role for message in request.messages] == ["system", "user"]
    assert request.messages[0].content == load_prompt("summary").replace("$language", "English")
    script = request.messages[1].content
    assert script.startswith("User: question 1\nAssistant: answer 1 word")
    assert "question 9" in script
    assert "question 10" not in script
    assert 0 < request.max_tokens <= 200


async def test_the_users_own_prompt_replaces_the_built_in_one() -> None:
    bench = Bench(summary_prompt="Note the $ figures only.")
    bench.talk(11)
    await bench.summarizer.run(bench.conversation)
    assert bench.model.requests[0].messages[0].content == "Note the $ figures only."


async def test_the_next_summary_rests_on_the_one_before() -> None:
    bench = Bench(ScriptedModel(["They spoke of dogs.", "Of dogs and cats."]))
    bench.talk(11)
    first = await bench.summarizer.run(bench.conversation)
    assert first is not None
    assert bench.conversation.apply(first)
    bench.talk(9)
    assert bench.due()
    second = await bench.summarizer.run(bench.conversation)

    assert second is not None
    assert second.covers == bench.ids(18)
    script = bench.model.requests[1].messages[1].content
    assert script.startswith("What was said before: They spoke of dogs.\nUser: question 10\n")
    assert bench.conversation.apply(second)


async def test_a_second_try_begins_with_the_same_words() -> None:
    bench = Bench(ScriptedModel([ModelFailed("down"), "Fine."]))
    bench.talk(11)
    await bench.summarizer.run(bench.conversation)
    bench.talk(RETRY_AFTER)
    await bench.summarizer.run(bench.conversation)

    first, second = (request.messages[1].content for request in bench.model.requests)
    assert second.startswith(first[: first.index("Now write")].rstrip())


async def test_a_failure_is_told_and_tried_again_later() -> None:
    bench = Bench(ScriptedModel([ModelFailed("The worker died.", mend="Restart."), "Fine."]))
    bench.talk(11)

    assert await bench.summarizer.run(bench.conversation) is None
    (notice,) = bench.told
    assert isinstance(notice, Notice)
    assert notice.text.endswith("The worker died.")
    assert notice.mend == "Restart."
    assert not bench.due()
    bench.talk(RETRY_AFTER)
    assert bench.due()
    assert await bench.summarizer.run(bench.conversation) is not None


@pytest.mark.parametrize("rubbish", ["", "  \n ", "<think>hmm", "Summary:"])
async def test_an_empty_summary_is_a_failure(rubbish: str) -> None:
    bench = Bench(ScriptedModel([rubbish]))
    bench.talk(11)
    assert await bench.summarizer.run(bench.conversation) is None
    assert len(bench.told) == 1


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("**Summary:** They met.\n\nIn May.", "They met. In May."),
        ("<think>Let me see.</think>They met.", "They met."),
        ("They met in the old town. Then they w", "They met in the old town."),
        ("one long sentence without an end", "one long sentence without an end"),
        ('They met. She said "yes."', 'They met. She said "yes."'),
        ("She fishes. She likes it. She fishes. She likes it. She fi", "She fishes. She likes it."),
    ],
)
async def test_the_summary_is_plain_words(written: str, kept: str) -> None:
    bench = Bench(ScriptedModel([written]))
    bench.talk(11)
    summary = await bench.summarizer.run(bench.conversation)
    assert summary is not None
    assert summary.text == kept


async def test_cancelling_stops_the_model_and_changes_nothing() -> None:
    model = ScriptedModel(["They spoke of dogs."], waits_for=asyncio.Event())
    bench = Bench(model)
    bench.talk(11)
    task = asyncio.create_task(bench.summarizer.run(bench.conversation))
    await model.writing.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert model.cancelled == 1
    assert bench.told == []
    assert bench.due()


async def test_a_turn_during_the_summary_is_kept_and_the_summary_still_fits() -> None:
    hold = asyncio.Event()
    model = ScriptedModel(["They spoke of dogs."], waits_for=hold)
    bench = Bench(model)
    bench.talk(11)
    task = asyncio.create_task(bench.summarizer.run(bench.conversation))
    await model.writing.wait()
    before = bench.window.build(bench.conversation, "x")
    bench.talk(1)
    after = bench.window.build(bench.conversation, "x")
    hold.set()
    summary = await task

    assert after.stable_messages[: len(before.stable_messages)] == before.stable_messages
    assert summary is not None
    assert bench.conversation.apply(summary)
    assert [each.turn for each in bench.conversation.uncovered] == [10, 11, 12]


async def test_a_source_forgotten_during_the_summary_voids_it() -> None:
    hold = asyncio.Event()
    model = ScriptedModel(["They spoke of dogs."], waits_for=hold)
    bench = Bench(model)
    bench.talk(11)
    task = asyncio.create_task(bench.summarizer.run(bench.conversation))
    await model.writing.wait()
    bench.conversation.hide(bench.ids(1))
    hold.set()
    summary = await task

    assert summary is not None
    assert not bench.conversation.apply(summary)


async def test_more_than_one_request_holds_is_summarized_in_parts() -> None:
    model = ScriptedModel(["Much was said."], context_tokens=900)
    bench = Bench(model, max_unsummarized_messages=6)
    bench.talk(40, words=30)
    rounds = 0
    while bench.due():
        summary = await bench.summarizer.run(bench.conversation)
        assert summary is not None
        assert bench.conversation.apply(summary)
        rounds += 1
    assert rounds > 1
    assert all(model.count_messages(each.messages) < 900 for each in model.requests)
    assert [each.turn for each in bench.conversation.uncovered] == [39, 40]


async def test_the_summary_may_be_no_longer_than_the_target_leaves() -> None:
    bench = Bench(target_context_tokens=200)
    bench.talk(11, words=30)
    await bench.summarizer.run(bench.conversation)
    kept = bench.window.tokens_of(bench.conversation.exchanges[-2:])
    head = bench.window.head_tokens("\n\nEarlier in this conversation: ")
    assert bench.model.requests[0].max_tokens == max(48, 200 - kept - head)


async def test_interrupted_questions_are_part_of_the_summary() -> None:
    bench = Bench()
    bench.conversation.append_user(1, "Tell me of the sea.", NOW)
    bench.conversation.complete(1, "", interrupted=True, ended=NOW)
    bench.talk(11)
    summary = await bench.summarizer.run(bench.conversation)
    assert summary is not None
    script = bench.model.requests[0].messages[1].content
    assert script.startswith("User: Tell me of the sea.\nUser: question 2\nAssistant: ")
