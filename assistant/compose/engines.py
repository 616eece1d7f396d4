"""Creates the models that the profile and the settings name."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

from threadpoolctl import threadpool_limits

from assistant.errors import SettingsError
from assistant.event_bus import EventBus
from assistant.events import Loading, ModelsReady, Notice, Severity
from assistant.memory import QueryEncoder, store_location
from assistant.paths import Home, models_cache
from assistant.settings import Settings
from assistant.skills import ModelInUse
from models import catalogue
from models.catalogue import ModelRole
from models.download import ModelStore
from models.hardware import detect, require_ram
from models.interfaces import (
    LanguageModel,
    ModelSet,
    SentenceEncoder,
    SpeechToText,
    TextToSpeech,
)
from models.selection import (
    Benchmark,
    ModelSelection,
    engine_for,
    model_path,
    select_models,
)
from models.unused_memory import release_freed

logger = logging.getLogger(__name__)

QUERY_THREADS = 2
"""Maximum number of threads that encode a question. More threads don't encode a dozen tokens
faster. On a busy machine even a second thread costs time, because it has to be woken. On two cores
only one thread is used."""
QUERY_TOKENS = 32
"""Maximum number of tokens of a question that are encoded. If a question is longer, only its end is
encoded: encoding time grows with length, and recall must finish within 10 ms."""


def chooses_model(settings: Settings) -> bool:
    """Return whether this program chooses the language model itself. It does with the profile
    `default`, unless the settings name a model or a server."""
    llm = settings.llm
    named = llm.model is not None or llm.endpoint is not None or llm.engine == "openai"
    return settings.general.profile == "default" and not named


async def load_models(
    selection: ModelSelection,
    home: Home,
    settings: Settings,
    bus: EventBus,
    *,
    hears: bool,
    speaks: bool,
) -> ModelSet:
    """Create the models that a session needs, and load them in parallel.

    Args:
        hears: whether to load the speech recogniser. A session with typed input doesn't need it.
        speaks: whether to load the voice.

    Raises:
        ModelError: a model is missing, damaged, too large or fails to start.
    """
    # NumPy's threads spin while they wait, on the very cores that the engines need a moment later.
    threadpool_limits(limits=1, user_api="blas")
    stt, tts = build_recogniser(selection, settings), build_voice(selection, settings)
    llm = await asyncio.to_thread(
        _language_model,
        selection,
        settings,
        home,
        lambda text: bus.emit(Notice(text, Severity.WARNING)),
    )
    names = {"llm": llm.name}
    names |= {"stt": stt.name} if hears else {}
    names |= {"tts": tts.name} if speaks else {}
    loads: dict[str, Callable[[], Awaitable[None]]] = {
        "llm": llm.load,
        "stt": lambda: asyncio.to_thread(stt.load),
        "tts": lambda: asyncio.to_thread(tts.load),
    }
    loading = [
        asyncio.create_task(_load(bus, role, name, loads[role])) for role, name in names.items()
    ]
    try:
        await asyncio.gather(*loading)
        await _announce_choice(selection, settings, bus)
    except BaseException:
        for task in loading:
            task.cancel()
        await asyncio.wait(loading)
        await llm.close()
        raise
    await asyncio.to_thread(release_freed)
    bus.emit(ModelsReady(names))
    return ModelSet(stt, llm, tts)


def model_in_use(
    selection: ModelSelection, settings: Settings, home: Home, llm: LanguageModel
) -> ModelInUse:
    """Describe the loaded language model, for users who ask which one it is.

    Raises:
        SettingsError: the address of the memories' store contains credentials.
    """
    endpoint = settings.llm.endpoint if engine_of(selection, settings) == "openai" else None
    title = "" if endpoint and llm.name == "default" else llm.name
    if endpoint is None and selection.knows(llm.name):
        title = selection.store.catalogue.get(llm.name).title
    host = urlsplit(endpoint).hostname or "" if endpoint else ""
    remote = settings.memory.enabled and store_location(home, settings).folder is None
    return ModelInUse(title, host, store=remote, tools=bool(settings.mcp))


def engine_of(selection: ModelSelection, settings: Settings) -> str:
    """Return the engine that runs the language model: `openai`, `mlx` or `llama.cpp`."""
    llm = settings.llm
    wanted = llm.model or selection.profile.llm
    return llm.engine if llm.engine != "auto" else engine_for(selection, settings, wanted)


def build_background_model(
    home: Home, settings: Settings, on_restart: Callable[[str], None]
) -> LanguageModel:
    """Create the configured language model, for use while no assistant runs. The caller must
    `load` the model before use. Blocking.

    Args:
        on_restart: called from a thread when the model's process has been restarted.

    Raises:
        ModelError: the model is not on this machine, or too large for it.
        SettingsError: the settings name no model that can be used.
    """
    return _language_model(select_models(settings), settings, home, on_restart)


def open_benchmark(home: Home, settings: Settings) -> Benchmark | None:
    """Return the benchmark on which the choice of the language model is based. Return None if this
    program does not choose the model. Blocking."""
    if not chooses_model(settings):
        return None
    return Benchmark(
        ModelStore(models_cache(), catalogue.read()),
        detect(),
        threads=settings.llm.threads,
        log=home.native_log,
    )


async def _load(bus: EventBus, role: str, name: str, load: Callable[[], Awaitable[None]]) -> None:
    bus.emit(Loading(role, name))
    await load()
    bus.emit(Loading(role, name, done=True))


def build_query_encoder(selection: ModelSelection, wanted: str | None = None) -> QueryEncoder:
    """Create the profile's sentence encoder. If the profile has two encoders, combine the fast one
    with the stronger one. The caller must `load` the encoder before use. Blocking.

    Memories are encoded in full precision, on one thread. Questions are encoded with quantised
    weights, on cores that the language model does not use at that moment.

    Args:
        wanted: the name of a single encoder to use instead of the profile's encoders.

    Raises:
        ModelMissing: the fast encoder is not on this machine. The stronger one is optional.
        ModelCorrupt: the fast encoder is damaged.
        SettingsError: `wanted` is not an encoder.
    """
    from models.encoder import EncoderProcess, OnnxEncoder

    if wanted is not None:
        folder = model_path(selection, wanted, ModelRole.ENCODER, ModelStore.location)
        return QueryEncoder(_for_queries(selection, folder), OnnxEncoder(folder))
    quick, *others = (selection.store.folder(name) for name in selection.profile.encoders)
    selection.store.location(quick.name)
    stronger = None
    for folder in others:
        documents = EncoderProcess(folder)
        stronger = QueryEncoder(_for_queries(selection, folder), documents, rest=documents.rest)
    return QueryEncoder(_for_queries(selection, quick), OnnxEncoder(quick), stronger=stronger)


def _for_queries(selection: ModelSelection, folder: Path) -> SentenceEncoder:
    from models.encoder import OnnxEncoder

    return OnnxEncoder(
        folder,
        quantised=True,
        threads=min(QUERY_THREADS, max(1, selection.hardware.cores - 1)),
        max_tokens=QUERY_TOKENS,
        keep_end=True,
    )


async def _announce_choice(selection: ModelSelection, settings: Settings, bus: EventBus) -> None:
    """Tell the user which language model was chosen, if the choice has changed since the last
    notice."""
    if not chooses_model(settings):
        return
    if await asyncio.to_thread(selection.choice.is_news, selection.hardware, selection.notes):
        mend = "assistant models pull" if selection.choice.absent else None
        told = selection.choice.reason_and_advice
        bus.emit(Notice(f"The language model is {told}", mend=mend))


def build_recogniser(selection: ModelSelection, settings: Settings) -> SpeechToText:
    from models.stt import FasterWhisper

    folder = model_path(
        selection, settings.stt.model or selection.profile.stt, ModelRole.STT, ModelStore.location
    )
    threads = selection.hardware.listening_threads
    return FasterWhisper(folder, threads=threads, language=settings.persona.language)


def build_voice(selection: ModelSelection, settings: Settings) -> TextToSpeech:
    from models.tts import Piper

    weights = model_path(
        selection, settings.tts.model or selection.profile.tts, ModelRole.TTS, ModelStore.weights
    )
    return Piper(weights, speed=settings.tts.speed)


def _language_model(
    selection: ModelSelection, settings: Settings, home: Home, on_restart: Callable[[str], None]
) -> LanguageModel:
    llm = settings.llm
    wanted = llm.model or selection.profile.llm
    engine = engine_of(selection, settings)
    if engine == "openai":
        from models.llm import OpenAICompatible

        if llm.endpoint is None:
            raise SettingsError(
                "The engine `openai` needs the address of a server.",
                mend="assistant config set llm.endpoint http://127.0.0.1:11434/v1",
            )
        return OpenAICompatible(
            llm.endpoint,
            llm.model or "default",
            api_key=llm.api_key,
            context_tokens=llm.context_tokens,
            timeout_s=llm.timeout_s,
        )
    if engine == "mlx":
        from models.llm import MlxModel, repository

        named = selection.knows(wanted) or Path(wanted).expanduser().exists()
        folder = (
            model_path(selection, wanted, ModelRole.LLM, ModelStore.location)
            if named
            else repository(wanted)
        )
        return MlxModel(folder, name=wanted, context_tokens=llm.context_tokens)
    from models.llm import LlamaCpp

    weights = model_path(selection, wanted, ModelRole.LLM, ModelStore.weights)
    adapter = None
    if selection.knows(wanted):
        model = selection.store.catalogue.get(wanted)
        require_ram(model, selection.hardware)
        adapter = model.answers_in(settings.persona.language)
    return LlamaCpp(
        weights,
        name=wanted if selection.knows(wanted) else None,
        context_tokens=llm.context_tokens,
        threads=llm.threads or selection.hardware.threads,
        adapter=adapter,
        log=home.native_log,
        on_restart=on_restart,
    )
