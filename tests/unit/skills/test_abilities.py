"""What the assistant says of itself is true of what is plugged in and loaded."""

import doctest

import pytest

from assistant.intents.command import Command, CommandKind
from assistant.skills import abilities as module
from assistant.skills.abilities import Abilities, ModelInUse, spoken_model, spoken_title

ALL = frozenset(CommandKind)
LOCAL = ModelInUse("Qwen2.5-Coder 1.5B Instruct")


def skill(kinds: frozenset[CommandKind] = ALL, model: ModelInUse = LOCAL) -> Abilities:
    return Abilities(lambda: kinds, lambda: model)


async def said(skill: Abilities, kind: CommandKind) -> str:
    reply = await skill.carry_out(Command(kind))
    assert reply is not None
    return reply.text


def test_the_examples_in_the_documentation_are_true() -> None:
    assert doctest.testmod(module).failed == 0


async def test_all_abilities_are_named_if_all_skills_are_there() -> None:
    assert await said(skill(), CommandKind.ABILITIES) == (
        "I can set timers, alarms and reminders, keep lists and notes, and remember things for "
        "you. I can also tell you the time and the date, work out sums, fill in forms with you, "
        "and plan things with you. I'm not connected to the internet, and I can't control other "
        "apps or devices."
    )


async def test_what_no_skill_does_is_not_named() -> None:
    kinds = frozenset({CommandKind.TIMER_SET, CommandKind.NOTE_ADD})
    assert await said(skill(kinds), CommandKind.ABILITIES) == (
        f"I can set timers and keep notes. {module.LIMITS}"
    )


async def test_without_skills_it_can_talk() -> None:
    text = await said(skill(frozenset()), CommandKind.ABILITIES)
    assert text == f"{module.TALK} {module.LIMITS}"


async def test_skills_that_are_plugged_in_later_are_named() -> None:
    kinds: set[CommandKind] = set()
    later = Abilities(lambda: kinds, lambda: LOCAL)
    kinds.add(CommandKind.LIST_ADD)
    assert (await said(later, CommandKind.ABILITIES)).startswith("I can keep lists.")


async def test_it_does_not_say_that_it_has_no_connection_if_the_model_is_on_a_server() -> None:
    remote = ModelInUse("llama3", server="example.org")
    text = await said(skill(model=remote), CommandKind.ABILITIES)
    assert "not connected" not in text
    assert "can't search the internet" in text


async def test_the_first_refusal_says_what_is_possible_and_later_ones_are_short() -> None:
    ada = skill()
    assert await said(ada, CommandKind.ACT) == (
        "I can't do that. I can set timers, alarms and reminders, keep lists and notes, and "
        "remember things for you."
    )
    assert await said(ada, CommandKind.ACT) == "I can't do that, sorry."
    assert await said(skill(frozenset()), CommandKind.ACT) == "I can't do that, sorry."


async def test_what_may_be_no_request_is_left_to_the_model() -> None:
    assert await skill().ask(Command(CommandKind.ACT)) is None


@pytest.mark.parametrize("kind", [CommandKind.ABILITIES, CommandKind.WHICH_MODEL])
async def test_a_likely_question_is_asked_back_and_then_answered(kind: CommandKind) -> None:
    asked = await skill().ask(Command(kind))
    assert asked is not None
    assert asked.text.startswith("Do you want to know")
    assert asked.if_yes is not None
    assert (await asked.if_yes()).text == await said(skill(), kind)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (
            LOCAL,
            "I run on Qwen 2.5 Coder, with 1.5 billion parameters, on this computer. Nothing you "
            "say leaves it.",
        ),
        (
            ModelInUse("llama3.2:3b", server="192.168.1.5"),
            "I run on llama 3.2 3b, on the server 192.168.1.5. What you say is sent there.",
        ),
        (
            ModelInUse("", server="example.org"),
            "I run on a language model whose name I don't know, on the server example.org. "
            "What you say is sent there.",
        ),
        (
            ModelInUse("gemma", server="127.0.0.1"),
            "I run on gemma, on a server on this computer.",
        ),
        (
            ModelInUse("Qwen3 1.7B", store=True),
            "I run on Qwen 3, with 1.7 billion parameters, on this computer. Your memories are "
            "kept on another computer, as your settings say.",
        ),
    ],
)
async def test_it_names_its_model_and_where_words_go(model: ModelInUse, text: str) -> None:
    assert spoken_model(model) == text
    assert await said(skill(model=model), CommandKind.WHICH_MODEL) == text


@pytest.mark.parametrize(
    ("title", "spoken"),
    [
        ("SmolLM2 135M Instruct", "SmolLM 2, with 135 million parameters"),
        ("Qwen2.5 1.5B Instruct, MLX 4-bit", "Qwen 2.5, with 1.5 billion parameters"),
        ("my_own-model", "my own model"),
    ],
)
def test_titles_can_be_read_aloud(title: str, spoken: str) -> None:
    assert spoken_title(title) == spoken


async def test_it_does_not_say_that_nothing_leaves_the_computer_if_other_programs_have_tools() -> (
    None
):
    tools = ModelInUse(LOCAL.title, tools=True)
    assert "leaves" not in spoken_model(tools)
    assert "leaves" in spoken_model(LOCAL)
    assert "not connected" not in await said(skill(model=tools), CommandKind.ABILITIES)
