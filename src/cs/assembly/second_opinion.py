"""The operator's own language model, if the settings name one."""

from collections.abc import Callable
from datetime import datetime

from cs.domain.service import World
from cs.opinions.language_model import AWAY_PAUSE_S, NAME, LanguageModel
from cs.outside.port import ApiClient
from cs.paid_calls.budgets.port import Budgets
from cs.paid_calls.paid import PaidCalls
from cs.paid_calls.service import PaidService, ServiceSettings
from cs.settings import BadSettings, Settings


def check_opinion_settings(settings: Settings) -> None:
    """Pass if address and model are both named, or neither.

    Raises:
        BadSettings: One is missing.
    """
    if settings.opinion_url and not settings.opinion_model:
        raise BadSettings("opinion_model: name the model that opinion_url is asked for")
    if settings.opinion_model and not settings.opinion_url:
        raise BadSettings("opinion_url: where is the model of opinion_model asked?")


def second_opinion(
    settings: Settings,
    client: ApiClient,
    *,
    paid: PaidCalls,
    budgets: Budgets,
    world: World,
    now: Callable[[], datetime],
) -> LanguageModel | None:
    """Return the model that *settings* name; ``None``: none, or the people are made up.

    Raises:
        BadSettings: As `check_opinion_settings`.
    """
    check_opinion_settings(settings)
    if settings.opinion_url is None or settings.opinion_model is None or world == "sandbox":
        return None
    key = settings.opinion_key
    service = PaidService(
        NAME,
        ServiceSettings(
            url=settings.opinion_url,
            key=key or "",
            calls_per_s=settings.opinion_calls_per_s,
            burst=max(1, round(settings.opinion_calls_per_s)),
            usd_per_call=settings.opinion_usd_per_call,
            usd_per_day=settings.opinion_usd_per_day,
            usd_per_month=settings.opinion_usd_per_month,
        ),
        client,
        paid=paid,
        budgets=budgets,
        headers={"Authorization": f"Bearer {key}"} if key else {},
        away_pause_s=AWAY_PAUSE_S,
        now=now,
    )
    return LanguageModel(service, settings.opinion_model)
