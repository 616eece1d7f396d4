"""Forms as TOML files: those that are shipped, the user's own, and what is wrong with them."""

import shutil
from pathlib import Path

import pytest

from assistant.errors import SettingsError
from assistant.forms import FormLibrary, SlotType, read_form
from data import located

PARCEL = """
title = "Parcel"
names = ["package"]
[[slots]]
name = "sent_to"
type = "text"
ask = "Whom is it for?"
[[slots]]
name = "weight"
type = "number"
ask = "How heavy is it?"
unit = "kilograms"
required = false
"""


def written(folder: Path, text: str, name: str = "parcel.toml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_the_shipped_forms_are_read(tmp_path: Path) -> None:
    forms = {each.key: each for each in FormLibrary(tmp_path).forms()}
    assert forms.keys() == {"appointment", "medical_intake", "shopping_trip"}
    assert {slot.type for form in forms.values() for slot in form.slots} == set(SlotType)
    assert [each.name for each in forms["medical_intake"].slots if each.past] == ["since", "born"]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("the intake", "medical_intake"),
        ("medical", "medical_intake"),
        ("appointment form", "appointment"),
        ("a meeting", "appointment"),
        ("my shopping", "shopping_trip"),
        ("Shopping trip.", "shopping_trip"),
        ("medical and take", "medical_intake"),
        ("the a point meant form", "appointment"),
        ("the dental intake", None),
        ("the cooking form", None),
        ("my shopping list", None),
        ("the form", None),
        ("tax", None),
        ("", None),
    ],
)
def test_a_form_is_found_by_the_names_that_people_say(
    tmp_path: Path, name: str, key: str | None
) -> None:
    found = FormLibrary(tmp_path).find(name)
    assert (found.key if found else None) == key


def test_a_name_that_fits_several_forms_finds_none(tmp_path: Path) -> None:
    written(tmp_path, PARCEL.replace('"Parcel"', '"Parcel trip"'))
    assert FormLibrary(tmp_path).find("trip") is None
    assert FormLibrary(tmp_path).find("package") is not None


def test_an_own_form_replaces_the_shipped_one_and_a_broken_one_costs_only_itself(
    tmp_path: Path,
) -> None:
    written(tmp_path, PARCEL, "appointment.toml")
    written(tmp_path, "title = ", "medical_intake.toml")
    library = FormLibrary(tmp_path)
    titles = {each.key: each.title for each in library.forms()}
    assert titles["appointment"] == "Parcel"
    assert titles["medical_intake"] == "Medical intake"
    [problem] = library.problems()
    assert "medical_intake.toml can't be read" in str(problem)


def test_a_form_that_is_changed_while_the_assistant_runs_is_read_again(tmp_path: Path) -> None:
    library = FormLibrary(tmp_path)
    file = written(tmp_path, PARCEL)
    assert library.get("parcel") is not None
    written(tmp_path, PARCEL.replace('"Parcel"', '"Big parcel"'))
    changed = library.get("parcel")
    assert changed is not None
    assert changed.title == "Big parcel"
    file.unlink()
    assert library.get("parcel") is None


def test_a_label_is_made_of_the_name_if_none_is_given(tmp_path: Path) -> None:
    form = read_form(written(tmp_path, PARCEL))
    assert [each.label for each in form.slots] == ["sent to", "weight"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('type = "text"', 'type = "words"', "slot `sent_to`: `type` takes text, number, date"),
        ('ask = "How heavy is it?"', "", "slot `weight`: `ask` is missing"),
        ('name = "weight"', 'name = "sent_to"', "there are two slots with the name `sent_to`"),
        ('name = "weight"', 'name = "My weight"', "`name` takes lower-case letters"),
        ('name = "weight"', "", "slot number 2: `name` is missing"),
        ("required = false", 'required = "no"', "slot `weight`: `required` takes true or false"),
        ("required = false", "minimum = 5\nmaximum = 3", "`minimum` is greater than `maximum`"),
        ("required = false", 'minimum = "five"', "`minimum` takes a number, not 'five'"),
        (
            "required = false",
            'choices = ["a", "b"]',
            "only a slot of the type choice has `choices`",
        ),
        ("required = false", "hint = 1", "slot `weight`: there is no key `hint`"),
        ('title = "Parcel"', 'title = " "', "`title`: empty strings are not allowed"),
        ('title = "Parcel"', "", "`title` is missing"),
        ('title = "Parcel"', 'title = "Parcel"\ncolour = "red"', "there is no key `colour`"),
        ('unit = "kilograms"', "unit = 3", "slot `weight`: `unit` takes a string, not 3"),
    ],
)
def test_what_is_wrong_with_a_form_is_said_in_one_sentence(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    file = written(tmp_path, PARCEL.replace(old, new))
    with pytest.raises(SettingsError) as caught:
        read_form(file)
    assert str(caught.value).startswith(f"In the form {file}")
    assert said in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    "text", ["", "slots = 3", "title = 'x'\nslots = []", "\x00", "[[slots]]\n"]
)
def test_a_file_that_is_no_form_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError):
        read_form(written(tmp_path, text))


def test_a_missing_or_huge_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="can't be read"):
        read_form(tmp_path / "none.toml")
    with pytest.raises(SettingsError, match="too large"):
        read_form(written(tmp_path, "#" * 200_000))


def test_the_shipped_forms_pass_as_the_users_own(tmp_path: Path) -> None:
    shutil.copytree(located("forms"), tmp_path, dirs_exist_ok=True)
    assert FormLibrary(tmp_path).problems() == []
