"""Names that every kind of plug-in is written with, and the base of their contexts.

`cs.plugins.sources`, `cs.plugins.verifiers` and `cs.plugins.stages` export all of it.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from cs.outside.port import (
    AddressGuard,
    ApiClient,
    Fetcher,
    Forbidden,
    MailHosts,
    Resolver,
    Response,
    Unreachable,
)
from cs.paid_calls.budgets import UNLIMITED, Budgets
from cs.paid_calls.errors import CallsUnavailable, NotAsked, NotCharged, Unanswered
from cs.paid_calls.problems import ProblemKind, ServiceProblem, problem
from cs.paid_calls.register import EVERY_TIME, PaidCalls
from cs.paid_calls.service import (
    ORDINARY,
    Judge,
    Judgement,
    PaidService,
    Question,
    ServiceCheck,
    ServiceSettings,
)
from cs.plugins.declared_settings import SECRET, takes

__all__ = [
    "EVERY_TIME",
    "ORDINARY",
    "SECRET",
    "UNLIMITED",
    "AddressGuard",
    "ApiClient",
    "Budgets",
    "CallsUnavailable",
    "Fetcher",
    "Forbidden",
    "Judge",
    "Judgement",
    "MailHosts",
    "NotAsked",
    "NotCharged",
    "PaidCalls",
    "PaidContext",
    "PaidService",
    "ProblemKind",
    "Question",
    "Resolver",
    "Response",
    "ServiceCheck",
    "ServiceProblem",
    "ServiceSettings",
    "Unanswered",
    "Unreachable",
    "problem",
    "takes",
]


class PaidContext(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the contexts that plug-ins are made from.

    Attributes:
        settings: Those of the plug-in that are set, of the ones that it declares with
            `takes`.
        now: The time, with its offset.
        paid: For every question that the provider charges for.
        budgets: At which rate and within which caps; `service` has both, and more.
    """

    settings: Mapping[str, Any] = {}
    now: Callable[[], datetime]
    paid: PaidCalls = EVERY_TIME
    budgets: Budgets = UNLIMITED

    def service(
        self,
        name: str,
        settings: ServiceSettings,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        judge: Judge | None = None,
    ) -> PaidService:
        """Return the service *name* as `cs.paid_calls.service` describes it."""
        return PaidService(
            name,
            settings,
            self._api_client(),
            paid=self.paid,
            budgets=self.budgets,
            headers=headers,
            params=params,
            judge=judge,
            now=self.now,
        )

    def _api_client(self) -> ApiClient:
        """Return the client for addresses that stand in the settings."""
        raise NotImplementedError
