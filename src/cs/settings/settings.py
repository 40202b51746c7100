"""Every setting of the service, with its type and its default."""

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from cs.bus.kafka.settings import SaslMechanism
from cs.domain.operator_actions import ACCOUNT
from cs.domain.source_cost import micros_of
from cs.paid_calls.budgets import TotalCaps
from cs.plugins.declared_settings import SECRET, fields
from cs.plugins.plugin_settings import AllPluginSettings, SettingValues
from cs.settings import forms

Port = Annotated[int, Meta(ge=0, le=65535)]
Seconds = Annotated[float, Meta(gt=0, le=3600)]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Every setting, with its default.  `cs config show` prints what is in force."""

    # Where it runs.
    data_dir: Path = Path("cs-data")
    host: Annotated[str, forms.HOST] = "127.0.0.1"
    port: Port = 8080
    admin_host: Annotated[str, forms.HOST] = "127.0.0.1"
    admin_port: Port = 8081
    admin_names: tuple[str, ...] = ()  # that the admin port may be called by
    console: bool = True  # on the admin port, below /console
    # In it a trusted proxy names the operator.
    console_user_header: Annotated[str | None, forms.HEADER] = None
    # Proxies that end TLS in front of the console.
    console_proxies: Annotated[tuple[str, ...], forms.networks("10.0.0.0/8")] = ()
    insecure_console: bool = False  # answer calls from elsewhere without TLS
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"
    # An OTLP receiver; needs the extra `otel`.
    traces_to: Annotated[str | None, forms.web_address("http://127.0.0.1:4318")] = None
    operator: Annotated[str, Meta(max_length=ACCOUNT)] | None = None  # who acts, in the trail

    # What the roles of one service share, when it runs as several processes
    # (docs/deploy.md); a service in one process needs none of it.
    postgres: Annotated[str | None, forms.DSN] = None  # events, views, leases
    keys_postgres: Annotated[str | None, forms.DSN] = None  # data keys: a database of its own
    # What stages remember: a database of its own.
    stages_postgres: Annotated[str | None, forms.DSN] = None
    insecure_postgres: bool = False  # databases elsewhere need not prove who they are
    postgres_connections: Annotated[int, Meta(ge=2, le=100)] = 10  # of one process to each
    master_key_file: Path | None = None  # 32 bytes that wrap the data keys
    next_master_key_file: Path | None = None  # while the master key is changed: the new one
    erasure_journal: Path | None = None  # a file elsewhere that gets every erasure
    stages_key_file: Path | None = None  # 32 bytes that seal what stages remember
    kafka: Annotated[tuple[str, ...], forms.BROKERS] = ()  # host:port of some brokers
    kafka_prefix: Annotated[str, forms.KAFKA_PREFIX] = ""  # before every topic and group
    kafka_tls: bool = False
    insecure_kafka: bool = False  # to brokers elsewhere in clear
    kafka_ca_file: Path | None = None
    kafka_certificate_file: Path | None = None
    kafka_key_file: Path | None = None
    kafka_sasl: SaslMechanism | None = None
    kafka_username: str | None = None
    kafka_password: Annotated[str | None, SECRET] = None
    kafka_password_file: Path | None = None  # instead: a file that holds it
    kafka_session_timeout_s: Seconds = 10.0  # brokers insist on 6 or more
    events_feed: bool = False  # publish every event, personal data sealed, for other teams

    # What it allows.
    lookup_deadline_s: Seconds = 120.0
    lookups_per_day: Annotated[int, Meta(ge=0)] | None = None  # service-wide ceiling
    contacts: Annotated[int, Meta(ge=1, le=100)] = 25  # of one search
    people_kept_for: Annotated[int, Meta(ge=2, le=120)] = 24  # months without a search

    # A search of the operator's own, made at an interval (docs/operations.md, "A canary").
    canary_key_file: Path | None = None  # with the API key; None: no canary
    canary_brand: Annotated[str | None, forms.BRAND] = None
    canary_every_s: Annotated[float, Meta(ge=1_440, le=86_400)] = 3_600.0  # 60 a day at most
    canary_live: bool = False  # not answered from reuse
    # Where callers reach the API; None: the port of this process.
    canary_url: Annotated[str | None, forms.web_address("https://contacts.example/v1")] = None

    # How much it takes on at once (docs/settings.md, "Overload").
    holds: Annotated[int, Meta(ge=0)] = 2_000  # calls held; beyond: 202 at once
    lookups_at_once: Annotated[int, Meta(ge=1)] = 1_000  # beyond: at_capacity
    calls_per_key: Annotated[int, Meta(ge=1)] = 4  # worked on; the others of a key queue
    appends_waiting: Annotated[int, Meta(ge=1)] = 10_000  # beyond: server_error
    messages_waiting: Annotated[int, Meta(ge=1)] = 10_000  # in one topic

    # The plug-ins that are asked; None: everything that is installed.
    brand_sources: tuple[str, ...] | None = None
    people_sources: tuple[str, ...] | None = None
    people_source_order: tuple[str, ...] = ()  # asked first, in this order
    enough_people: Annotated[int, Meta(ge=1, le=100)] = 10  # in a role; then no source is paid
    verifiers: tuple[str, ...] | None = None
    verifier_order: tuple[str, ...] = ()  # asked first, in this order
    paid_per_person: Annotated[int, Meta(ge=0, le=100)] = 4  # questions to paid verifiers
    paid_per_search: Annotated[int, Meta(ge=0, le=10_000)] = 30
    # Spent on all paid services together; each has caps of its own as well.
    usd_per_day: Annotated[float, Meta(ge=0, le=1e9)] | None = None
    usd_per_month: Annotated[float, Meta(ge=0, le=1e9)] | None = None
    foreign_verifiers: tuple[str, ...] = ()  # that a stage of another make asks
    stages: tuple[str, ...] = ()  # whose work an installed plug-in does, instead of ours
    contact: str | None = None  # in our User-Agent: who runs this service
    wikidata_url: Annotated[str, forms.web_address("https://www.wikidata.org/w/api.php")] = (
        "https://www.wikidata.org/w/api.php"
    )
    searxng_url: Annotated[str | None, forms.web_address("http://127.0.0.1:8888")] = None

    # An operator's own language model, asked about headlines that the rules are unsure of.
    opinion_url: Annotated[str | None, forms.BASE_ADDRESS] = None
    insecure_opinion: bool = False  # a model elsewhere may be asked over http://
    opinion_model: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    # None: it takes none.
    opinion_key: Annotated[Annotated[str, Meta(pattern=r"^[!-~]+$")] | None, SECRET] = None
    opinion_calls_per_s: Annotated[float, Meta(gt=0, le=1000)] = 10.0
    opinion_usd_per_call: Annotated[float, Meta(ge=0, le=1000)] = 0.0
    opinion_usd_per_day: Annotated[float, Meta(ge=0, le=1e9)] = 10.0
    opinion_usd_per_month: Annotated[float, Meta(ge=0, le=1e9)] = 100.0

    # How it reaches the outside.
    # Private networks that found hosts may be on.
    allow_networks: Annotated[tuple[str, ...], forms.networks("10.0.0.0/8")] = ()
    # Our own public ranges, never visited.
    deny_networks: Annotated[tuple[str, ...], forms.networks("198.51.100.0/24")] = ()
    web_ports: tuple[Port, Port] = (80, 443)
    # Trusted in addition to the public authorities.
    ca_file: Annotated[Path | None, forms.CA_FILE] = None
    # Host:port; None: the system's resolver.
    dns: Annotated[str | None, forms.NAME_SERVER] = None

    # Who it is to mail servers.
    smtp_port: Port = 25
    # Our host name there; None: this machine's own.
    smtp_helo: Annotated[str | None, forms.HOST_NAME] = None
    smtp_mail_from: Annotated[str, forms.SENDER] = ""  # empty: the null sender <>

    # What plug-ins were given; what they take, they say themselves.
    plugins: AllPluginSettings = AllPluginSettings()

    @property
    def spending_caps(self) -> TotalCaps:
        day, month = self.usd_per_day, self.usd_per_month
        return TotalCaps(
            micros_per_day=None if day is None else micros_of(day),
            micros_per_month=None if month is None else micros_of(month),
        )

    def shown(self) -> dict[str, Any]:
        """Return the settings for people: of plug-ins under full names, secrets hidden."""
        values = {**self._own.shown(), **self.plugins.shown()}
        return dict(msgspec.to_builtins(values, enc_hook=str))

    def secrets(self) -> list[str]:
        """Return every secret, those inside addresses and settings of plug-ins too."""
        return [*self._own.secrets, *self.plugins.secrets()]

    @property
    def _own(self) -> SettingValues:
        return SettingValues(
            {name: getattr(self, name) for name in FIELDS},
            frozenset(name for name, field in FIELDS.items() if field.secret),
        )

    def __repr__(self) -> str:
        return f"Settings({self.shown()})"


#: The service's own settings; those of plug-ins stand in tables of theirs.
FIELDS = fields(Settings)
del FIELDS["plugins"]
