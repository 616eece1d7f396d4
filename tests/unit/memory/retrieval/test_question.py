"""The forms of a question that are searched for."""

import pytest

from assistant.language.stemming import TextAnalyzer
from assistant.memory.retrieval.question import Earlier, follows_up, read_question, understood

SPEAKERS = ["Maria", "John", "user", "assistant"]


@pytest.mark.parametrize(
    ("text", "meaning", "words", "speaker"),
    [
        (
            "When did Maria join the choir?",
            "When did I join the choir?",
            "When did join the choir?",
            "Maria",
        ),
        ("What is John's job?", "What is my job?", "What is job?", "John"),
        ("What is John’s job?", "What is my job?", "What is job?", "John"),
        ("Where did Mar go?", "Where did I go?", "Where did go?", "Maria"),
        (
            "What did Maria and John paint?",
            "What did we paint?",
            "What did and paint?",
            None,
        ),
        (
            "What does John think of Maria's plan?",
            "What does I think of your plan?",
            "What does think of plan?",
            None,
        ),
        ("What did Johnson say?", "What did Johnson say?", "What did Johnson say?", None),
        ("Who is the mayor?", "Who is the mayor?", "Who is the mayor?", None),
        ("Maria?", "I?", "Maria?", "Maria"),
        ("", "", "", None),
    ],
)
def test_speakers_are_recognised_by_name(
    text: str, meaning: str, words: str, speaker: str | None
) -> None:
    question = read_question(text, SPEAKERS)
    assert (question.text, question.meaning) == (text, meaning)
    assert (question.words, question.speaker) == (words, speaker)


@pytest.mark.parametrize(
    ("text", "speaker"),
    [
        ("What does my dog like?", "user"),
        ("Can you tell me when I move?", "user"),
        ("What did you recommend to me?", "assistant"),
        ("Remind me what you wrote about the garden.", "assistant"),
        ("What was your suggestion for dinner?", "assistant"),
        ("Which film were you just recommending?", "assistant"),
        ("Did you know that my sister is called Anna?", "user"),
        ("Did you remember where I parked?", "user"),
        ("Have you got my sister's number?", "user"),
        ("The film that you suggested, what was it called?", "assistant"),
        ("Who won the cup?", None),
    ],
)
def test_the_user_and_the_assistant_are_recognised_by_pronouns(
    text: str, speaker: str | None
) -> None:
    question = read_question(text, SPEAKERS)
    assert question.speaker == speaker
    assert question.meaning == question.words == text


def test_the_first_word_is_not_taken_for_a_nickname() -> None:
    assert read_question("The boat, where is it?", ["Theo", "Ann"]).speaker is None
    assert read_question("Where did The go?", ["Theo", "Ann"]).speaker == "Theo"


def test_part_of_a_name_identifies_the_speaker_unless_it_is_ambiguous() -> None:
    assert read_question("When did Ann move?", ["Ann Lee", "Bob Lee"]).speaker == "Ann Lee"
    assert read_question("When did Lee move?", ["Ann Lee", "Bob Lee"]).speaker is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("And when is it?", True),
        ("What does he like?", True),
        ("how many?", True),
        ("What about Ellen's?", True),
        ("So who fixes that?", True),
        ("What was the trick?", True),
        ("¿Y cuándo?", True),
        ("What's the capital of Peru?", False),
        ("Where does Theo keep his racket?", False),
        ("And where does Theo go to school?", True),
        ("Which herb do I hate?", False),
        ("Why does my wife want fresh air on the road?", False),
        ("It is raining and I have to walk the dog to the vet", False),
    ],
)
def test_follow_ups_are_recognised(text: str, expected: bool) -> None:
    assert follows_up(text, TextAnalyzer("en").content(text)) is expected


def test_the_query_of_a_follow_up_includes_the_end_of_the_previous_words() -> None:
    question = read_question("And when?", ["user"])
    found = understood(question, Earlier("x" * 1_000_000 + " my exam"))
    assert found.words.endswith("x my exam And when?")
    assert len(found.words) < 500
    assert (found.text, found.meaning) == (
        question.text,
        question.meaning,
    )
