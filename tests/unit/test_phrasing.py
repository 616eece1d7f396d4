import pytest

from assistant.voice.turns.semantic_endpointing import Completeness, completeness_of


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("What time is it?", Completeness.FINISHED),
        ("Tell me a joke.", Completeness.FINISHED),
        ("I am going to Paris.", Completeness.FINISHED),
        ("Who is it from?", Completeness.FINISHED),
        ("What is my dog called?", Completeness.FINISHED),
        ("Is it your?", Completeness.DANGLING),
        ("To be or not to be, that is the question.", Completeness.FINISHED),
        ("If it rains, take an umbrella.", Completeness.FINISHED),
        ("To me it looks fine.", Completeness.FINISHED),
        ("stop", Completeness.OPEN),
        ("H-O-B-A-R-T", Completeness.OPEN),
        ("1 5 2 0 7", Completeness.OPEN),
        ("My dog is called.", Completeness.DANGLING),
        ("Remind me to", Completeness.DANGLING),
        ("I was talking to my", Completeness.DANGLING),
        ("Please enter the first...", Completeness.DANGLING),
        ("to lock or unlock the door.", Completeness.DANGLING),
        ("If it rains tomorrow", Completeness.DANGLING),
        ("I like apples and.", Completeness.DANGLING),
        ("We need milk, eggs,", Completeness.DANGLING),
        ("", Completeness.OPEN),
    ],
)
def test_words_sound_finished_open_or_dangling(text: str, phrase: Completeness) -> None:
    assert completeness_of(text) is phrase


def test_in_other_languages_only_the_punctuation_counts() -> None:
    assert completeness_of("Ich gehe in the.", "de") is Completeness.FINISHED
    assert completeness_of("Ich gehe,", "de") is Completeness.DANGLING
