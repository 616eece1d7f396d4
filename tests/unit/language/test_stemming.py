"""Words and their stems, in many languages."""

import pytest

from assistant.language.stemming import LONGEST, TextAnalyzer
from tests.support.in_ram import held


@pytest.mark.parametrize(
    ("text", "stems"),
    [
        ("My dogs loved running", ["dog", "love", "run"]),
        ("mum's cake, Mum’s cakes", ["mum", "cake", "mum", "cake"]),
        ("I don't, I'm, it's, we'll, you've, she'd, let's", []),
        ("O'Brien's rock'n'roll", ["obrien", "rocknrol"]),
        ("room 42 at 7:30 on the 2nd", ["room", "42", "7", "30", "2nd"]),
        ("Zoë's CAFÉ", ["zoe", "cafe"]),
        ("our neighbour's favourite COLOURS", ["neighbor", "favorit", "color"]),
        ("four hours, sour flour", ["four", "hour", "sour", "flour"]),
        ("snake_case-and/more", ["snake", "case"]),
        ("¿?! … 🙂 \x00 ' ''", []),
        ("", []),
        ("Привет, мир 東京", ["привет", "мир", "東", "京"]),
    ],
)
def test_words_are_reduced_to_stems(text: str, stems: list[str]) -> None:
    assert TextAnalyzer().content(text) == stems


@pytest.mark.parametrize(
    ("language", "text", "stems"),
    [
        ("de", "Meine Häuser und die Katzen", ["haus", "katz"]),
        ("fr", "l’amour des chats", ["amour", "chat"]),
        ("auto", "colour", ["colour"]),
        ("ko", "고양이 이름", ["고양이", "이름"]),
        ("auto", "the running dogs", ["the", "running", "dogs"]),
        ("ml", "എന്റെ നായ", ["എന്റെ", "നായ"]),  # vowel signs are part of the word
    ],
)
def test_words_of_other_languages_are_reduced_to_stems(
    language: str, text: str, stems: list[str]
) -> None:
    assert TextAnalyzer(language).content(text) == stems


def test_matching_words_are_reported_as_spelt_in_the_query() -> None:
    lexicon = TextAnalyzer()
    there = set(lexicon.content("max WALKED, zoe"))
    terms = lexicon.terms("Does Max enjoy the walks? Walks with Zoë’s")
    found = [word for word, stems in terms.items() if stems & there]
    assert found == ["Max", "walks", "Walks", "Zoë's"]


def test_clear_leaves_no_word_in_ram() -> None:
    lexicon = TextAnalyzer()
    lexicon.content("rhubarb")
    assert b"rhubarb" in held(lexicon)
    lexicon.clear()
    assert b"rhubarb" not in held(lexicon)


def test_a_megabyte_without_a_space_is_cut_and_not_cached() -> None:
    lexicon = TextAnalyzer()
    assert lexicon.content("x" * 1_000_000) == ["x" * LONGEST]
    assert not lexicon._stems
