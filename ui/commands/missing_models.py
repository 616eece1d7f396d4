"""Downloads the models that a start lacks."""

import argparse
from datetime import UTC, datetime
from typing import TextIO

from assistant.compose import chooses_model
from assistant.errors import ModelError, StoreError
from assistant.settings import Settings
from models.selection import select_models, wanted_models


def pull_missing(settings: Settings, stream: TextIO) -> None:
    """Download what is missing, with progress on `stream`; quick when nothing is.

    A language model that suits the machine better than the one it has is downloaded too. Without it
    the start goes on, and no download is tried again on that day.

    Raises:
        SettingsError: there is no such profile.
        ModelError: a model could not be brought.
    """
    shop = select_models(settings)
    wanted = wanted_models(settings, shop)
    missing = shop.store.missing(wanted)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    refused = shop.notes.of(shop.hardware).get("refused") == today
    absent = shop.choice.absent if chooses_model(settings) and not refused else None
    if not missing and absent is None:
        return
    from ui.commands import models  # brings rich, which a start without downloads needn't wait for

    # Of the whole profile, since for `default` what the network can serve decides with.
    names = [] if absent or shop.profile.llm in missing else missing
    order = argparse.Namespace(
        models_action="pull", names=names, profile=settings.general.profile, json=False
    )
    try:
        models.run(order, store=shop.store, hardware=shop.hardware, stream=stream)
    except (ModelError, StoreError) as error:
        if absent is None or shop.store.missing(wanted):
            raise
        shop.notes.add(shop.hardware, refused=today)
        print(f"{error} Going on with {shop.profile.llm}.", file=stream)
    rest = shop.store.missing([name for name in wanted if name != shop.profile.llm])
    if rest:
        order.names = rest
        models.run(order, store=shop.store, hardware=shop.hardware, stream=stream)
