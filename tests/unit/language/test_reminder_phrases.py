"""What a reminder is of is read back as part of a sentence."""

import pytest

from assistant.language.reminder_phrases import reminder_of


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        ("call my sister", "to call your sister"),
        ("Call Anna.", "to call Anna"),
        ("to buy milk", "to buy milk"),
        ("the bins", "about the bins"),
        ("my dentist appointment", "about your dentist appointment"),
        ("dentist appointment", "about dentist appointment"),
        ("Grandad's birthday", "about Grandad's birthday"),
        ("dinner with Tom", "about dinner with Tom"),
        ("milk", "about milk"),
        ("exercise", "to exercise"),
        ("that the rent is due", "that the rent is due"),
        ("take my blood pressure tablets", "to take your blood pressure tablets"),
        ("pick up Zara from school", "to pick up Zara from school"),
        ("I need to call my mum", "to call your mum"),
        ("that I have to be at the station", "to be at the station"),
        ("I've got to pay the rent", "to pay the rent"),
        ("we must leave", "to leave"),
        ("we're out of milk", "that you're out of milk"),
        ("she's coming at six", "that she's coming at six"),
        ("there's cake", "that there's cake"),
        ("the car needs fuel", "that the car needs fuel"),
        ("my dentist appointment is at nine", "that your dentist appointment is at nine"),
        ("Anna is coming", "that Anna is coming"),
        ("mum's at the station", "that mum's at the station"),
        ("the things I need for the trip", "about the things you need for the trip"),
        ("the cake for Maureen's leaving do", "about the cake for Maureen's leaving do"),
        ("order groceries", "to order groceries"),
        ("don't forget the keys", "about the keys"),
        ("not to forget to lock the door", "to lock the door"),
        ("don't eat after ten", "not to eat after ten"),
        ("what the doctor said", "about what the doctor said"),
        ("John Smith", "about John Smith"),
        ("Ring Anna", "to ring Anna"),
        ("bring the cake", "to bring the cake"),
        ("pay rent", "to pay rent"),
        ("congratulate Anna", "to congratulate Anna"),
    ],
)
def test_a_reminder_is_read_back_in_the_second_person(words: str, phrase: str) -> None:
    assert reminder_of(words) == phrase
