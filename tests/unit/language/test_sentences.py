"""Splitting text into sentences."""

import pytest

from assistant.language.sentences import as_sentence, sentences, stated


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith came. | He left.",
        "I saw Mr. and Mrs. Hill at St. James's. | They waved.",
        "It costs 3.50 a kilo. | Cheap!",
        "We meet at 5 p.m. on Monday.",
        "We meet at 5 p.m. | Bring wine.",
        'She said "Stop!" and left.',
        '"I\'m off." | He shut the door.',
        "Really?! | I had no idea...",
        "I live at No. 5, Elm Street.",
        "No. | I don't.",
        "e.g. apples, i.e. fruit. | And nuts.",
        "The U.S. team won. | We cheered.",
        "J. R. Hartley wrote it. | Lovely book.",
        "So am I. | He isn't.",
        "Her name is Jan. | She was born on Jan. 5.",
        "Go to example.com. | It is good.",
        "my dog is called max and he is nine",
        "I'm vegan. | what's for dinner",
        "Ann, Ben and Carla (they came at 6.) left.",
        "Yes… | maybe. | No.",
        "I like tea; she likes coffee.",
        "Prof. Jones vs. the board. | Round two.",
        "He works for Acme Inc. | They pay well.",
        "It's 10 o'clock. | Tea?",
    ],
)
def test_text_is_split_where_sentences_end(text: str) -> None:
    plain = text.replace(" | ", " ")
    found = sentences(plain)
    assert [each.text for each in found] == text.split(" | ")
    assert [plain[each.start : each.end] for each in found] == text.split(" | ")


def test_scripts_without_spaces_are_split() -> None:
    assert [each.text for each in sentences("我很好。你呢？")] == ["我很好。", "你呢？"]


def test_semicolons_can_end_sentences() -> None:
    found = sentences("I like tea; she likes coffee.", semicolons=True)
    assert [each.text for each in found] == ["I like tea;", "she likes coffee."]


@pytest.mark.parametrize("text", ["", "  \n "])
def test_an_empty_text_has_no_sentences(text: str) -> None:
    assert sentences(text) == []


@pytest.mark.parametrize("piece", ["a ", ".", '"', "a.", '."', "。"])
def test_a_text_of_a_megabyte_is_handled_quickly(piece: str) -> None:
    [only] = sentences(piece * (1_000_000 // len(piece)))
    assert only.end in (999_999, 1_000_000)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("I got a dog. Do you have any pets?", 4),
        ("Really?", 0),
        ("Wow! Nice", 2),
        ("What? No. We're moving on Friday", 6),
        ("", 0),
        ("12 ...", 0),
        ("word " * 200_000, 200_000),
        ("word " * 200_000 + "?", 0),
    ],
    ids=range(8),
)
def test_words_outside_questions_are_counted(text: str, count: int) -> None:
    assert stated(text) == count


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("-5 degrees is too cold for me", "-5 degrees is too cold for me."),
        (", -.5 is the offset,", "-.5 is the offset."),
        (" - my locker code is 4471 -", "My locker code is 4471."),
        (": -- ", ""),
    ],
)
def test_a_sentence_keeps_a_minus_but_no_dash_around_it(words: str, sentence: str) -> None:
    assert as_sentence(words) == sentence
