"""Turns off libraries' telemetry, before anything imports them.

Everything runs on this machine, and that includes what libraries do by themselves. Libraries read
their switches, which are environment variables, on import. So `switch_off` is called when
`assistant` or `models` is imported: by every process of ours, by scripts and tests, and by anyone
who uses these packages as a library. Child processes inherit the variables. docs/privacy.md lists
what each library would do.
"""

import os

SWITCHES = {
    # onnxruntime's switch has no effect after its import, nor does its own function.
    "ORT_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
RECORDERS = ("PIPECAT_SMART_TURN_LOG_DATA", "PIPECAT_SETUP_FILES", "TEXTUAL_LOG")
"""With these set, pipecat logs what the microphone hears or runs other code, and Textual logs every
key that is pressed."""


def switch_off() -> None:
    """Turn off telemetry in this process and in those it starts from now on."""
    os.environ.update(SWITCHES)
    for variable in RECORDERS:
        os.environ.pop(variable, None)
