"""Of a question that the assistant can't answer, the model is told so below the user's words, or a
fixed reply is given."""

from dataclasses import replace
from functools import partial

import pytest

from assistant.context.conversation import Conversation
from assistant.context.memory_block import OPENING as MEMORIES_OPENING
from assistant.context.not_known import (
    NOT_ONLINE,
    NOT_TOLD,
    REPLIES,
    NotKnown,
    is_fixed,
)
from assistant.context.prompt import NOT_KNOWN, NOT_KNOWN_UNLESS_NOTED
from assistant.context.window import ContextWindow
from assistant.events import MemoryUsed
from assistant.settings import Context, Persona, Settings
from tests.support.context import (
    DATE,
    NOW,
    check_prompt,
    recalled,
    say,
    sections,
    summary_of,
    talk,
)
from tests.support.scripted_model import ScriptedModel

LIVE = NotKnown(NOT_ONLINE)
OWN = NotKnown(NOT_TOLD, about_user=True)


def window_of(tokens: int = 8000) -> ContextWindow:
    settings = Settings(context=Context(max_context_tokens=tokens))
    return ContextWindow(ScriptedModel(), settings, now=lambda: NOW)


def test_what_cannot_be_known_is_followed_by_a_hint_that_never_enters_the_history() -> None:
    conversation, window = talk(3), window_of()
    window.state = lambda: "Form: the intake"
    words = "Is it raining tomorrow?"
    usual = window.build(conversation, words)

    prompt = window.build(conversation, words, not_known=LIVE)

    check_prompt(prompt)
    assert (usual.reply, prompt.reply) == ("", NOT_ONLINE)
    assert prompt.messages[-1].content == f"(Form: the intake)\n{DATE}\n{words}\n{NOT_KNOWN}"
    assert prompt.stable_messages == usual.stable_messages
    parts = {each.name: each.text for each in prompt.sections}
    assert parts["state"] == f"(Form: the intake)\n{DATE}\n{NOT_KNOWN}"
    assert parts["newest message"] == words
    say(conversation, words, "I can't know that.")
    after = window.build(conversation, "I see.")
    assert not any(NOT_KNOWN in each.content for each in after.messages)


def test_with_memories_the_hint_lets_the_model_answer_from_them() -> None:
    memories = [recalled("keys are in the blue bowl")]
    prompt = window_of().build(talk(2), "Where are my keys?", memories=memories, not_known=LIVE)
    check_prompt(prompt)
    assert prompt.reply == ""
    assert prompt.messages[-1].content == (
        f"({MEMORIES_OPENING}\n- keys are in the blue bowl)\nWhere are my keys?"
        f"\n{NOT_KNOWN_UNLESS_NOTED}"
    )
    assert sections(prompt) == ["system", "history", "state", "memories", "newest message"]


@pytest.mark.parametrize(
    ("earlier", "words", "hinted"),
    [
        ("I put my keys in the blue bowl.", "Where is my key?", False),
        ("Janet's cross with me, I forgot her birthday.", "is janet cross with me", False),
        ("There are two eggs in the fridge.", "What have I got in the fridge?", False),
        ("My exam is tomorrow.", "Will it rain tomorrow?", True),
        ("Will it rain today?", "And will it rain tomorrow?", True),
        ("I put my keys in the blue bowl.", "Is the chemist open?", True),
        ("I put my keys in the blue bowl. Is that all right?", "Where are my keys?", False),
        ("Where are my keys? I'm late.", "Have you seen my keys?", True),
        ("I like tea.", "What's the weather like tomorrow?", True),
        ("I haven't got time.", "What time does the chemist open?", True),
        ("The queue was too long last week.", "How long did the last film go on?", True),
        ("I want to tell you a thing.", "What did Jo say happened?", True),
        ("On Friday I'll wear the blue one.", "And tomorrow?", False),
        ("It's a long way to Leeds.", "And how long would I have to drive?", False),
        ("Will it rain today?", "And tomorrow?", True),
    ],
)
def test_what_was_told_in_this_conversation_gets_no_hint(
    earlier: str, words: str, hinted: bool
) -> None:
    conversation, window = Conversation.begin("ada"), window_of()
    say(conversation, earlier, "Hm?")
    prompt = window.build(conversation, words, not_known=LIVE)
    check_prompt(prompt)
    assert prompt.messages[-1].content.endswith(NOT_KNOWN) is bool(prompt.reply) is hinted
    conversation.apply(replace(summary_of(conversation, 1), text=earlier))
    summed = window.build(conversation, words, not_known=LIVE)
    assert summed.messages[-1].content.endswith(NOT_KNOWN) is hinted


@pytest.mark.parametrize(
    ("answer", "hinted"),
    [
        ("Your keys are in the blue bowl.", False),
        ("Hello. Your keys? They're lost.", True),
        ("Hello. I don't know where your keys are.", True),
        ("I can’t see your keys from here.", True),
    ],
)
def test_what_the_assistant_answered_counts_unless_it_knew_nothing(
    answer: str, hinted: bool
) -> None:
    conversation, window = Conversation.begin("ada"), window_of()
    say(conversation, "Good morning.", answer)
    prompt = window.build(conversation, "Where are my keys?", not_known=LIVE)
    check_prompt(prompt)
    assert prompt.messages[-1].content.endswith(NOT_KNOWN) is hinted


@pytest.mark.parametrize(
    ("state", "hinted"),
    [
        ("Form: the day. Keys: in the blue bowl; Ask next: What's for lunch?", False),
        ("Form: the day. Lunch: soup; Ask next: Where are your keys?", True),
        ("", True),
    ],
)
def test_what_is_in_an_open_form_counts_but_not_what_it_asks(state: str, hinted: bool) -> None:
    window = window_of()
    window.state = lambda: state
    prompt = window.build(Conversation.begin("ada"), "Where are my keys?", not_known=LIVE)
    check_prompt(prompt)
    assert prompt.messages[-1].content.endswith(NOT_KNOWN) is hinted


@pytest.mark.parametrize(
    ("words", "hinted"),
    [
        ("I put my keys in the blue bowl. Where are my keys?", False),
        ("Where are my keys? I put the keys in the blue bowl.", False),
        ("I have to go out. Where are my keys?", True),
        ("Where are my keys? Have you seen my keys?", True),
        ("My exam is tomorrow. Tell me the forecast.", True),
        ("The forecast said rain. The forecast, please.", False),
    ],
)
def test_other_sentences_of_the_newest_words_count(words: str, hinted: bool) -> None:
    prompt = window_of().build(Conversation.begin("ada"), words, not_known=LIVE)
    check_prompt(prompt)
    assert prompt.messages[-1].content.endswith(NOT_KNOWN) is hinted


@pytest.mark.parametrize(
    ("summary", "hinted"),
    [
        ("The user asked whether it will rain. They have a cat.", True),
        ("The user wanted to know if rain was coming.", True),
        ("The user asked about the trip. Rain is forecast for Friday.", False),
    ],
)
def test_a_question_that_the_summary_reports_tells_nothing(summary: str, hinted: bool) -> None:
    conversation, window = Conversation.begin("ada"), window_of()
    say(conversation, "Good morning.", "Hello.")
    conversation.apply(replace(summary_of(conversation, 1), text=summary))
    prompt = window.build(conversation, "Will it rain?", not_known=LIVE)
    check_prompt(prompt)
    assert prompt.messages[-1].content.endswith(NOT_KNOWN) is hinted


@pytest.mark.parametrize(
    ("language", "hinted"), [("en", True), ("en-GB", True), ("de", False), ("auto", False)]
)
def test_the_hint_is_given_in_english_only(language: str, hinted: bool) -> None:
    settings = Settings(persona=Persona(language=language))
    window = ContextWindow(ScriptedModel(), settings, now=lambda: NOW)
    prompt = window.build(Conversation.begin("ada"), "Any news?", not_known=LIVE)
    check_prompt(prompt)
    assert (NOT_KNOWN in prompt.messages[-1].content) is hinted


def test_words_that_are_shortened_keep_their_hint() -> None:
    prompt = window_of(600).build(talk(1), "rain or sun " * 900, not_known=LIVE)
    check_prompt(prompt)
    assert prompt.notice is not None
    assert prompt.messages[-1].content.endswith(f"\n{NOT_KNOWN}")


def test_memories_that_are_not_near_tell_nothing() -> None:
    far = [recalled("rain ruins my hair", near=False)]
    assert (
        window_of().build(talk(1), "Will it rain?", memories=far, not_known=LIVE).reply
        == NOT_ONLINE
    )


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("words", ["Can I look things up online?", "Is there a way of telling?"])
def test_a_fixed_reply_tells_nothing_when_the_same_is_asked_again(words: str, reply: str) -> None:
    conversation = Conversation.begin("ada")
    say(conversation, words, reply)
    assert window_of().build(conversation, words, not_known=LIVE).reply == NOT_ONLINE
    assert window_of().build(conversation, f"my {words}", not_known=OWN).reply == NOT_TOLD


@pytest.mark.parametrize(
    ("answer", "interrupted", "fixed"),
    [
        (NOT_ONLINE, False, True),
        ("I can't look things up", True, True),
        ("I don't think you've", True, True),
        ("I don't think", True, False),
        ("I", True, False),
        ("I can't look things up", False, False),
        ("I don't know.", False, False),
        ("I don't know whether", True, False),
        ("", True, False),
    ],
)
def test_a_fixed_reply_is_recognised_even_if_it_was_interrupted(
    answer: str, interrupted: bool, fixed: bool
) -> None:
    conversation = Conversation.begin("ada")
    say(conversation, "Any news?", answer, interrupted=interrupted)
    assert is_fixed(conversation.exchanges[0]) is fixed


FAR = recalled("Anna has moved to York", near=False, words=("anna",))
OTHER = recalled("I like tea", near=False)


@pytest.mark.parametrize(
    ("words", "memories", "said_not_to_be_told"),
    [
        ("What's my sister's surname?", [], True),
        ("What's my sister's surname?", [OTHER], True),
        ("Where did we go last summer?", [], True),
        ("Which school did Anna go to?", [OTHER, FAR], True),
        ("Which school did Anna go to?", [OTHER], False),
        ("Which school did Anna go to?", [], False),
        ("Which state is the Grand Canyon in?", [OTHER], False),
        ("What is the most common myth about bats?", [], False),
    ],
)
def test_what_only_the_user_can_have_told_is_said_not_to_be_told(
    words: str, memories: list[MemoryUsed], said_not_to_be_told: bool
) -> None:
    window = window_of()
    conversation = Conversation.begin("ada")
    say(conversation, "Hello!", "Hello, Ada.")
    say(conversation, "What's the capital of France?", "Paris.")
    usual = window.build(conversation, words, memories=memories)
    prompt = window.build(conversation, words, memories=memories, not_known=OWN)
    check_prompt(prompt)
    assert prompt.reply == (NOT_TOLD if said_not_to_be_told else "")
    assert prompt.messages == usual.messages, "there is no hint in any case"


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("I'm on nights this week and my wife's on days.", "Which one of us is on nights?"),
        ("I work as a nurse.", "What's my job?"),
        ("We've got a puppy, Biscuit.", "What's my dog called?"),
    ],
)
def test_whatever_the_user_stated_may_answer_a_question_about_the_users_life(
    told: str, words: str
) -> None:
    conversation = Conversation.begin("ada")
    say(conversation, told, "I see.")
    assert window_of().build(conversation, words, memories=[FAR], not_known=OWN).reply == ""
    assert window_of().build(conversation, words, not_known=LIVE).reply == NOT_ONLINE


@pytest.mark.parametrize("words", ["What's my sister's surname?", "What's Anna's surname?"])
def test_what_may_be_told_is_left_to_the_model_without_a_hint(words: str) -> None:
    told = Conversation.begin("ada")
    say(told, "My sister Anna is Doctor Kent now.", "How nice.")
    elsewhere = Conversation.begin("ada")
    say(elsewhere, "Hello.", "Good morning.")
    summed = Conversation.begin("ada")
    say(summed, "Hello.", "Good morning.")
    summary = "The user's sister Anna is called Kent."
    summed.apply(replace(summary_of(summed, 1), text=summary))
    form = "Form: the family. Sister: Anna Kent"
    for conversation, state in ((told, ""), (elsewhere, form), (summed, "")):
        window = window_of()
        window.state = partial(str, state)
        prompt = window.build(conversation, words, memories=[FAR], not_known=OWN)
        check_prompt(prompt)
        assert prompt.reply == ""
        assert prompt.messages[-1].content.endswith(f"\n{words}" if state else words)
    assert window_of().build(elsewhere, words, memories=[FAR], not_known=OWN).reply == NOT_TOLD


def test_what_a_near_memory_may_tell_is_left_to_the_model_without_a_hint() -> None:
    words, near = "What's my sister's surname?", recalled("Anna is Doctor Kent now")
    prompt = window_of().build(talk(1), words, memories=[near, FAR], not_known=OWN)
    check_prompt(prompt)
    assert prompt.reply == ""
    assert prompt.messages[-1].content == f"({MEMORIES_OPENING}\n- {near.text})\n{words}"


@pytest.mark.parametrize("language", ["de", "auto"])
def test_in_other_languages_nothing_is_said_not_to_be_told(language: str) -> None:
    settings = Settings(persona=Persona(language=language))
    window = ContextWindow(ScriptedModel(), settings, now=lambda: NOW)
    usual = window.build(talk(1), "Does my sister work?")
    prompt = window.build(talk(1), "Does my sister work?", not_known=OWN)
    check_prompt(prompt)
    assert prompt.reply == ""
    assert prompt.messages == usual.messages
