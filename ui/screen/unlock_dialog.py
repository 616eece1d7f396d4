"""The dialogs that ask for the passphrase of an encrypted home, and show a new recovery key."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Button, Input, Static

from assistant.errors import SettingsError, StoreLocked
from assistant.paths import Home
from assistant.settings import Settings
from ui.process.console import runnable_hint
from ui.process.threads import run_on_daemon_thread
from ui.screen.widgets.dialogs import Dialog, SetupStep

if TYPE_CHECKING:
    from assistant.encryption import SecretKind, Vault

AGAIN = "Once more"


class Unlocking:
    """Opens the vault of a home. If a secret is required, asks the user for it in `app`."""

    app: App[int]

    def __init__(self, home: Home, settings: Settings) -> None:
        self._home = home
        self._settings = settings
        self.unseen: str | None = None
        """The recovery key of a new home; None once the user has written it down. Never stored."""

    async def __call__(self) -> "Vault":
        """Open the vault, and show its recovery key if the home is new.

        Raises:
            StoreError: the vault can't be opened, for the reasons given in `open_vault`.
            SettingsError: the two new passphrases differ.
        """
        vault = await run_on_daemon_thread(self._open)
        if vault.recovery is not None:
            self.unseen = vault.recovery
            self.app.push_screen(RecoveryStep(vault.recovery), self._seen)
        if vault.told is not None:
            mend = runnable_hint("assistant encryption enable")
            self.app.notify(f"{vault.told} → {mend}", timeout=30, markup=False)
        return vault

    def _seen(self, written_down: bool | None) -> None:
        if written_down:
            self.unseen = None

    def _open(self) -> "Vault":
        from assistant.encryption import open_vault

        def ask(question: "SecretKind") -> str | None:
            asking: Callable[..., Any] = self._ask
            given: str | None = self.app.call_from_thread(asking, question)
            return given

        return open_vault(self._home, self._settings, ask, create=True)

    async def _ask(self, question: "SecretKind") -> str | None:
        """Ask the user for a secret. A new passphrase must be typed twice.

        Raises:
            SettingsError: the two new passphrases differ.
            StoreLocked: the user cancelled, or entered nothing.
        """
        given = await self._asked(question.capitalize())
        if given is None:
            raise StoreLocked(
                f"Without the {question}, your data stays locked; nothing was changed."
            )
        if question == "new passphrase" and await self._asked(AGAIN) != given:
            raise SettingsError("The two passphrases differ; nothing was changed.")
        return given

    async def _asked(self, title: str) -> str | None:
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self.app.push_screen(SecretDialog(title), answer.set_result)
        return await answer


class SecretDialog(Dialog[str | None]):
    """Asks for one hidden line of input. The result is None if the line is empty."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Cancel", id="secret.cancel")
    ]
    HINT = "enter confirms · {key[secret.cancel]} cancels"

    def body(self) -> ComposeResult:
        yield Input(password=True, placeholder="your input is hidden")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value or None)


class RecoveryStep(SetupStep[bool]):
    """Shows the recovery key. The result is whether the user has written it down.

    If the user has not, the recovery key is printed on the terminal when the screen closes.
    """

    AUTO_FOCUS = "#later"
    """The harmless button has the focus, in case a key is pressed by accident."""

    def __init__(self, recovery: str) -> None:
        super().__init__("First steps: the recovery key")
        self._recovery = recovery

    def body(self) -> ComposeResult:
        yield Static(
            "Your data is encrypted. If the key is ever lost, only this recovery key "
            "can unlock your data. Write it down now. If you choose Later, it is printed once "
            "more when the screen closes, and never again after that.",
            markup=False,
        )
        yield Static(f"    {self._recovery[:34]}\n    {self._recovery[35:]}", markup=False)
        written = Button("I have written it down", id="written", variant="primary")
        yield Horizontal(written, Button("Later", id="later"), id="buttons")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "written")

    def action_skip(self) -> None:
        self.dismiss(False)
