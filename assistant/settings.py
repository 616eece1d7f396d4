"""All settings, with their defaults and what they mean.

They come, weakest first, from the defaults below, one TOML file in the home folder
(`settings.toml`), the environment (`ASSISTANT_SECTION__NAME`) and the command line's flags.
`load` also says where each value came from, for `assistant config`.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assistant.errors import SettingsError

ENVIRONMENT_PREFIX = "ASSISTANT_"
RESERVED = frozenset({"ASSISTANT_HOME", "ASSISTANT_MODELS_CACHE"})

TAKEN = {
    "int": "a whole number",
    "int_from_float": "a whole number",
    "float": "a number",
    "finite_number": "a number",
    "bool": "true or false",
    "string": "a text",
    "dict": "a table",
    "model": "a table",
    "list": "a list",
    "tuple": "a list",
}
"""By what pydantic calls the error."""

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
    """Whose conversation it is; memories of one user are never shown to another."""
    sounds: bool = True
    """A soft sound tells that the end of your turn was heard."""


class Persona(Section):
    name: str = "Ada"
    """How the assistant calls itself."""
    instructions: str = ""
    """Your own words for how it should behave; they follow the built-in ones."""
    language: str = "en"
    """Language spoken and heard, as an ISO 639-1 code; `auto` lets Whisper detect it."""


class Stt(Section):
    model: str | None = None
    """Name in the catalogue, or a folder with a CTranslate2 Whisper; default: the profile's."""
    partials: bool = False
    """Show words while you still speak. Costs a little latency; interruptions are always judged by
    them."""


class Llm(Section):
    engine: Literal["auto", "llama.cpp", "mlx", "openai"] = "auto"
    """`auto` follows the profile, or what `model` names."""
    model: str | None = None
    """Name in the catalogue, path of a GGUF file, MLX repository, or the endpoint's model name."""
    endpoint: str | None = None
    """Base URL of an OpenAI-compatible server, such as http://127.0.0.1:11434/v1."""
    api_key: str | None = None
    """Sent to the endpoint as a bearer token, where it wants one."""
    context_tokens: Count = 8192
    """Window of the conversation in the model; smaller where the model's own is."""
    max_answer_tokens: Count = 220
    """Longest answer, in tokens."""
    temperature: NonNegative = 0.3
    threads: int | None = Field(default=None, gt=0)
    """CPU threads for generation; default: one fewer than there are cores."""
    timeout_s: Positive = 30
    """How long to wait for the first token before giving the turn up with an apology."""


class Tts(Section):
    model: str | None = None
    """Piper voice: a name in the catalogue, or the path of an .onnx file."""
    speed: Annotated[float, Field(ge=0.5, le=2.0)] = 1.0
    """1.0 is the voice's own pace; 1.5 half as fast again."""


class Audio(Section):
    input_device: str | None = None
    """Part of the microphone's name, or its number; default: the system's."""
    output_device: str | None = None
    """Part of the loudspeaker's name, or its number; default: the system's."""
    echo: Literal["cancel", "half-duplex", "off"] = "cancel"
    """`cancel` removes the assistant's own voice from the microphone; `half-duplex` closes the
    microphone while it speaks; `off` suits headphones."""
    push_to_talk: bool = False
    """Listen only while you hold or switch the microphone open."""


class Turn(Section):
    vad_confidence: Fraction = 0.6
    """Voice probability above which a 32 ms window counts as speech."""
    start_s: Positive = 0.16
    """Speech this long begins a turn."""
    hint_s: Positive = 0.032
    """Silence this long starts the transcription and the turn detector, ahead of the decision."""
    stop_s: Positive = 0.35
    """Silence that ends a turn which is finished both by its sound and by its words; the answer is
    prepared meanwhile."""
    doubtful_wait_s: Positive = 1.6
    """Silence that ends a turn which is finished by its sound or by its words, but not by both."""
    incomplete_wait_s: Positive = 3.0
    """Silence after an unfinished phrase until it is taken as complete."""
    max_turn_s: Positive = 300
    """A turn without a pause is answered after this long."""
    wake_phrase: str = ""
    """When set, only speech that begins with it, or that follows an answer, counts."""
    follow_up_s: NonNegative = 8
    """Seconds after an answer in which speech needs no wake phrase."""
    duck: Fraction = 0.25
    """Loudness of the voice while it judges whether you want to interrupt."""


class Context(Section):
    max_context_tokens: Count = 8000
    """Above this the older conversation is summarized; smaller where the model's window is."""
    max_unsummarized_messages: Count = 20
    """Or above this many messages, whichever comes first."""
    target_context_tokens: Count = 6000
    """What a summary brings the conversation down to, at most."""
    keep_last_messages: Count = 4
    """Messages that a summary never replaces."""
    keep_important_tokens: Annotated[int, Field(ge=0, le=4_000)] = 0
    """Tokens in which older exchanges stay in view beside their summary, because they matter:
    wishes that are to last, what you pinned, facts, what comes up often. 0 keeps none."""
    max_turns: int | None = Field(default=None, gt=0)
    """Window in turns; default: by tokens alone."""
    summary_prompt: str = ""
    """Your own words for how to summarize; default: the built-in ones."""
    resume_within_h: NonNegative = 4
    """After a restart within so many hours the thread goes on where it was."""


class Transcript(Section):
    keep_days: Positive | None = None
    """Days after which a conversation leaves the transcript; what is remembered of it stays.
    Default: it is kept for ever."""


class Memory(Section):
    enabled: bool = True
    """Remember what is said beyond the conversation, and recall it where it matters."""
    store: str | None = None
    """Where memories are kept: a folder, or an object store such as s3://bucket/path, which
    several machines may share; its credentials come from the usual environment variables
    (AWS_ACCESS_KEY_ID, …). Default: the folder `memories` in your data folder."""
    deadline_ms: Positive = 10
    """Milliseconds that a recall may take; past them the turn goes on with what there is."""
    typed_deadline_ms: Positive = 30
    """The same for what you type, of which no word is known before you send it; never less than
    that."""
    encoder: str | None = None
    """Name of the sentence encoder that works alone; default: the profile's, with the one that
    stands in for it."""
    max_tokens: Count = 800
    """Most tokens of a prompt that memories may take."""
    least_score: Annotated[float, Field(ge=0)] = 0.5
    """Memories that score less stay out of the prompt: each costs time to read, and misleads. Of
    those that answer a question none to 3 in 100 score less, of those found for small talk a third
    to three quarters. 0 shows all that there is room for."""
    profile_tokens: Annotated[int, Field(ge=0)] = 120
    """Most tokens for what every prompt tells of you: your name and what you pinned."""
    prefill_ms: Positive = 300
    """Milliseconds that the model may take to read them; the best three are shown to any
    question that has as many, the best one to what asks nothing."""
    hot_rows: Annotated[int, Field(ge=0, le=10_000)] = 200
    """Memories whose vectors are kept exactly: the newest, the most important, the most used.
    1,000 more take 1.5 MB, and a tenth of a millisecond of each recall."""
    warm_rows: Annotated[int, Field(ge=0, le=10_000)] = 500
    """The next ones; they are compared with every question too, to 8 bits. All others are where
    their signs say that they may fit."""
    ageing_s: Positive = 300
    """Seconds after which it is chosen anew which memories these are."""
    duplicate_cosine: Fraction = 0.92
    """Likeness from which on something told again refreshes the memory that is there, if it also
    says nothing else; 1 merges nothing."""
    expire_exchange_days: Days = 365
    """Days after which what was said leaves the memory (not the transcript) if it is of little
    importance: by default what the assistant said, never what you said. Counted from the last
    telling or use. 0 keeps it for ever, as it does below. Pinned memories never expire."""
    expire_event_days: Days = 0
    """The same for events that were drawn from what you said."""
    expire_summary_days: Days = 0
    """The same for summaries."""
    expire_fact_days: Days = 0
    """The same for facts, preferences and your profile: what is true stays so until you say
    otherwise. What you wrote down yourself never expires."""
    expire_below_importance: Fraction = 0.3
    """Only what is less important than this expires: your words start at 0.5, the assistant's at
    0.2."""


class Forget(Section):
    grace_s: Annotated[float, Field(ge=0)] = 60
    """Seconds in which "undo that", or `assistant memory undo`, brings back what was forgotten,
    across a restart too; then it is gone for good. 0 gives no time."""


class Idle(Section):
    enabled: bool = True
    """Work on the memory, and measure the language model's speed, while nobody speaks; it stops at
    the first sound of a voice."""
    every_s: Positive = 30
    """Seconds of quiet before it, and between two pieces of it."""
    batch: Annotated[int, Field(gt=0, le=1_000)] = 10
    """Exchanges or conversations in one piece."""
    on_battery: Literal["light", "all", "nothing"] = "light"
    """What is done without mains: only what takes little, all of it, or nothing."""
    max_load: Fraction = 0.6
    """Share of all cores from which on other programs keep it to what takes little; 1 lets nothing
    hold it up."""
    extract: Literal["off", "rules", "model"] = "off"
    """Take facts, preferences and events from what you say, in English: all that the rules find, or
    of that what the language model finds worth it."""
    importance: Literal["off", "on"] = "off"
    """Let memories that are used, marked and told again count more, and what nobody asks for less;
    never less than you set."""
    summarise: Literal["off", "rules", "model"] = "off"
    """Sum up what you said in each stretch of a conversation, in English, for questions like "what
    did we talk about last week?": in sentences by rules, or shortened by the language model."""
    summarise_turns: Annotated[int, Field(ge=4, le=100)] = 12
    """Turns of such a stretch."""
    consolidate: Literal["off", "on"] = "off"
    """Compare what you said with older things that are about the same, in English: what says the
    same is merged, what has changed supersedes, where rules allow it and, in doubt, the language
    model says so too. `assistant memory split` undoes it."""
    describe: Literal["off", "on"] = "off"
    """Have the language model say in its own words, for the index alone, what you told, in English:
    it is searched too."""
    expand: Literal["off", "on"] = "off"
    """The same with questions that what you told answers."""


class Screen(Section):
    theme: str = "ansi-dark"
    """Colours of the screen; `ansi-dark` and `ansi-light` are the terminal's own."""
    keys: dict[str, str] = {}
    """Other keys for what the screen does, by its name: `{ "voice.mute" = "m" }`. Several are
    divided by commas."""


class Encryption(Section):
    mode: Literal["auto", "keyring", "passphrase", "off"] = "auto"
    """How a new home keeps its key: in the system's keyring, behind a passphrase, or `off`, plain.
    `auto` takes the keyring if there is one. `assistant encryption` converts an existing home."""


class Settings(Section):
    """The whole tree; sections are the TOML file's tables."""

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


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, and the source of each: `section.name` → `default`, the file's path, the
    environment variable or `flag`."""

    settings: Settings
    sources: Mapping[str, str]


def load(
    file: Path,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Loaded:
    """Read the settings from all their sources.

    Args:
        file: the TOML file; may be absent.
        environment: default `os.environ`.
        flags: `section.name` → value, from the command line; None values are left out.

    Raises:
        SettingsError: a source can't be read, or a setting is unknown or out of range.
    """
    layers: list[tuple[str, str, Any]] = _from_file(file)
    layers += _from_environment(os.environ if environment is None else environment)
    layers += [(key, "flag", value) for key, value in (flags or {}).items() if value is not None]
    tree: dict[str, dict[str, Any]] = {}
    sources = dict.fromkeys(_all_keys(), "default")
    for key, source, value in layers:
        section, _, name = key.partition(".")
        tree.setdefault(section, {})[name] = value
        sources[key] = source
    try:
        settings = Settings.model_validate(tree)
    except ValidationError as error:
        raise _explained(error, sources) from error
    return Loaded(settings, sources)


def _all_keys() -> list[str]:
    return [
        f"{section}.{name}" for section, value in Settings() for name in type(value).model_fields
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
            raise SettingsError(f"{file}: `{section}` stands outside of any [section].")
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


def _explained(error: ValidationError, sources: Mapping[str, str]) -> SettingsError:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"][:2])
    source = next((sources[k] for k in sources if k == key or k.startswith(f"{key}.")), "default")
    if first["type"] == "extra_forbidden":
        message = f"There is no setting `{key}` (from {source})."
    else:
        message = f"The setting `{key}` {_wanted(first)}, not {first['input']!r} (from {source})."
    return SettingsError(message, mend=_mend(key, source))


def _wanted(error: Mapping[str, Any]) -> str:
    """What a setting takes, as far as it tells what was wrong with what it was given."""
    kind, known = error["type"].removesuffix("_type").removesuffix("_parsing"), error.get("ctx", {})
    match kind:
        case "literal_error":
            return f"takes {known['expected'].replace(chr(39), '`')}"
        case "greater_than_equal":
            return f"takes {known['ge']} or more"
        case "less_than_equal":
            return f"takes {known['le']} or less"
        case "greater_than" | "less_than":
            more = "more" if kind == "greater_than" else "less"
            return f"takes {more} than {known.get('gt', known.get('lt'))}"
    return f"takes {TAKEN.get(kind, 'something else')}"


def _mend(key: str, source: str) -> str:
    """A step that works while the settings can't be read."""
    if source.startswith(ENVIRONMENT_PREFIX):
        return f"Unset or correct the environment variable {source}."
    if source in ("default", "flag"):
        return "assistant config"
    return f"assistant config unset {key}" if "." in key else f"Correct {source}."
