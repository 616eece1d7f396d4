"""The terminal screen: draws `ui.session.state`, and passes on the user's commands."""
