"""The terminal screen: draws `ui.session.state`, and asks its session for what the user wants."""
