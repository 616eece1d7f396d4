"""What a form asks for, and where forms come from.

A form is a TOML file. The key of the form is the file's name without its ending.

title = "Appointment"
names = ["meeting"]              # other names by which the user may ask for it

[[slots]]
name = "minutes"                 # lower case, digits and underscores
type = "number"                  # text, number, date, time, choice, bool or list
ask = "How many minutes will it take?"
label = "length"                 # what it is called; default: the name
required = false                 # default: true
cues = ["hour", "long"]          # other words for it
choices = ["short", "long"]      # for choices
unit = "minutes"                 # for numbers, like the next two
minimum = 1
maximum = 90
past = true                      # for dates: the date lies in the past
year = true                      # for dates: the year is required, as in a date of birth
"""

import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    field_validator,
    model_validator,
)
from rapidfuzz.distance.Indel import normalized_similarity

from assistant.errors import SettingsError
from data import located

LONGEST_NAME = 40
LONGEST_QUESTION = 200
MOST_SLOTS = 60
MOST_BYTES = 100_000
"""Maximum size of a file. A larger one is not read as a form."""
_TAKES = {
    "string_type": "a string",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a number",
    "tuple_type": "a list",
    "string_too_short": "a string that isn't empty",
    "string_too_long": "a shorter string",
}
"""pydantic's name for an error → what the key takes."""


class SlotType(StrEnum):
    """What kind of value a slot takes."""

    TEXT = "text"
    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    CHOICE = "choice"
    BOOL = "bool"
    LIST = "list"


_ONLY: Mapping[str, SlotType] = {
    "choices": SlotType.CHOICE,
    "unit": SlotType.NUMBER,
    "minimum": SlotType.NUMBER,
    "maximum": SlotType.NUMBER,
    "past": SlotType.DATE,
    "year": SlotType.DATE,
}
"""Keys that only slots of one type have."""

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class _Checked(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="after")
    @classmethod
    def _one_line(cls, value: Any) -> Any:
        """Put each text on one line, because it is spoken, and becomes part of a line of the
        prompt."""
        if isinstance(value, str) and not isinstance(value, StrEnum):
            return _line(value)
        if isinstance(value, tuple) and all(isinstance(each, str) for each in value):
            return tuple(map(_line, value))
        return value


class Slot(_Checked):
    """One thing that a form asks for."""

    name: Annotated[Name, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    type: SlotType
    ask: Annotated[str, Field(min_length=1, max_length=LONGEST_QUESTION)]
    """The question that asks for it."""
    label: Name
    """What it is called when the form is read or shown."""
    required: StrictBool = True
    choices: tuple[Name, ...] = ()
    unit: Annotated[str, Field(max_length=LONGEST_NAME)] = ""
    minimum: Number | None = None
    maximum: Number | None = None
    past: StrictBool = False
    """Whether a date without a year lies in the past."""
    year: StrictBool = False
    """Whether a date needs its year, as a date of birth does."""
    cues: tuple[Name, ...] = ()
    """Other words for it, besides its label. The model that fills in forms reads them, too."""

    @model_validator(mode="before")
    @classmethod
    def _labelled(cls, data: Any) -> Any:
        name = data.get("name") if isinstance(data, Mapping) else None
        return {"label": name.replace("_", " "), **data} if isinstance(name, str) else data

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for key, owner in _ONLY.items():
            if self.type is not owner and key in self.model_fields_set:
                raise ValueError(f"only a slot of the type {owner} has `{key}`")
        if self.type is SlotType.CHOICE and len(self.choices) < 2:
            raise ValueError("`choices` needs at least two entries")
        if len({each.casefold() for each in self.choices}) < len(self.choices):
            raise ValueError("`choices` contains the same entry twice")
        low, high = self.minimum, self.maximum
        if low is not None and high is not None and low > high:
            raise ValueError("`minimum` is greater than `maximum`")
        return self


class Form(_Checked):
    """What is asked for, and in what order."""

    key: Name
    """The name of its file, without the ending."""
    title: Name
    names: tuple[Name, ...] = ()
    """Other names by which the user may ask for it."""
    slots: Annotated[tuple[Slot, ...], Field(min_length=1, max_length=MOST_SLOTS)]

    @model_validator(mode="after")
    def _unique(self) -> Self:
        names = [each.name for each in self.slots]
        twice = next((each for each in names if names.count(each) > 1), None)
        if twice is not None:
            raise ValueError(f"there are two slots with the name `{twice}`")
        return self

    def slot(self, name: str) -> Slot | None:
        return next((each for each in self.slots if each.name == name), None)


def read_form(file: Path) -> Form:
    """Read and check a form.

    Raises:
        SettingsError: the file can't be read, or is not a valid form.
    """
    try:
        if file.stat().st_size > MOST_BYTES:
            raise SettingsError(f"{file} is too large to be a form.")
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"The form {file} can't be read: {error}.") from error
    try:
        return Form.model_validate({**data, "key": file.stem})
    except ValidationError as error:
        raise _explained(error, file, data) from error


class FormLibrary:
    """The forms that ship with the project, and the user's own. A form of the user's own replaces a
    shipped form with the same key.

    All methods read files, and so block for a few milliseconds. A file is read again only if it has
    changed.

    Args:
        folder: the user's own forms; it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, tuple[tuple[int, int], Form | SettingsError]] = {}

    def forms(self) -> list[Form]:
        """Return all usable forms. The shipped ones, or their replacements, come first."""
        found = [*self._forms(located("forms")), *self._forms(self._folder)]
        return list({each.key: each for each in found if isinstance(each, Form)}.values())

    def problems(self) -> list[SettingsError]:
        """Return what is wrong with the user's own files."""
        return [each for each in self._forms(self._folder) if isinstance(each, SettingsError)]

    def get(self, key: str) -> Form | None:
        return next((each for each in self.forms() if each.key == key), None)

    def find(self, name: str) -> Form | None:
        """Return the form that the user means by this name ("the intake", "appointment form",
        "medical"), even if it was misheard ("medical and take"). Return None if no form, or more
        than one, could be meant."""
        wanted = _words(name)
        if not wanted:
            return None
        forms = self.forms()
        called = {
            each.key: [_words(name) for name in (each.key, each.title, *each.names)]
            for each in forms
        }
        same = [each for each in forms if wanted in called[each.key]]
        part = [each for each in forms if any(wanted <= name for name in called[each.key])]
        found = same or part or [each for each in forms if _sounds_like(name, each)]
        return found[0] if len(found) == 1 else None

    def _forms(self, folder: Path) -> list[Form | SettingsError]:
        try:
            files = sorted(folder.glob("*.toml"))
        except OSError:
            files = []
        return [self._form(each) for each in files]

    def _form(self, file: Path) -> Form | SettingsError:
        try:
            state = file.stat()
            version = (state.st_mtime_ns, state.st_size)
        except OSError as error:
            return SettingsError(f"The form {file} can't be read: {error}.")
        if file not in self._read or self._read[file][0] != version:
            try:
                made: Form | SettingsError = read_form(file)
            except SettingsError as error:
                made = error
            self._read[file] = (version, made)
        return self._read[file][1]


_LESS = frozenset({"a", "an", "the", "my", "our", "new", "this", "that", "form", "please", "for"})
"""Words of a name that don't help to identify the form."""


MISHEARD, LEAST_MISHEARD = 0.85, 10
"""Words count as a misheard name if their similarity to it (0 to 1) is at least `MISHEARD`, and the
name has at least `LEAST_MISHEARD` letters. Short names resemble other words: "booking",
"looking"."""


def _words(name: str) -> frozenset[str]:
    return frozenset(_spoken(name))


def _spoken(name: str) -> list[str]:
    said = re.findall(r"[^\W_]+", name.casefold().replace("'s", ""))
    return [each.removesuffix("s") for each in said if each not in _LESS]


def _sounds_like(heard: str, form: Form) -> bool:
    """Compare letters only: speech recognition also misplaces the spaces between words."""
    letters = "".join(_spoken(heard))
    names = ("".join(_spoken(name)) for name in (form.key, form.title, *form.names))
    long = (name for name in names if len(name) >= LEAST_MISHEARD)
    return any(normalized_similarity(letters, name) >= MISHEARD for name in long)


def _line(text: str) -> str:
    plain = " ".join(text.split())
    if not plain:
        raise ValueError("empty strings are not allowed")
    return plain


def _explained(error: ValidationError, file: Path, data: Mapping[str, Any]) -> SettingsError:
    """Say in one sentence which slot is wrong, and how."""
    first = error.errors()[0]
    place = list(first["loc"])
    where = f"In the form {file}"
    slots = data.get("slots")
    if place[:1] == ["slots"] and len(place) > 1 and isinstance(slots, list):
        at = int(place[1])
        slot = slots[at] if at < len(slots) else None
        name = slot.get("name") if isinstance(slot, Mapping) else None
        where += f", slot {f'`{name}`' if isinstance(name, str) else f'number {at + 1}'}"
        place = place[2:]
    mend = "assistant forms check FILE"
    return SettingsError(f"{where}: {_wrong(first, place)}.", mend=mend)


def _wrong(error: Mapping[str, Any], place: list[int | str]) -> str:
    key, kind = str(place[0]) if place else "", error["type"]
    if kind == "value_error":
        said = str(error["msg"]).removeprefix("Value error, ")
        return f"`{key}`: {said}" if key else said
    if kind == "missing":
        return f"`{key}` is missing"
    if kind == "extra_forbidden":
        return f"there is no key `{key}`"
    if kind == "string_pattern_mismatch":
        return f"`{key}` takes lower-case letters, digits and underscores, not {error['input']!r}"
    if kind == "enum":
        return f"`{key}` takes {', '.join(SlotType)}, not {error['input']!r}"
    if kind in ("too_short", "too_long"):
        wrong = "needs at least one entry" if kind == "too_short" else "has too many entries"
        return f"`{key}` {wrong}"
    takes = _TAKES.get(kind, "something else")
    return f"`{key}` takes {takes}, not {error['input']!r:.60}" if key else "it is not a table"
