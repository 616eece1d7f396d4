"""Memories in the window: which have room, and what stands in the newest message."""

from datetime import UTC, datetime, timedelta

from assistant.context.conversation import Conversation
from assistant.context.note import Note
from assistant.context.prompt import Prompt
from assistant.context.window import ContextWindow
from assistant.settings import Memory, Settings
from tests.support.scripted_model import ScriptedModel

START = datetime(2026, 11, 21, 11, 48, tzinfo=UTC)
DATE = "(It is Saturday 21 November 2026 11:48.)"


def window() -> ContextWindow:
    return ContextWindow(ScriptedModel(), Settings(), now=lambda: START)


def talk(turns: int) -> Conversation:
    conversation = Conversation.begin("ada")
    for number in range(1, turns + 1):
        conversation.append_user(number, f"question {number}", START)
        conversation.complete(number, f"answer {number}", ended=START)
    return conversation


def check_sums(prompt: Prompt) -> None:
    assert prompt.tokens == ScriptedModel().count_messages(prompt.messages) <= prompt.budget
    assert sum(section.tokens for section in prompt.sections) == prompt.tokens


def test_a_slow_model_reads_fewer_memories_and_the_prompt_tells_which() -> None:
    memories = [Note(f"memory {number} " + "word " * 20, str(number)) for number in range(100)]
    quick = window().build(talk(3), "And?", memories=memories)
    slow = window().build(talk(3), "And?", memories=memories, reads_per_s=500)
    slowest = window().build(talk(3), "And?", memories=memories, reads_per_s=1)

    tokens = []
    for prompt in (quick, slow, slowest):
        check_sums(prompt)
        used = [note.id for note in prompt.notes.used]
        assert used == [note.id for note in memories[: len(used)]]
        assert [reason for _, reason in prompt.notes.left_out] == ["over budget"] * (
            100 - len(used)
        )
        assert all(note.text.strip() in prompt.messages[-1].content for note in prompt.notes.used)
        section = next(each for each in prompt.sections if each.name == "memories")
        assert section.tokens == prompt.notes.tokens
        tokens.append(section.tokens)
    assert 775 < tokens[0] <= Memory().max_tokens
    assert 125 < tokens[1] <= 500 * Memory().prefill_ms / 1000
    assert len(slowest.notes.used) == 3


def test_what_asks_nothing_waits_for_no_more_than_the_best_memory() -> None:
    memories = [Note(f"memory {number} " + "word " * 20, str(number)) for number in range(5)]
    asked, told = (
        window().build(talk(1), words, memories=memories, reads_per_s=1).notes.used
        for words in ("What was it?", "It rained all morning.")
    )
    assert [note.id for note in asked] == ["0", "1", "2"]
    assert [note.id for note in told] == ["0"]


def test_a_memory_that_is_too_unlike_the_turn_is_left_out() -> None:
    memories = [Note("The dog is Max.", "0"), Note("Rain in Ghent.", "1", near=False)]
    notes = window().build(talk(1), "My dog?", memories=memories).notes
    assert [note.id for note in notes.used] == ["0"]
    assert [(note.id, reason) for note, reason in notes.left_out] == [("1", "not close enough")]


def test_what_the_conversation_holds_is_no_note() -> None:
    conversation = talk(2)
    notes = [Note("question 1"), Note("The dog is Max."), Note("And my dog?")]
    prompt = window().build(conversation, "And my dog?", memories=notes)
    assert [note.text for note in prompt.notes.used] == ["The dog is Max."]


def test_a_question_about_time_has_its_notes_dated_by_day() -> None:
    note = Note("I met Ann.", said=START - timedelta(days=40))
    built, none = window(), Conversation.begin("ada")
    when = built.build(none, "When did I meet Ann?", memories=[note]).messages[-1].content
    who = built.build(none, "Whom did I meet?", memories=[note]).messages[-1].content
    assert "- on 12 October: I met Ann." in when
    assert when.startswith(DATE)
    assert "- 5 weeks ago: I met Ann." in who
    assert DATE not in who, "each token is time"
