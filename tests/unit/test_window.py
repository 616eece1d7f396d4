from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from assistant.context.conversation import Conversation, Summary
from assistant.context.note import Note
from assistant.context.notes import OPENING as NOTES_OPENING
from assistant.context.prompt import Prompt, system_prompt
from assistant.context.window import MARGIN, SHORTENED, ContextWindow
from assistant.errors import SettingsError
from assistant.settings import Context, Llm, Persona, Settings
from models.interfaces import Message
from tests.support.scripted_model import OPENING, ROLE_MARKS, ScriptedModel

START = datetime(2026, 11, 21, 11, 48, tzinfo=UTC)
DATE = "(It is Saturday 21 November 2026 11:48.)"


def window_of(
    *, tokens: int = 8000, max_turns: int | None = None, model: ScriptedModel | None = None
) -> ContextWindow:
    settings = Settings(context=Context(max_context_tokens=tokens, max_turns=max_turns))
    return ContextWindow(model or ScriptedModel(), settings, now=lambda: START)


def say(
    conversation: Conversation, question: str, answer: str, *, interrupted: bool = False
) -> None:
    turn = conversation.last_turn + 1
    conversation.append_user(turn, question, START)
    conversation.complete(turn, answer, interrupted, ended=START)


def talk(turns: int, words: int = 10) -> Conversation:
    conversation = Conversation.begin("ada")
    for number in range(1, turns + 1):
        say(conversation, f"question {number}", f"answer {number} " + "word " * words)
    return conversation


def contents(prompt: Prompt) -> str:
    return "\n".join(message.content for message in prompt.messages)


def check_whole(prompt: Prompt) -> None:
    """What holds for every prompt."""
    model = ScriptedModel()
    assert prompt.messages[: len(prompt.stable_messages)] == prompt.stable_messages
    assert len(prompt.messages) == len(prompt.stable_messages) + 1
    assert prompt.messages[0].role == "system"
    roles = [message.role for message in prompt.messages[1:]]
    assert roles == [("user", "assistant")[place % 2] for place in range(len(roles))]
    assert roles[-1] == "user"
    assert prompt.tokens == model.count_messages(prompt.messages) <= prompt.budget
    assert sum(section.tokens for section in prompt.sections) == prompt.tokens
    assert all(section.tokens >= 0 for section in prompt.sections)


# -- what a prompt is made of -------------------------------------------------------------------


def test_the_first_prompt() -> None:
    prompt = window_of().build(Conversation.begin("ada"), " Hello there. ")
    check_whole(prompt)
    assert prompt.messages == (
        Message("system", system_prompt(Persona())),
        Message("user", "Hello there."),
    )
    assert [section.name for section in prompt.sections] == ["system", "newest message"]


def test_the_date_is_there_for_words_that_may_need_it() -> None:
    prompt = window_of().build(Conversation.begin("ada"), "What is on tomorrow?")
    check_whole(prompt)
    assert prompt.messages[-1].content == f"{DATE}\nWhat is on tomorrow?"
    assert [section.name for section in prompt.sections] == ["system", "state", "newest message"]


def test_memories_and_state_stand_once_right_above_the_newest_words() -> None:
    conversation = talk(3)
    prompt = window_of().build(
        conversation,
        "And my dog?",
        memories=[Note("dog is Max"), Note("likes fetch")],
        state="Timer: 5 min",
    )
    check_whole(prompt)
    assert prompt.messages[-1].content == (
        f"{DATE}\n({NOTES_OPENING}\n- dog is Max\n- likes fetch)\n(Timer: 5 min)\nAnd my dog?"
    )
    assert contents(prompt).count("Max") == 1
    names = [section.name for section in prompt.sections]
    assert names == ["system", "history", "memories", "state", "newest message"]


def test_what_a_turn_was_told_never_enters_the_history() -> None:
    conversation = talk(1)
    window = window_of()
    window.build(conversation, "And my dog?", memories=[Note("dog is Max")])
    say(conversation, "And my dog?", "Max.")

    history = window.build(conversation, "Thanks.").stable_messages[1:]
    assert [message.content for message in history[-2:]] == ["And my dog?", "Max."]
    assert all("(" not in message.content for message in history)


def test_the_summary_closes_the_system_message() -> None:
    conversation = talk(3)
    ids = tuple(exchange.id for exchange in conversation.exchanges[:2])
    conversation.apply(Summary("s", "They spoke of dogs.", ids, START))
    prompt = window_of().build(conversation, "Go on.")

    check_whole(prompt)
    assert prompt.messages[0].content.endswith("Earlier in this conversation: They spoke of dogs.")
    assert "question 2" not in contents(prompt)
    assert "question 3" in contents(prompt)
    assert [section.name for section in prompt.sections][:3] == ["system", "summary", "history"]


def test_the_turn_being_answered_is_not_history() -> None:
    conversation = talk(1)
    conversation.append_user(2, "Is it?", START)
    window = window_of()

    for prompt in (
        window.build(conversation, "Is it?"),
        window.build(conversation, "Is it?", turn=2),
    ):
        check_whole(prompt)
        assert contents(prompt).count("Is it?") == 1


def test_words_that_got_no_answer_are_joined_with_the_next() -> None:
    conversation = talk(1)
    say(conversation, "Tell me of the ocean.", "", interrupted=True)
    window = window_of()
    prompt = window.build(conversation, "Please.")
    check_whole(prompt)
    assert prompt.messages[-1].content == "Tell me of the ocean.\nPlease."

    say(conversation, "Please.", "The ocean is wide.")
    later = window.build(conversation, "And deep?")
    check_whole(later)
    assert later.messages[-3] == Message("user", "Tell me of the ocean.\nPlease.")


def test_steps_of_an_exchange_stand_between_question_and_answer() -> None:
    conversation = Conversation.begin("ada")
    conversation.append_user(1, "What's two plus two?", START)
    steps = (Message("assistant", "call add(2, 2)"), Message("user", "result 4"))
    conversation.complete(1, "Four.", steps=steps)
    prompt = window_of().build(conversation, "Thanks.")

    check_whole(prompt)
    assert prompt.stable_messages[2:] == (*steps, Message("assistant", "Four."))


# -- the prefix ---------------------------------------------------------------------------------


def test_the_prefix_stays_the_same_and_only_grows() -> None:
    conversation = Conversation.begin("ada")
    clock = [START]
    window = ContextWindow(ScriptedModel(), Settings(), now=lambda: clock[0])
    before: tuple[Message, ...] = ()
    for number in range(30):
        clock[0] += timedelta(minutes=7)
        prompt = window.build(conversation, f"question {number}", memories=[Note(f"note {number}")])
        check_whole(prompt)
        assert prompt.stable_messages[: len(before)] == before
        assert len(prompt.stable_messages) == 1 + 2 * number
        before = prompt.stable_messages
        say(conversation, f"question {number}", f"answer {number}")
        window.settle(conversation)


def test_a_full_window_moves_in_large_steps() -> None:
    conversation = Conversation.begin("ada")
    window = window_of(tokens=500)
    before: tuple[Message, ...] = ()
    moves: list[int] = []
    for number in range(60):
        prompt = window.build(conversation, f"question {number}")
        check_whole(prompt)
        if prompt.stable_messages[: len(before)] != before:
            moves.append(number)
            assert prompt.tokens <= (prompt.budget + prompt.sections[0].tokens) // 2 + 40
        before = prompt.stable_messages
        say(conversation, f"question {number}", "word " * 10)
        window.settle(conversation)
    assert len(moves) >= 3
    assert min(later - earlier for earlier, later in pairwise(moves)) >= 5


def test_settling_leaves_room_so_that_a_turn_does_not_move_the_window() -> None:
    conversation = Conversation.begin("ada")
    window = window_of(tokens=500)
    for number in range(60):
        settled = window.read_ahead(conversation)[:-1]
        notes = [Note("a note of six words")]
        prompt = window.build(conversation, f"question {number}", memories=notes)
        assert prompt.stable_messages == settled
        say(conversation, f"question {number}", "word " * 10)
        window.settle(conversation)


def test_a_window_in_turns() -> None:
    conversation = Conversation.begin("ada")
    window = window_of(max_turns=8)
    sizes = []
    for number in range(30):
        prompt = window.build(conversation, f"question {number}")
        check_whole(prompt)
        sizes.append(len(prompt.stable_messages) // 2)
        say(conversation, f"question {number}", f"answer {number}")
        window.settle(conversation)
    assert max(sizes) == 8
    assert sizes[8:16] == [8, 4, 5, 6, 7, 8, 4, 5]


def test_the_window_is_cut_in_whole_exchanges() -> None:
    conversation = Conversation.begin("ada")
    for number in range(20):
        conversation.append_user(number, f"ask {number}", START)
        steps = (
            Message("assistant", f"call {number} " + "x " * 9),
            Message("user", f"got {number}"),
        )
        conversation.complete(number, f"answer {number}", steps=steps)
    prompt = window_of(tokens=400).build(conversation, "And?")

    check_whole(prompt)
    history = prompt.stable_messages[1:]
    assert 4 <= len(history) < 80
    assert len(history) % 4 == 0
    assert history[0].content.startswith("ask ")


def test_what_would_be_read_ahead_is_the_beginning_of_the_next_prompt() -> None:
    conversation = talk(2)
    window = window_of()
    written = window.read_ahead(conversation, "How old?", "Very old. ")
    say(conversation, "How old?", "Very old.")
    ahead = window.read_ahead(conversation)
    prompt = window.build(conversation, "Really?")

    assert written == ahead
    assert ahead[:-1] == prompt.stable_messages
    assert ahead[-1].role == prompt.messages[-1].role == "user"


def test_reading_ahead_after_nothing_was_heard() -> None:
    conversation = talk(1)
    say(conversation, "Tell me.", "", interrupted=True)
    window = window_of()

    ahead = window.read_ahead(conversation)
    assert ahead[-1].content == "Tell me.\n…"
    assert window.read_ahead(conversation, "Now.", "Well.")[-3:-1] == (
        Message("user", "Tell me.\nNow."),
        Message("assistant", "Well."),
    )


# -- forgetting ---------------------------------------------------------------------------------


def test_what_is_forgotten_is_out_of_the_next_prompt() -> None:
    conversation = talk(6)
    window = window_of()
    window.build(conversation, "x")
    conversation.hide([conversation.exchanges[2].id])
    window.settle(conversation)
    prompt = window.build(conversation, "x")

    check_whole(prompt)
    assert "question 3" not in contents(prompt)
    assert "question 2" in contents(prompt)


def test_forgetting_does_not_bring_back_what_had_left() -> None:
    conversation = talk(40)
    window = window_of(tokens=500)
    first = window.build(conversation, "x").stable_messages[1]
    conversation.hide([exchange.id for exchange in conversation.exchanges[:3]])
    window.settle(conversation)

    assert window.build(conversation, "x").stable_messages[1] == first


# -- too much -----------------------------------------------------------------------------------


def test_the_budget_is_the_smaller_of_setting_and_model() -> None:
    assert window_of(tokens=500).budget == 500
    answer = Llm().max_answer_tokens
    small = window_of(model=ScriptedModel(context_tokens=1000))
    assert small.budget == 1000 - answer - MARGIN


def test_a_message_longer_than_the_budget_keeps_its_beginning_and_end() -> None:
    conversation = talk(5)
    speech = "first " + "um " * 5000 + "last"
    prompt = window_of(tokens=600).build(conversation, speech, memories=[Note("a note")])

    check_whole(prompt)
    newest = prompt.messages[-1].content
    assert "\nfirst um" in newest
    assert newest.endswith("um last")
    assert newest.count("[…]") == 1
    assert prompt.tokens > 550
    assert prompt.notice is not None
    assert prompt.notice.text == SHORTENED
    assert contents(prompt).count("- a note)") == 1


def test_a_long_message_stays_shortened_in_the_history_the_same_way_each_turn() -> None:
    conversation = Conversation.begin("ada")
    say(conversation, "first " + "um " * 5000 + "last", "I see.")
    window = window_of(tokens=600)
    one = window.build(conversation, "So?")
    two = window.build(conversation, "Well then?")

    check_whole(one)
    assert one.stable_messages == two.stable_messages
    assert one.stable_messages[1].content.startswith("first um")
    assert one.stable_messages[1].content.endswith("um last")
    assert one.notice is None
    assert conversation.exchanges[0].user_text.count("um") == 5000


def test_text_without_spaces_is_shortened_too() -> None:
    class ByteModel(ScriptedModel):
        def count(self, text: str) -> int:
            return len(text.encode())

    window = window_of(tokens=1500, model=ByteModel())
    prompt = window.build(Conversation.begin("ada"), "x" * 1_000_000)
    assert prompt.tokens <= 1500
    assert len(prompt.messages[-1].content) > 300


def test_many_unanswered_words_leave_before_the_newest_is_cut() -> None:
    conversation = Conversation.begin("ada")
    for number in range(40):
        say(conversation, f"hello {number} " + "word " * 20, "", interrupted=True)
    prompt = window_of(tokens=400).build(conversation, "Are you there?")

    check_whole(prompt)
    assert prompt.messages[-1].content == "Are you there?"
    assert prompt.notice is None


def test_memories_never_crowd_out_the_conversation() -> None:
    memories = [Note(f"memory {number} " + "word " * 20) for number in range(100)]
    prompt = window_of(tokens=600).build(talk(3), "And?", memories=memories)

    check_whole(prompt)
    assert "memory 0" in contents(prompt)
    assert "memory 99" not in contents(prompt)
    assert "question 3" in contents(prompt)


def test_instructions_that_leave_no_room_are_refused() -> None:
    settings = Settings(
        persona=Persona(instructions="word " * 400), context=Context(max_context_tokens=450)
    )
    with pytest.raises(SettingsError, match="too little is left") as error:
        ContextWindow(ScriptedModel(), settings)
    assert error.value.mend is not None


def test_tokens_of_exchanges_add_up() -> None:
    conversation = talk(4)
    window = window_of()
    whole = window.unsummarized_tokens(conversation)
    assert whole == window.head_tokens("") + window.tokens_of(conversation.exchanges)
    assert window.head_tokens("") == OPENING + ROLE_MARKS + len(system_prompt(Persona()).split())
