import asyncio

import pytest

from assistant.context.conversation import Summary
from assistant.context.prompt import load_prompt
from assistant.context.summary import RETRY_AFTER, Summarizer
from assistant.context.window import ContextWindow
from assistant.errors import ModelFailed
from assistant.events import Event, Notice
from assistant.settings import Context, Settings
from models.interfaces import Lane
from tests.support.context import NOW, say, talk
from tests.support.scripted_model import ScriptedModel


class Bench:
    """A summarizer with its window, model and conversation."""

    def __init__(self, model: ScriptedModel | None = None, **context: int | str) -> None:
        self.model = model or ScriptedModel(["They spoke of dogs."])
        settings = Settings(context=Context.model_validate(context))
        self.window = ContextWindow(self.model, settings, now=lambda: NOW)
        self.events: list[Event] = []
        self.summarizer = Summarizer(self.model, settings, self.window, self.events.append)
        self.conversation = talk(0)

    def talk(self, turns: int, words: int = 3) -> None:
        for _ in range(turns):
            turn = self.conversation.last_turn + 1
            say(self.conversation, f"question {turn}", f"answer {turn} " + "word " * words)

    def due(self) -> bool:
        return self.summarizer.due(self.conversation)

    async def run(self) -> Summary:
        summary = await self.summarizer.run(self.conversation)
        assert summary is not None
        return summary

    def ids(self, count: int) -> tuple[str, ...]:
        return tuple(exchange.id for exchange in self.conversation.exchanges[:count])

    def script(self, request: int = 0) -> str:
        """The text that the model was asked to summarize."""
        return self.model.requests[request].messages[1].content


def held() -> tuple[Bench, asyncio.Event]:
    """A bench whose summary is due, and an event; the model pauses until the event is set."""
    hold = asyncio.Event()
    bench = Bench(ScriptedModel(["They spoke of dogs."], waits_for=hold))
    bench.talk(11)
    return bench, hold


async def test_a_summary_is_due_after_enough_messages() -> None:
    bench = Bench(max_unsummarized_messages=20)
    bench.talk(10)
    assert not bench.due()
    bench.talk(1)
    assert bench.due()


async def test_a_summary_is_due_by_tokens_before_the_window_has_to_move() -> None:
    bench = Bench(max_context_tokens=1000, max_unsummarized_messages=1000)
    while not bench.due():
        assert not bench.window.settle(bench.conversation)
        bench.talk(1, words=20)
        assert bench.conversation.last_turn < 100
    tokens = bench.window.unsummarized_tokens(bench.conversation)
    assert bench.summarizer.trigger_tokens < tokens <= 1000
    assert not bench.window.settle(bench.conversation)


@pytest.mark.parametrize("kept", [3, 4])  # the limit is rounded up to whole exchanges
async def test_a_summary_covers_all_but_the_last_messages(kept: int) -> None:
    bench = Bench(keep_last_messages=kept)
    bench.talk(11)
    summary = await bench.run()

    assert (summary.text, summary.covers) == ("They spoke of dogs.", bench.ids(9))
    assert bench.conversation.summary is None, "only `apply` changes the conversation"
    assert bench.conversation.apply(summary)
    assert not bench.due()


async def test_no_summary_is_due_if_all_messages_must_be_kept() -> None:
    bench = Bench(keep_last_messages=40, max_unsummarized_messages=4)
    bench.talk(12)
    assert not bench.due()
    assert await bench.summarizer.run(bench.conversation) is None
    assert bench.model.requests == []


async def test_the_request_is_background_work_and_contains_only_the_words() -> None:
    bench = Bench()
    say(bench.conversation, "Tell me of the sea.", "", interrupted=True)
    bench.talk(11)
    await bench.run()
    (request,) = bench.model.requests

    assert request.lane is Lane.BACKGROUND
    assert [message.role for message in request.messages] == ["system", "user"]
    assert request.messages[0].content == load_prompt("summary").replace("$language", "English")
    assert bench.script().startswith(
        "User: Tell me of the sea.\nUser: question 2\nAssistant: answer 2 word"
    )
    assert "question 10" in bench.script()
    assert "question 11" not in bench.script()
    assert 0 < request.max_tokens <= 200


async def test_the_users_own_prompt_replaces_the_built_in_one() -> None:
    bench = Bench(summary_prompt="Note the $ figures only.")
    bench.talk(11)
    await bench.run()
    assert bench.model.requests[0].messages[0].content == "Note the $ figures only."


async def test_the_next_summary_is_based_on_the_previous_one() -> None:
    bench = Bench(ScriptedModel(["They spoke of dogs.", "Of dogs and cats."]))
    bench.talk(11)
    assert bench.conversation.apply(await bench.run())
    bench.talk(9)
    assert bench.due()
    second = await bench.run()

    assert second.covers == bench.ids(18)
    assert bench.script(1).startswith(
        "What was said before: They spoke of dogs.\nUser: question 10\n"
    )
    assert bench.conversation.apply(second)


async def test_a_failed_summary_is_reported_and_retried_later_with_the_same_prefix() -> None:
    bench = Bench(ScriptedModel([ModelFailed("The worker died.", mend="Restart."), "Fine."]))
    bench.talk(11)

    assert await bench.summarizer.run(bench.conversation) is None
    (notice,) = bench.events
    assert isinstance(notice, Notice)
    assert notice.text.endswith("The worker died.")
    assert notice.mend == "Restart."
    assert not bench.due()
    bench.talk(RETRY_AFTER)
    assert bench.due()
    assert (await bench.run()).text == "Fine."
    first = bench.script()
    assert bench.script(1).startswith(first[: first.index("Now write")].rstrip())


@pytest.mark.parametrize("rubbish", ["", "  \n ", "<think>hmm", "Summary:"])
async def test_an_empty_summary_is_a_failure(rubbish: str) -> None:
    bench = Bench(ScriptedModel([rubbish]))
    bench.talk(11)
    assert await bench.summarizer.run(bench.conversation) is None
    assert len(bench.events) == 1


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
async def test_markup_and_unfinished_sentences_are_removed_from_a_summary(
    written: str, kept: str
) -> None:
    bench = Bench(ScriptedModel([written]))
    bench.talk(11)
    assert (await bench.run()).text == kept


async def test_cancelling_stops_the_model_and_changes_nothing() -> None:
    bench, _ = held()
    task = asyncio.create_task(bench.run())
    await bench.model.writing.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert bench.model.cancelled == 1
    assert bench.events == []
    assert bench.due()


async def test_a_turn_during_the_summary_is_kept_and_the_summary_still_applies() -> None:
    bench, hold = held()
    task = asyncio.create_task(bench.run())
    await bench.model.writing.wait()
    before = bench.window.build(bench.conversation, "x")
    bench.talk(1)
    after = bench.window.build(bench.conversation, "x")
    hold.set()

    assert bench.conversation.apply(await task)
    assert after.stable_messages[: len(before.stable_messages)] == before.stable_messages
    assert [each.turn for each in bench.conversation.uncovered] == [10, 11, 12]


async def test_a_conversation_too_long_for_one_request_is_summarized_in_parts() -> None:
    model = ScriptedModel(["Much was said."], context_tokens=900)
    bench = Bench(model, max_unsummarized_messages=6)
    bench.talk(40, words=30)
    rounds = 0
    while bench.due():
        assert bench.conversation.apply(await bench.run())
        rounds += 1
    assert rounds > 1
    assert all(model.count_messages(each.messages) < 900 for each in model.requests)
    assert [each.turn for each in bench.conversation.uncovered] == [39, 40]


async def test_the_maximum_length_of_a_summary_follows_from_the_target() -> None:
    bench = Bench(target_context_tokens=200)
    bench.talk(11, words=30)
    await bench.run()
    kept = bench.window.tokens_of(bench.conversation.exchanges[-2:])
    head = bench.window.head_tokens("\n\nEarlier in this conversation: ")
    assert bench.model.requests[0].max_tokens == max(48, 200 - kept - head)
