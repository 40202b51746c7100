"""The operator's own language model, if the settings name one."""

from collections.abc import Callable
from datetime import datetime
from ipaddress import ip_address
from urllib.parse import urlsplit

from cs.domain.service import World
from cs.opinions.language_model import AT_ONCE, AWAY_PAUSE_S, NAME, LanguageModel
from cs.outside.port import ApiClient
from cs.paid_calls.budgets.port import Budgets
from cs.paid_calls.paid import PaidCalls
from cs.paid_calls.service import PaidService, ServiceSettings
from cs.settings import BadSettings, Settings


def check_opinion_settings(settings: Settings) -> None:
    """Pass if address and model are both named, or neither, and the address can be asked.

    Raises:
        BadSettings: One is missing, or what is wrong with the address.
    """
    if settings.opinion_url and not settings.opinion_model:
        raise BadSettings("opinion_model: name the model that opinion_url is asked for")
    if settings.opinion_model and not settings.opinion_url:
        raise BadSettings("opinion_url: where is the model of opinion_model asked?")
    if settings.opinion_url and (
        wrong := _wrong_with(settings.opinion_url, insecure=settings.insecure_opinion)
    ):
        raise BadSettings(f"opinion_url: {wrong}")


def _wrong_with(url: str, *, insecure: bool) -> str | None:
    """Say what is wrong with the address *url*, never what secret stands in it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "it is no address: its host or its port cannot be read"
    if not host or port == 0:
        return "it is no address: it lacks a host, or its port is 0"
    if parts.username is not None or parts.password is not None:
        return "it must carry no user name or password: put the key into opinion_key"
    if parts.query or parts.fragment or url.endswith(("?", "#")):
        return "it must end with its path: no ? and no #; what is asked is put behind it"
    if parts.path.rstrip("/").endswith(("/completions", "/models", "/responses")):
        return (
            "give the base address, such as http://127.0.0.1:8000/v1: the rest is put behind it"
        )
    if parts.scheme == "http" and not insecure and not _is_here(host):
        return (
            f"headlines and key would go to {host} in clear: make it https://, or set "
            "insecure_opinion = true where the network itself keeps others out"
        )
    return None


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


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
            burst=max(AT_ONCE, round(settings.opinion_calls_per_s)),
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
