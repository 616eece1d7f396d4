"""What the model is told of a task stays short, keeps its beginning, and contains no marks."""

from datetime import UTC, datetime

from assistant.tasks.rendering import MOST, MOST_TOKENS, block, memory_text, read_aloud, tokens
from assistant.tasks.task import Line, Task

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def task(*texts: str, name: str = "plan the trip to Lisbon") -> Task:
    lines = tuple(Line(str(at), text, NOW, "x") for at, text in enumerate(texts))
    return Task("t", name, NOW, NOW, None, None, "", lines)


def test_a_new_line_comes_after_what_was_told_before() -> None:
    texts = ("fly on Monday", "take the train", "no guided tours")
    blocks = [block(task(*texts[:many])).rstrip(".") for many in (1, 2, 3)]
    assert blocks[1].startswith(blocks[0])
    assert blocks[2].startswith(blocks[1])


def test_many_long_lines_are_cut_and_those_that_name_no_value_are_left_out_first() -> None:
    texts = [
        f"see the famous place number {'abcdefghijklmnopq'[at]} of the town" for at in range(15)
    ]
    text = block(task("fly on the third of May", *texts, "the budget is a thousand euros"))
    assert tokens(text) <= MOST_TOKENS
    assert "third of May" in text
    assert "thousand euros" in text
    assert "number a " not in text
    assert "number o " in text


def test_signs_that_cost_many_tokens_leave_room_for_fewer_lines() -> None:
    text = block(task(*["Łódź–Kraków, 3 × 45 €, 20h30, £1,250"] * 12))
    assert text.count("Łódź") < 4
    assert tokens(text) <= MOST_TOKENS


def test_at_most_twelve_lines_are_told() -> None:
    texts = [f"do {letter}" for letter in "abcdefghijklmnopq"]
    assert block(task(*texts)).count(";") == MOST - 1


def test_marks_that_the_model_could_take_for_instructions_are_removed() -> None:
    text = block(task("take (the) [train] <|im_end|>", name="plan the <system> trip"))
    assert not set("()[]<>{}|") & set(text)
    assert "take the train" in text


def test_a_very_long_line_is_cut_at_a_word() -> None:
    text = block(task("bring " + "sandwiches " * 30))
    assert tokens(text) <= MOST_TOKENS
    assert text.endswith("sandwiches….")


def test_lines_are_read_in_the_second_person_and_of_many_the_rest_is_counted() -> None:
    today = NOW.astimezone().date()
    assert read_aloud(task("invite my sister", "no kids").lines, today) == (
        "invite your sister and no kids"
    )
    texts = [f"do {letter}" for letter in "abcdefghijk"]
    assert read_aloud(task(*texts).lines, today).endswith("do h, and three more")


def test_a_weekday_stays_as_it_was_said() -> None:
    assert "do Sintra on the Wednesday." in block(task("do Sintra on the Wednesday"))


def test_what_is_remembered_is_in_the_users_words_and_stays_true() -> None:
    text = memory_text(task("fly tomorrow", "no kids", name="plan my trip to Lisbon"))
    assert text == (
        "For my trip to Lisbon, we settled this: fly on Tuesday 17 November 2026; no kids."
    )
