import pytest

from assistant.voice.phrasing import Phrase, phrase_of


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("What time is it?", Phrase.FINISHED),
        ("Tell me a joke.", Phrase.FINISHED),
        ("I am going to Paris.", Phrase.FINISHED),
        ("Who is it from?", Phrase.FINISHED),
        ("What is my dog called?", Phrase.FINISHED),
        ("Is it your?", Phrase.DANGLING),
        ("To be or not to be, that is the question.", Phrase.FINISHED),
        ("If it rains, take an umbrella.", Phrase.FINISHED),
        ("To me it looks fine.", Phrase.FINISHED),
        ("stop", Phrase.OPEN),
        ("H-O-B-A-R-T", Phrase.OPEN),
        ("1 5 2 0 7", Phrase.OPEN),
        ("My dog is called.", Phrase.DANGLING),
        ("Remind me to", Phrase.DANGLING),
        ("I was talking to my", Phrase.DANGLING),
        ("Please enter the first...", Phrase.DANGLING),
        ("to lock or unlock the door.", Phrase.DANGLING),
        ("If it rains tomorrow", Phrase.DANGLING),
        ("I like apples and.", Phrase.DANGLING),
        ("We need milk, eggs,", Phrase.DANGLING),
        ("", Phrase.OPEN),
    ],
)
def test_words_sound_finished_open_or_dangling(text: str, phrase: Phrase) -> None:
    assert phrase_of(text) is phrase


def test_in_other_languages_only_the_punctuation_counts() -> None:
    assert phrase_of("Ich gehe in the.", "de") is Phrase.FINISHED
    assert phrase_of("Ich gehe,", "de") is Phrase.DANGLING
