from datetime import timedelta
from itertools import pairwise

import pytest

from assistant.context.conversation import Conversation
from assistant.context.memory_block import OPENING as MEMORIES_OPENING
from assistant.context.prompt import Prompt, system_prompt
from assistant.context.window import MARGIN, SHORTENED, ContextWindow
from assistant.errors import SettingsError
from assistant.settings import Context, Llm, Memory, Persona, Settings
from models.interfaces import Message
from tests.support.context import (
    DATE,
    NOW,
    check_prompt,
    contents,
    recalled,
    say,
    sections,
    summary_of,
    talk,
)
from tests.support.scripted_model import OPENING, ROLE_MARKS, ScriptedModel

MANY = [recalled(f"memory {number} " + "word " * 20, str(number)) for number in range(100)]


def window_of(
    *, tokens: int = 8000, max_turns: int | None = None, model: ScriptedModel | None = None
) -> ContextWindow:
    settings = Settings(context=Context(max_context_tokens=tokens, max_turns=max_turns))
    return ContextWindow(model or ScriptedModel(), settings, now=lambda: NOW)


def used(prompt: Prompt) -> list[str]:
    return [memory.id for memory in prompt.memories.used]


# -- the parts of a prompt ----------------------------------------------------------------------


def test_the_first_prompt_has_only_the_system_message_and_the_users_words() -> None:
    prompt = window_of().build(Conversation.begin("ada"), " Hello there. ")
    check_prompt(prompt)
    assert prompt.messages == (
        Message("system", system_prompt(Persona())),
        Message("user", "Hello there."),
    )
    assert sections(prompt) == ["system", "newest message"]


def test_the_date_is_in_the_prompt_only_for_words_that_may_need_it() -> None:
    prompt = window_of().build(Conversation.begin("ada"), "What is on tomorrow?")
    check_prompt(prompt)
    assert prompt.messages[-1].content == f"{DATE}\nWhat is on tomorrow?"
    assert sections(prompt) == ["system", "state", "newest message"]


def test_memories_and_state_precede_the_newest_words_and_never_enter_the_history() -> None:
    conversation, window = talk(3), window_of()
    window.state = lambda: " Form: the intake "
    prompt = window.build(
        conversation,
        "And my dog?",
        memories=[recalled("dog is Max"), recalled("likes fetch")],
    )
    check_prompt(prompt)
    assert prompt.messages[-1].content == (
        f"(Form: the intake)\n({MEMORIES_OPENING}\n- dog is Max\n- likes fetch)\nAnd my dog?"
    )
    assert contents(prompt).count("Max") == 1
    assert sections(prompt) == ["system", "history", "state", "memories", "newest message"]

    say(conversation, "And my dog?", "Max.")
    window.state = lambda: "  "
    history = window.build(conversation, "Thanks.").stable_messages[1:]
    assert [message.content for message in history[-2:]] == ["And my dog?", "Max."]
    assert all("(" not in message.content for message in history)


def test_the_system_message_ends_with_the_summary() -> None:
    conversation = talk(3)
    conversation.apply(summary_of(conversation, 2))
    prompt = window_of().build(conversation, "Go on.")

    check_prompt(prompt)
    assert prompt.messages[0].content.endswith("Earlier in this conversation: They spoke of dogs.")
    assert "question 2" not in contents(prompt)
    assert "question 3" in contents(prompt)
    assert sections(prompt)[:3] == ["system", "summary", "history"]


def test_unanswered_words_are_joined_with_the_next_words() -> None:
    conversation = talk(1)
    say(conversation, "Tell me of the ocean.", "", interrupted=True)
    window = window_of()
    prompt = window.build(conversation, "Please.")
    check_prompt(prompt)
    assert prompt.messages[-1].content == "Tell me of the ocean.\nPlease."

    say(conversation, "Please.", "The ocean is wide.")
    later = window.build(conversation, "And deep?")
    check_prompt(later)
    assert later.messages[-3] == Message("user", "Tell me of the ocean.\nPlease.")


# -- memories -----------------------------------------------------------------------------------


def test_a_slow_model_reads_fewer_memories_and_the_prompt_lists_those_left_out() -> None:
    tokens = []
    for speed in (None, 500, 1):
        prompt = window_of().build(talk(3), "And?", memories=MANY, reads_per_s=speed)
        check_prompt(prompt)
        assert used(prompt) == [memory.id for memory in MANY[: len(used(prompt))]]
        reasons = [reason for _, reason in prompt.memories.left_out]
        assert reasons == ["over budget"] * (len(MANY) - len(used(prompt)))
        assert all(memory.text.strip() in contents(prompt) for memory in prompt.memories.used)
        section = next(each for each in prompt.sections if each.name == "memories")
        assert section.tokens == prompt.memories.tokens
        tokens.append(section.tokens)
    assert 775 < tokens[0] <= Memory().max_tokens
    assert 125 < tokens[1] <= 500 * Memory().prefill_ms / 1000
    assert len(used(prompt)) == 3


def test_words_that_ask_nothing_get_only_the_best_memory_from_a_slow_model() -> None:
    for words, ids in (("What was it?", ["0", "1", "2"]), ("It rained all morning.", ["0"])):
        prompt = window_of().build(talk(1), words, memories=MANY[:5], reads_per_s=1)
        assert used(prompt) == ids


def test_words_in_the_conversation_are_not_repeated_as_a_memory() -> None:
    memories = [recalled(text, text) for text in ("question 1", "The dog is Max.", "And my dog?")]
    prompt = window_of().build(talk(2), "And my dog?", memories=memories)
    assert used(prompt) == ["The dog is Max."]


def test_memories_for_a_question_about_time_are_dated_by_day() -> None:
    memory = recalled("I met Ann.", said=NOW - timedelta(days=40))
    window, conversation = window_of(), Conversation.begin("ada")
    when, who = (
        window.build(conversation, words, memories=[memory]).messages[-1].content
        for words in ("When did I meet Ann?", "Whom did I meet?")
    )
    assert "- on 12 October: I met Ann." in when
    assert when.startswith(DATE)
    assert "- 5 weeks ago: I met Ann." in who
    assert DATE not in who, "an unneeded date would cost time"


def test_memories_never_crowd_out_the_conversation() -> None:
    prompt = window_of(tokens=600).build(talk(3), "And?", memories=MANY)
    check_prompt(prompt)
    assert "memory 0" in contents(prompt)
    assert "memory 99" not in contents(prompt)
    assert "question 3" in contents(prompt)


# -- the prefix ---------------------------------------------------------------------------------


def test_the_prefix_only_grows_at_its_end() -> None:
    conversation = Conversation.begin("ada")
    clock = [NOW]
    window = ContextWindow(ScriptedModel(), Settings(), now=lambda: clock[0])
    before: tuple[Message, ...] = ()
    for number in range(30):
        clock[0] += timedelta(minutes=7)
        memories = [recalled(f"note {number}")]
        prompt = window.build(conversation, f"question {number}", memories=memories)
        check_prompt(prompt)
        assert prompt.stable_messages[: len(before)] == before
        assert len(prompt.stable_messages) == 1 + 2 * number
        before = prompt.stable_messages
        say(conversation, f"question {number}", f"answer {number}")
        window.settle(conversation)


def test_a_full_window_moves_rarely_in_large_steps_and_only_between_turns() -> None:
    conversation = Conversation.begin("ada")
    window = window_of(tokens=500)
    before: tuple[Message, ...] = ()
    moves: list[int] = []
    for number in range(60):
        settled = window.read_ahead(conversation)[:-1]
        memories = [recalled("a note of six words")]
        prompt = window.build(conversation, f"question {number}", memories=memories)
        check_prompt(prompt)
        assert prompt.stable_messages == settled, "the window must not move during a turn"
        if prompt.stable_messages[: len(before)] != before:
            moves.append(number)
            plain = window.build(conversation, f"question {number}")
            assert plain.tokens <= (plain.budget + plain.sections[0].tokens) // 2 + 40
        before = prompt.stable_messages
        say(conversation, f"question {number}", "word " * 10)
        window.settle(conversation)
    assert len(moves) >= 3
    assert min(later - earlier for earlier, later in pairwise(moves)) >= 5


def test_a_window_limited_in_turns_drops_half_of_them_when_full() -> None:
    conversation = Conversation.begin("ada")
    window = window_of(max_turns=8)
    sizes = []
    for number in range(30):
        prompt = window.build(conversation, f"question {number}")
        check_prompt(prompt)
        sizes.append(len(prompt.stable_messages) // 2)
        say(conversation, f"question {number}", f"answer {number}")
        window.settle(conversation)
    assert max(sizes) == 8
    assert sizes[8:16] == [8, 4, 5, 6, 7, 8, 4, 5]


def test_the_state_is_read_ahead_with_the_history() -> None:
    conversation, window = talk(3), window_of()
    window.state = lambda: "Form: the intake"
    ahead = window.read_ahead(conversation)
    prompt = window.build(conversation, "What is on tomorrow?")
    assert ahead[:-1] == prompt.stable_messages
    assert ahead[-1].content == "(Form: the intake)\n…"
    assert prompt.messages[-1].content == f"(Form: the intake)\n{DATE}\nWhat is on tomorrow?"


def test_the_messages_read_ahead_are_the_beginning_of_the_next_prompt() -> None:
    conversation = talk(2)
    window = window_of()
    written = window.read_ahead(conversation, "How old?", "Very old. ")
    say(conversation, "How old?", "Very old.")
    ahead = window.read_ahead(conversation)
    prompt = window.build(conversation, "Really?")

    assert written == ahead
    assert ahead[:-1] == prompt.stable_messages
    assert ahead[-1].role == prompt.messages[-1].role == "user"

    say(conversation, "Tell me.", "", interrupted=True)
    assert window.read_ahead(conversation)[-1].content == "Tell me.\n…"
    assert window.read_ahead(conversation, "Now.", "Well.")[-3:-1] == (
        Message("user", "Tell me.\nNow."),
        Message("assistant", "Well."),
    )


# -- forgetting ---------------------------------------------------------------------------------


def test_forgotten_exchanges_are_not_in_the_next_prompt() -> None:
    conversation = talk(6)
    window = window_of()
    window.build(conversation, "x")
    conversation.hide([conversation.exchanges[2].id])
    window.settle(conversation)
    prompt = window.build(conversation, "x")

    check_prompt(prompt)
    assert "question 3" not in contents(prompt)
    assert "question 2" in contents(prompt)


def test_nothing_leaves_the_window_for_words_that_are_still_being_spoken() -> None:
    conversation, window = talk(3), window_of(max_turns=3)
    assert window.draft(conversation, "And so") == window.build(conversation, "And so").messages
    assert len(window.read_ahead(conversation)) == 2 * 3 + 2

    say(conversation, "question 4", "answer 4")
    assert window.draft(conversation, "And so on?") == ()
    assert len(window.read_ahead(conversation)) == 2 * 4 + 2
    window.build(conversation, "And so on?")
    assert len(window.read_ahead(conversation)) < 2 * 4 + 2


def test_forgetting_does_not_bring_back_exchanges_that_had_left_the_window() -> None:
    conversation = talk(40, words=10)
    window = window_of(tokens=500)
    first = window.build(conversation, "x").stable_messages[1]
    conversation.hide([exchange.id for exchange in conversation.exchanges[:3]])
    window.settle(conversation)

    assert window.build(conversation, "x").stable_messages[1] == first


# -- too much -----------------------------------------------------------------------------------


def test_the_budget_is_the_smaller_of_the_setting_and_the_models_limit() -> None:
    assert window_of(tokens=500).budget == 500
    small = window_of(model=ScriptedModel(context_tokens=1000))
    assert small.budget == 1000 - Llm().max_answer_tokens - MARGIN


def test_a_message_longer_than_the_budget_keeps_its_beginning_and_end() -> None:
    speech = "first " + "um " * 5000 + "last"
    prompt = window_of(tokens=600).build(talk(5), speech, memories=[recalled("a note")])

    check_prompt(prompt)
    newest = prompt.messages[-1].content
    assert "\nfirst um" in newest
    assert newest.endswith("um last")
    assert newest.count("[…]") == 1
    assert prompt.tokens > 550
    assert prompt.notice is not None
    assert prompt.notice.text == SHORTENED
    assert contents(prompt).count("- a note)") == 1


def test_a_long_message_is_shortened_in_the_same_way_each_turn() -> None:
    conversation = Conversation.begin("ada")
    say(conversation, "first " + "um " * 5000 + "last", "I see.")
    window = window_of(tokens=600)
    one = window.build(conversation, "So?")
    two = window.build(conversation, "Well then?")

    check_prompt(one)
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


def test_older_unanswered_words_are_dropped_before_the_newest_are_cut() -> None:
    conversation = Conversation.begin("ada")
    for number in range(40):
        say(conversation, f"hello {number} " + "word " * 20, "", interrupted=True)
    prompt = window_of(tokens=400).build(conversation, "Are you there?")

    check_prompt(prompt)
    assert prompt.messages[-1].content == "Are you there?"
    assert prompt.notice is None


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
