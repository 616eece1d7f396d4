"""The terminal screen: draws `ui.state`, and asks a `ui.session` for what its user wants."""
