"""Draw the level of a microphone as a small bar."""

from rich.text import Text

from assistant.events import Phase

METER = 8
"""Default width of the bar in cells."""
QUIET_DBFS, LOUD_DBFS = -60.0, -6.0
EIGHTHS = " ▏▎▍▌▋▊▉"
CLOSED = (Phase.STARTING, Phase.MUTED, Phase.PAUSED, Phase.STOPPED)


def meter(dbfs: float, *, closed: bool = False, cells: int = METER) -> Text:
    """Draw a level as a bar of `cells` cells after the word "mic".

    Args:
        closed: whether the microphone is closed. The result is then "mic closed".
    """
    if closed:
        return Text("mic closed".ljust(cells), style="dim")
    share = (dbfs - QUIET_DBFS) / (LOUD_DBFS - QUIET_DBFS)
    eighths = round(min(max(share, 0.0), 1.0) * cells * 8)
    full, rest = divmod(eighths, 8)
    bar = "█" * full + (EIGHTHS[rest] if rest else "")
    style = "red" if dbfs > LOUD_DBFS else "yellow" if dbfs > -15 else "green"
    return Text.assemble("mic ", (bar, style), ("·" * (cells - len(bar)), "dim"))
