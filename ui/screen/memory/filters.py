"""The filters that decide which memories the table shows, and the dialog that changes them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from assistant.memory import MemoryKind, MemoryState
from ui.screen.widgets.dialogs import Dialog
from ui.screen.widgets.lists import Listing
from ui.text.terminal_safe import plain

AGES = {"today": 0, "last 7 days": 7, "last 30 days": 30, "last year": 365}
"""Maximum age of memories for each choice, in days before the start of today."""
OLDER = "older than a year"
STATES = {each.value: each.value.replace("-", " ") for each in MemoryState}
ANY = "all"


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of the memory table. A field that is None doesn't filter.

    Attributes:
        user: a user whose memories are shown instead of those of the current user.
    """

    kind: str | None = None
    age: str | None = None
    state: str | None = None
    user: str | None = None

    def request(self, now: datetime) -> dict[str, Any]:
        """Return the filters as fields of a `list`, `grep` or `search` request."""
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        wish: dict[str, Any] = {"kind": self.kind, "state": self.state}
        if self.age == OLDER:
            wish["before"] = (midnight - timedelta(days=AGES["last year"])).isoformat()
        elif self.age is not None:
            wish["since"] = (midnight - timedelta(days=AGES[self.age])).isoformat()
        return {name: value for name, value in wish.items() if value is not None} | self.whose

    @property
    def whose(self) -> dict[str, str]:
        return {"user": self.user} if self.user is not None else {}

    def words(self) -> str:
        """Describe the filters in words; return an empty text if there are none."""
        state = STATES[self.state] if self.state is not None else None
        user = f"of {plain(self.user)}" if self.user is not None else None
        return ", ".join(filter(None, (user, self.kind, self.age, state)))


class FilterDialog(Dialog[Filters | None]):
    """Lets the user change one filter. The result is None if the dialog is closed without a
    choice."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f", "dismiss", "Close", id="dialog.close"),
        Binding("F", "none", "All", id="filters.none"),
    ]
    DEFAULT_CSS = "FilterDialog > .frame { width: 40; max-width: 95%; }"
    HINT = "enter chooses · {key[filters.none]} all · {key[dialog.close]} closes"

    def __init__(self, filters: Filters, users: Sequence[str]) -> None:
        super().__init__("Show")
        self._filters = filters
        self._users = users

    def body(self) -> ComposeResult:
        yield Listing(*self._options())

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        field, _, value = str(event.option_id).partition(":")
        self.dismiss(replace(self._filters, **{field: value or None}))

    def action_none(self) -> None:
        self.dismiss(Filters())

    def _options(self) -> Iterator[Option]:
        choices: list[tuple[str, dict[str, str]]] = [
            ("kind", {kind.value: kind.value for kind in MemoryKind}),
            ("age", {age: age for age in (*AGES, OLDER)}),
            ("state", STATES),
        ]
        if self._users:
            choices.append(("user", {user: plain(user) for user in self._users}))
        for field, values in choices:
            now = getattr(self._filters, field)
            yield Option(Text(field, style="bold"), disabled=True)
            for value, words in {"": ANY if field != "user" else "current user", **values}.items():
                mark = "●" if (now or "") == value else " "
                yield Option(Text(f"  {mark} {words}"), id=f"{field}:{value}")
