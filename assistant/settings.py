"""All settings, with their defaults and meanings.

They come from the defaults below, a TOML file in the data folder (`settings.toml`), the environment
(`ASSISTANT_SECTION__NAME`) and the command line's flags. Later sources override earlier ones.
`load` also reports where each value came from, for `assistant config`.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assistant.errors import SettingsError
from assistant.settings_errors import ENVIRONMENT_PREFIX, explained
from assistant.tool_server_settings import ToolServer

RESERVED = frozenset({"ASSISTANT_HOME", "ASSISTANT_MODELS_CACHE"})

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(gt=0)]
Days = Annotated[int, Field(ge=0, le=36_500)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class General(Section):
    profile: Literal["tiny", "small", "default"] = "default"
    """Which models to use: `tiny`, `small` or `default` (chosen for this machine)."""
    user: str = "me"
    """The user's name. One user's memories are never shown to another."""
    sounds: bool = True
    """Play a soft sound when your turn has ended and the answer isn't ready yet, and every two
    seconds until it is."""


class Persona(Section):
    name: str = "Ada"
    """The assistant's name."""
    instructions: str = ""
    """Your own instructions for how the assistant should behave; added after the built-in ones."""
    language: str = "en"
    """Language to hear and speak, as an ISO 639-1 code; `auto` lets Whisper detect it."""


class Stt(Section):
    model: str | None = None
    """A name in the catalogue, or a folder with a CTranslate2 Whisper model; default: the
    profile's."""
    partials: bool = True
    """Transcribe your words while you are still speaking, as far as the machine has time. They are
    shown at once, and the language model reads them ahead, so that less is left to read when you
    have finished. Even if this is off, interruptions are detected from partial transcripts."""


class Llm(Section):
    engine: Literal["auto", "llama.cpp", "mlx", "openai"] = "auto"
    """`auto` uses `endpoint` if it is set, otherwise the engine that the model needs."""
    model: str | None = None
    """A name in the catalogue, a GGUF file, an MLX repository, or the endpoint's model name."""
    endpoint: str | None = None
    """Base URL of an OpenAI-compatible server, such as http://127.0.0.1:11434/v1."""
    api_key: str | None = None
    """Sent to the endpoint as a bearer token, if it needs one."""
    context_tokens: Count = 8192
    """Context window, in tokens; capped at the model's own."""
    max_answer_tokens: Count = 220
    """Longest answer, in tokens."""
    temperature: NonNegative = 0.3
    threads: int | None = Field(default=None, gt=0)
    """CPU threads for generation; default: one fewer than there are cores."""
    timeout_s: Positive = 30
    """Seconds to wait for the first token before apologising and abandoning the turn."""


class Tts(Section):
    model: str | None = None
    """Piper voice: a name in the catalogue, or a path to an .onnx file; default: the profile's."""
    speed: Annotated[float, Field(ge=0.5, le=2.0)] = 1.0
    """Speed of speech: 1.0 is the voice's own pace, 1.5 is 50 % faster."""


class Audio(Section):
    input_device: str | None = None
    """Part of the microphone's name, or its number; default: the system's microphone."""
    output_device: str | None = None
    """Part of the loudspeaker's name, or its number; default: the system's loudspeaker."""
    echo: Literal["cancel", "half-duplex", "off"] = "cancel"
    """`cancel` removes the assistant's own voice from the microphone's signal; `half-duplex` closes
    the microphone while the assistant speaks; `off` suits headphones."""
    push_to_talk: bool = False
    """Listen only while you hold the talk key or have switched the microphone on."""


class Turn(Section):
    vad_confidence: Fraction = 0.6
    """Probability of voice above which a 32 ms window counts as speech."""
    start_s: Positive = 0.16
    """Seconds of speech that begin a turn."""
    hint_s: Positive = 0.032
    """Seconds of silence after which your words are transcribed, and after which it is first
    checked whether your turn has ended."""
    patience: Annotated[float, Field(ge=0.25, le=4.0)] = 1.0
    """Factor for how long you may pause in the middle of what you say. At 2, the assistant waits
    longer and cuts you off less often; at 0.5, it waits less long if it isn't sure."""
    max_turn_s: Positive = 300
    """Seconds after which a turn is answered even if you are still speaking."""
    wake_phrase: str = ""
    """If set, speech counts only if it begins with this phrase or follows an answer."""
    follow_up_s: NonNegative = 8
    """Seconds after an answer during which no wake phrase is needed."""
    duck: Fraction = 0.25
    """Volume of the voice while it isn't clear whether you are interrupting it, as a fraction of
    its full volume."""


class Context(Section):
    max_context_tokens: Count = 8000
    """Tokens above which the older part of the conversation is summarized; lower if the model's
    window is smaller."""
    max_unsummarized_messages: Count = 20
    """Number of messages above which older ones are summarized, however few tokens they have."""
    target_context_tokens: Count = 6000
    """Maximum number of tokens that the conversation has once it has been summarized."""
    keep_last_messages: Count = 4
    """Number of newest messages that a summary never replaces."""
    keep_important_tokens: Annotated[int, Field(ge=0, le=4_000)] = 0
    """Maximum number of tokens of important older exchanges, which stay in the prompt beside their
    summary: lasting wishes, exchanges that you pinned, sources of facts, and exchanges that are
    used often. 0 keeps none."""
    max_turns: int | None = Field(default=None, gt=0)
    """Maximum number of turns kept in the prompt; default: limited only by tokens."""
    summary_prompt: str = ""
    """Your own instructions for summarizing; default: the built-in ones."""
    resume_within_h: NonNegative = 4
    """Hours within which a restarted assistant continues the conversation where it stopped."""


class Transcript(Section):
    keep_days: Positive | None = None
    """Days after which a conversation is deleted from the transcript; memories of it stay.
    Default: it is kept for ever."""


class Memory(Section):
    enabled: bool = True
    """Keep what is said in a long-term memory, and recall it when it is relevant."""
    store: str | None = None
    """Where memories are kept: a folder, or an object store such as s3://bucket/path, which
    several machines may share. Its credentials come from the usual environment variables
    (AWS_ACCESS_KEY_ID, …). Default: the folder `memories` in your data folder."""
    deadline_ms: Positive = 10
    """Milliseconds that a recall may take; after that the turn goes on with what has been found."""
    typed_deadline_ms: Positive = 30
    """`deadline_ms` for typed turns, for which a recall can't be prepared before you send them. If
    it is less than `deadline_ms`, `deadline_ms` is used."""
    encoder: str | None = None
    """Name of the only sentence encoder to use; default: the profile's, plus a faster one for when
    the profile's is late."""
    max_tokens: Count = 800
    """Maximum number of tokens of a prompt that memories may take up."""
    least_score: Annotated[float, Field(ge=0)] = 0.5
    """Memories with a lower score stay out of the prompt, because each takes time to read and can
    mislead the model. For questions about your own life, a model judges instead which memories
    answer them. Up to 3 % of the memories that answer a question score below 0.5, and so do a
    third to three quarters of those found for small talk. 0 includes all that fit."""
    profile_tokens: Annotated[int, Field(ge=0)] = 120
    """Maximum number of tokens for what prompts say about you: your name and what you pinned."""
    prefill_ms: Positive = 300
    """Milliseconds that the model may spend reading memories. The best three memories for a
    question, and the best one for any other turn, are included even if they take longer."""
    hot_rows: Annotated[int, Field(ge=0, le=10_000)] = 200
    """How many memories keep exact vectors: the newest, most important and most used ones. Every
    further 1,000 take 1.5 MB and add a tenth of a millisecond to each recall."""
    warm_rows: Annotated[int, Field(ge=0, le=10_000)] = 500
    """How many further memories are also compared with every question, by 8-bit vectors. All others
    are compared only if a rough comparison (one bit per dimension) suggests a match."""
    ageing_s: Positive = 300
    """How often, in seconds, the memories for `hot_rows` and `warm_rows` are selected anew."""
    duplicate_cosine: Fraction = 0.92
    """If something you say has at least this cosine similarity to an existing memory and adds
    nothing new, it refreshes that memory instead of becoming another; 1 merges nothing."""
    expire_exchange_days: Days = 365
    """Days after which an unimportant statement is dropped from memory (not from the transcript),
    counted from when it was last said or used. By default, only what the assistant said is
    unimportant enough. 0 keeps statements for ever, here and in the next three settings. Pinned
    memories never expire."""
    expire_event_days: Days = 0
    """`expire_exchange_days` for events extracted from what you said."""
    expire_summary_days: Days = 0
    """`expire_exchange_days` for summaries."""
    expire_fact_days: Days = 0
    """`expire_exchange_days` for facts, preferences and your profile, which stay true until you say
    otherwise. Memories that you add yourself never expire."""
    expire_below_importance: Fraction = 0.3
    """Only memories below this importance expire. Your words start at 0.5, the assistant's at
    0.2."""


class Forget(Section):
    grace_s: Annotated[float, Field(ge=0)] = 60
    """Seconds in which "undo that", or `assistant memory undo`, brings back what was forgotten,
    even after a restart; then it is gone for good. 0 allows no undo."""


class Idle(Section):
    enabled: bool = True
    """While nobody speaks, work on the memory and measure the language model's speed. The first
    sound of a voice stops this."""
    every_s: Positive = 30
    """Seconds of quiet before idle work starts, and between two jobs."""
    batch: Annotated[int, Field(gt=0, le=1_000)] = 10
    """Exchanges or conversations per job."""
    on_battery: Literal["light", "all", "nothing"] = "light"
    """What runs on battery: only light work, all of it, or nothing."""
    max_load: Fraction = 0.6
    """If other programs use more than this share of all cores, only light work runs; 1 ignores
    other programs."""
    extract: Literal["off", "rules", "model"] = "off"
    """Extract facts, preferences and events from what you say (English only). `rules` keeps all
    that the rules find; `model` keeps only those that the language model then confirms."""
    importance: Literal["off", "on"] = "off"
    """Let memories gain importance when they are used, pinned, rated good or said again, and lose
    it when no question needs them; it never falls below the importance you set."""
    summarise: Literal["off", "rules", "model"] = "off"
    """Summarise what you said in each stretch of a conversation (English only), for questions like
    "what did we talk about last week?". With `rules`, the summary consists of sentences built by
    rules; with `model`, the language model shortens them."""
    summarise_turns: Annotated[int, Field(ge=4, le=100)] = 12
    """Turns per stretch that is summarised."""
    consolidate: Literal["off", "on"] = "off"
    """Compare what you said with older memories about the same thing (English only). Repetitions
    are merged, and a statement that changes an older one replaces it. This happens only if the
    rules allow it and, in doubtful cases, the language model agrees. `assistant memory split`
    undoes a merge or a replacement."""
    describe: Literal["off", "on"] = "off"
    """Have the language model describe what you said (English only), so that it is found more
    easily by its meaning. The description's words are neither searched nor shown."""
    expand: Literal["off", "on"] = "off"
    """Like `describe`, but with questions that your words answer."""


class Screen(Section):
    theme: str = "ansi-dark"
    """Colours of the screen; `ansi-dark` and `ansi-light` are the terminal's own."""
    keys: dict[str, str] = {}
    """Other keys for the screen's actions, by the action's name: `{ "voice.mute" = "m" }`. Separate
    several keys with commas."""


class Encryption(Section):
    mode: Literal["auto", "keyring", "passphrase", "off"] = "auto"
    """What protects the key of a new data folder: the system's keyring or a passphrase. `auto` uses
    the keyring if there is one. `off` leaves the folder unencrypted. `assistant encryption`
    converts an existing data folder."""


class Settings(Section):
    """All settings; the sections are the TOML file's tables."""

    general: General = General()
    persona: Persona = Persona()
    stt: Stt = Stt()
    llm: Llm = Llm()
    tts: Tts = Tts()
    audio: Audio = Audio()
    turn: Turn = Turn()
    context: Context = Context()
    transcript: Transcript = Transcript()
    memory: Memory = Memory()
    forget: Forget = Forget()
    idle: Idle = Idle()
    screen: Screen = Screen()
    encryption: Encryption = Encryption()
    mcp: Mapping[str, ToolServer] = {}
    """Programs that offer tools (MCP servers), by the names that you give them."""


RETIRED = frozenset({"turn.stop_s", "turn.doubtful_wait_s", "turn.incomplete_wait_s"})
"""Settings of earlier versions. In the settings file or the environment, they have no effect, so
that an old file can still be used."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, and the source of each: `section.name` → `default`, the file's path, the
    environment variable or `flag`. `retired` are the settings of earlier versions that have no
    effect, with their sources."""

    settings: Settings
    sources: Mapping[str, str]
    retired: Mapping[str, str] = field(default_factory=dict)


def load(
    file: Path,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Loaded:
    """Read the settings from all their sources.

    Args:
        file: the TOML file; may be absent.
        environment: the environment variables; default: `os.environ`.
        flags: `section.name` → value, from the command line; None values are left out.

    Raises:
        SettingsError: a source can't be read, or a setting is unknown or out of range.
    """
    layers: list[tuple[str, str, Any]] = _from_file(file)
    layers += _from_environment(os.environ if environment is None else environment)
    layers += [(key, "flag", value) for key, value in (flags or {}).items() if value is not None]
    tree: dict[str, dict[str, Any]] = {}
    sources = dict.fromkeys(_all_keys(), "default")
    retired: dict[str, str] = {}
    for key, source, value in layers:
        if key in RETIRED and source != "flag":
            retired[key] = source
            continue
        section, _, name = key.partition(".")
        tree.setdefault(section, {})[name] = value
        sources[key] = source
    try:
        settings = Settings.model_validate(tree)
    except ValidationError as error:
        raise explained(error, sources) from error
    return Loaded(settings, sources, retired)


def _all_keys() -> list[str]:
    return [
        f"{section}.{name}"
        for section, value in Settings()
        if isinstance(value, Section)
        for name in type(value).model_fields
    ]


def _from_file(file: Path) -> list[tuple[str, str, Any]]:
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"The settings file {file} can't be read: {error}.") from error
    rows: list[tuple[str, str, Any]] = []
    for section, values in tables.items():
        if not isinstance(values, dict):
            raise SettingsError(f"In {file}, `{section}` is outside of any [section].")
        rows += [(f"{section}.{name}", str(file), value) for name, value in values.items()]
    return rows


def _from_environment(environment: Mapping[str, str]) -> list[tuple[str, str, Any]]:
    rows: list[tuple[str, str, Any]] = []
    for variable, value in sorted(environment.items()):
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable in RESERVED:
            continue
        section, separator, name = variable[len(ENVIRONMENT_PREFIX) :].lower().partition("__")
        if separator:
            rows.append((f"{section}.{name}", variable, value))
    return rows
