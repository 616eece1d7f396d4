"""Turns off libraries' telemetry, before anything imports them.

Libraries read environment variables on import to decide whether to send telemetry. So `switch_off`
is called when `assistant` or `models` is imported. This covers every process of the assistant,
scripts, tests, and anyone who uses these packages as a library. Child processes inherit the
variables. docs/privacy.md lists what each library would send.
"""

import os

SWITCHES = {
    # Once onnxruntime is imported, neither this variable nor its own function turns telemetry off.
    "ORT_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
RECORDERS = ("PIPECAT_SMART_TURN_LOG_DATA", "PIPECAT_SETUP_FILES", "TEXTUAL_LOG")
"""Variables that make pipecat record the microphone or run other code, or make Textual log every
key that is pressed."""


def switch_off() -> None:
    """Turn off telemetry in this process and in its future child processes."""
    os.environ.update(SWITCHES)
    for variable in RECORDERS:
        os.environ.pop(variable, None)
