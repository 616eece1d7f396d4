"""The terminal screen: draws `ui.session.state`, and passes on what the user wants."""
