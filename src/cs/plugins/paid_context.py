"""Names that every kind of plug-in is written with, and the base of their contexts.

`cs.plugins.sources`, `cs.plugins.verifiers` and `cs.plugins.stages` export all of it.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from cs.outside.port import (
    AddressGuard as AddressGuard,
    ApiClient as ApiClient,
    Fetcher as Fetcher,
    Forbidden as Forbidden,
    MailHosts as MailHosts,
    Resolver as Resolver,
    Response as Response,
    Unreachable as Unreachable,
)
from cs.paid_calls.budgets import UNLIMITED as UNLIMITED, Budgets as Budgets
from cs.paid_calls.errors import (
    CallsUnavailable as CallsUnavailable,
    NotAsked as NotAsked,
    NotCharged as NotCharged,
    Unanswered as Unanswered,
)
from cs.paid_calls.problems import (
    ProblemKind as ProblemKind,
    ServiceProblem as ServiceProblem,
    problem as problem,
)
from cs.paid_calls.register import EVERY_TIME as EVERY_TIME, PaidCalls as PaidCalls
from cs.paid_calls.service import (
    ORDINARY as ORDINARY,
    Judge as Judge,
    Judgement as Judgement,
    PaidService as PaidService,
    Question as Question,
    ServiceCheck as ServiceCheck,
    ServiceSettings as ServiceSettings,
)
from cs.plugins.declared_settings import SECRET as SECRET, takes as takes


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
