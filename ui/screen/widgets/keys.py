"""Name keys in texts as they are bound now: users can change them in the setting `screen.keys`."""

from collections.abc import Callable

from textual.binding import Keymap
from textual.dom import DOMNode
from textual.keys import format_key
from textual.widget import Widget


class Keys(dict[str, str]):
    """Keys by the ids of their bindings."""

    def __missing__(self, binding: str) -> str:
        return "(no key)"


def keys_of(node: DOMNode) -> Keys:
    """Return the key of each binding of this node and of those that contain it, by its id.

    Keys are written as people read them, e.g. "/" or "ctrl+r". If several are bound, the first is
    returned; "(no key)" if another action has taken the key. A text names a key by the binding's
    id: `"Press {key[voice.type]}."`, formatted with `key=keys_of(self)`.
    """
    # Textual has no public way to read a keymap, or the bindings of a node that lacks the focus.
    keys = Keys()
    for each in node.ancestors_with_self:
        bindings = each._bindings.copy()
        bindings.apply_keymap(node.app._keymap)
        for key, binding in bindings:
            if binding.id is not None:
                keys.setdefault(binding.id, _readable(key))
    return keys


def when_keys_change(widget: Widget, name_keys: Callable[[], object]) -> None:
    """Call `name_keys` now and whenever keys have been changed. The widget must be mounted."""
    named: Keymap | None = None

    def check(_: object = None) -> None:
        nonlocal named
        if named != (chosen := widget.app._keymap):  # the signal is sent for other reasons, too
            named = chosen
            name_keys()

    widget.screen.bindings_updated_signal.subscribe(widget, check)
    check()


def _readable(key: str) -> str:
    *modifiers, last = key.split("+")
    return "+".join((*modifiers, last if last == "enter" else format_key(last)))
