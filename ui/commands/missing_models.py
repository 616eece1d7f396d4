"""Downloads missing models at a start."""

import argparse
from datetime import UTC, datetime
from typing import TextIO

from assistant.compose import chooses_model
from assistant.errors import ModelError, StoreError
from assistant.settings import Settings
from models.selection import select_models, wanted_models


def pull_missing(settings: Settings, stream: TextIO) -> None:
    """Download what is missing, with progress on `stream`; quick if nothing is.

    A language model that suits the machine better than the present one is downloaded too. If that
    fails, the start goes on, and is not tried again on the same day.

    Raises:
        SettingsError: there is no such profile.
        ModelError: a model could not be downloaded.
    """
    shop = select_models(settings)
    wanted = wanted_models(settings, shop)
    missing = shop.store.missing(wanted)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    refused = shop.notes.of(shop.hardware).get("refused") == today
    absent = shop.choice.absent if chooses_model(settings) and not refused else None
    if not missing and absent is None:
        return
    from ui.commands import models  # imports rich, which is slow, only for downloads

    # The whole profile, since `default` also depends on what the network offers.
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
        print(f"{error} Continuing with {shop.profile.llm}.", file=stream)
    rest = shop.store.missing([name for name in wanted if name != shop.profile.llm])
    if rest:
        order.names = rest
        models.run(order, store=shop.store, hardware=shop.hardware, stream=stream)
