"""Brings the models that a session wants and that are not on this machine, before it starts."""

import argparse
from typing import TextIO

from assistant.engines import Workshop, open_workshop
from assistant.settings import Settings


def pull_missing(settings: Settings, stream: TextIO) -> None:
    """Download what is missing, with progress on `stream`; quick when nothing is.

    Raises:
        SettingsError: there is no such profile.
        ModelError: a model could not be brought.
    """
    shop = open_workshop(settings)
    wanted = wanted_models(settings, shop)
    missing = shop.store.missing(wanted)
    if not missing:
        return
    from ui import models_command  # brings rich, which a start without downloads needn't wait for

    # Of the whole profile, since for `default` what the network can serve decides with.
    names = [] if shop.profile.llm in missing else missing
    order = argparse.Namespace(
        models_action="pull", names=names, profile=settings.general.profile, json=False
    )
    models_command.run(order, store=shop.store, hardware=shop.hardware, stream=stream)
    rest = shop.store.missing([name for name in wanted if name != shop.profile.llm])
    if rest:
        order.names = rest
        models_command.run(order, store=shop.store, hardware=shop.hardware, stream=stream)


def wanted_models(settings: Settings, shop: Workshop) -> list[str]:
    """Names in the catalogue; the user's own files and servers need no download."""
    served = settings.llm.endpoint is not None or settings.llm.engine == "openai"
    named = (
        settings.stt.model or shop.profile.stt,
        None if served else settings.llm.model or shop.profile.llm,
        settings.tts.model or shop.profile.tts,
        shop.profile.encoder,
    )
    return [name for name in named if name is not None and name in shop.store.catalogue.models]
