"""Every metric of the service: its name, its type, its labels and what it says.

One `Metrics` is made for a process and handed to its parts; a part that is given none makes
one that is never read.  Labels are bounded: templates of routes, names of stages, plug-ins,
topics and caches; never a key, a brand, a person or a domain.

The texts are the `# HELP` lines of `/metrics`.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric

from cs.metrics.instruments import Family, counter, gauge, histogram
from cs.metrics.traces import NO_TRACES, Traces

#: Seconds of what is answered from memory or a database, and of a held call.
CALL_S = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 90.0),
)
#: Seconds of one question to the outside.
ASK_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
#: Seconds of a stage or a whole lookup, whose deadline is 120 s.
LOOKUP_S = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 60.0, 90.0, 120.0)
#: Seconds of a write.
WRITE_S = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0)
#: Appends in one transaction; the most is 512.
BATCH = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
#: Seconds that the event loop came late.
LATE_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class CacheCounters(NamedTuple):
    hits: Counter
    misses: Counter


@dataclass(eq=False, repr=False)
class Metrics:
    """All of them, at nothing yet.

    Attributes:
        traces: Where the spans of a lookup go; figures and spans are made in the same places.
        measurements: Measurements to make before the page is shown, by their part in
            `cs_not_measured`.
    """

    traces: Traces = NO_TRACES
    measurements: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)

    # Calls of the API.
    call_seconds: Family[Histogram] = histogram(
        "cs_call_seconds",
        "Calls of the API, from head to answer; a held one (`wait`) apart.",
        *("method", "route", "status", "held"),
        bounds=CALL_S,
    )
    call_errors: Family[Counter] = counter(
        "cs_call_errors_total", "Answers with an error of the API, by its code.", "code"
    )
    calls_refused: Family[Counter] = counter(
        "cs_calls_refused_total",
        "Calls that a quota, a limit or a pause refused (402, 429, 503), by API key.",
        *("key", "code"),
    )
    calls_held: Family[Gauge] = gauge("cs_calls_held", "Calls with `wait` that are held now.")
    calls_queued: Family[Gauge] = gauge(
        "cs_calls_queued",
        "Calls worked on or waiting behind others of their key, by what they are.",
        "kind",
    )

    canary_seconds: Family[Histogram] = histogram(
        "cs_canary_seconds",
        "Searches of the canary, by how they ended: an outcome, or the code of an error.",
        *("outcome", "cached"),
        bounds=CALL_S,
    )
    canary_succeeded_at: Family[Gauge] = gauge(
        "cs_canary_success_timestamp_seconds",
        "When a search of the canary last found a person; until then, when the canary began.",
    )
    canary_every: Family[Gauge] = gauge(
        "cs_canary_interval_seconds", "Time between two searches of the canary."
    )

    # Lookups and searches, by their events: counted where the views are written.
    lookup_seconds: Family[Histogram] = histogram(
        "cs_lookup_seconds",
        "Lookups that finished, from start to finish by their events.",
        "outcome",
        bounds=LOOKUP_S,
    )
    lookup_stage_seconds: Family[Histogram] = histogram(
        "cs_lookup_stage_seconds",
        "Time of a stage in a lookup, from issued to answered by its events; waits too.",
        "stage",
        bounds=LOOKUP_S,
    )
    lookups_open: Family[Gauge] = gauge(
        "cs_lookups_open", "Lookups that run, as the driver sees it."
    )
    attempts_failed: Family[Counter] = counter(
        "cs_stage_attempts_failed_total", "Attempts that failed, as stored.", "stage", "why"
    )
    searches_admitted: Family[Counter] = counter(
        "cs_searches_admitted_total", "Searches that were admitted."
    )
    searches_settled: Family[Counter] = counter(
        "cs_searches_settled_total",
        "Searches that ended; `cached`: from reuse.",
        *("outcome", "cached"),
    )
    charges: Family[Counter] = counter("cs_charges_total", "Searches that were charged.")
    verdicts: Family[Counter] = counter(
        "cs_verdicts_total", "Mailboxes checked, by verdict.", "verdict"
    )
    bounces: Family[Counter] = counter(
        "cs_bounces_total",
        "Bounces of returned mailboxes, reported for the first time, by what follows: "
        "`permanent`, `temporary`, `other`.",
        "kind",
    )
    corrected: Family[Counter] = counter(
        "cs_results_corrected_total",
        "Results that lost an e-mail as mail to it came back, by the verifier that had "
        "confirmed it.",
        "verifier",
    )
    erased: Family[Counter] = counter(
        "cs_people_erased_total",
        "People left out of lookups, since they asked or their time was over.",
        "why",
    )

    # Stages, where they work.
    stage_seconds: Family[Histogram] = histogram(
        "cs_stage_seconds",
        "One attempt of a stage in its worker.",
        *("stage", "ended"),
        bounds=LOOKUP_S,
    )
    stage_in_flight: Family[Gauge] = gauge(
        "cs_stage_in_flight",
        "Pieces of work that a worker has in flight; at most 64.",
        "stage",
    )

    # The event log.
    appends: Family[Counter] = counter(
        "cs_appends_total",
        "Appends that this process asked for, by how they ended.",
        "result",
    )
    append_seconds: Family[Histogram] = histogram(
        "cs_append_seconds", "One append, waiting for its batch included.", bounds=WRITE_S
    )
    append_batch: Family[Histogram] = histogram(
        "cs_append_batch_appends", "Appends in one transaction.", bounds=BATCH
    )
    appends_waiting: Family[Gauge] = gauge(
        "cs_appends_waiting", "Appends that wait to be written."
    )
    events_appended: Family[Counter] = counter(
        "cs_events_appended_total",
        "Events that this process stored, by category.",
        "category",
    )
    log_position: Family[Gauge] = gauge(
        "cs_log_position", "Position of the last event in the log."
    )
    follower_position: Family[Gauge] = gauge(
        "cs_follower_position",
        "Position up to which a follower of the log is done.",
        "follower",
    )
    follower_lag_events: Family[Gauge] = gauge(
        "cs_follower_lag_events",
        "Events of the log that a follower has not done.",
        "follower",
    )
    follower_lag_seconds: Family[Gauge] = gauge(
        "cs_follower_lag_seconds",
        "Age of the oldest event that a follower has not done; 0: there is none.",
        "follower",
    )
    streams_set_aside: Family[Gauge] = gauge(
        "cs_streams_set_aside", "Whether a damaged stream is set aside (1) or none (0)."
    )

    # Caches, each bounded.
    cache_hits: Family[Counter] = counter(
        "cs_cache_hits_total", "What was asked of a cache and there.", "cache"
    )
    cache_misses: Family[Counter] = counter(
        "cs_cache_misses_total", "What was asked of a cache and not there.", "cache"
    )
    cache_entries: Family[Gauge] = gauge("cs_cache_entries", "Entries of a cache.", "cache")
    cache_limit: Family[Gauge] = gauge(
        "cs_cache_limit", "Entries that a cache has at most.", "cache"
    )

    # The bus.
    published: Family[Counter] = counter(
        "cs_messages_published_total", "Messages offered to the bus.", "topic", "result"
    )
    publish_seconds: Family[Histogram] = histogram(
        "cs_publish_seconds", "Until the bus has a message.", "topic", bounds=WRITE_S
    )
    dead_letters: Family[Counter] = counter(
        "cs_dead_letters_total",
        "Messages that went to the dead letters, by their topic.",
        "topic",
    )
    bus_waiting: Family[Gauge] = gauge(
        "cs_bus_waiting_messages",
        "Messages that a group has not done: of its partitions here (Kafka's lag), or in "
        "this process.",
        *("topic", "group"),
    )
    bus_reachable: Family[Gauge] = gauge(
        "cs_bus_reachable", "Whether Kafka answers (1) or not (0)."
    )
    bus_partitions: Family[Gauge] = gauge(
        "cs_bus_partitions", "Partitions that this member has.", "topic", "group"
    )
    bus_paused: Family[Gauge] = gauge(
        "cs_bus_paused_partitions",
        "Of these, full of messages in flight.",
        "topic",
        "group",
    )
    bus_in_flight: Family[Gauge] = gauge(
        "cs_bus_in_flight_messages", "Messages received and not done.", "topic", "group"
    )
    bus_idle_seconds: Family[Gauge] = gauge(
        "cs_bus_idle_seconds", "Since anything moved in a subscription.", "topic", "group"
    )
    consumers_rebuilt: Family[Counter] = counter(
        "cs_bus_consumers_rebuilt_total", "Consumers that were replaced.", "topic", "group"
    )
    outcomes_forged: Family[Counter] = counter(
        "cs_outcomes_forged_total", "Outcomes refused: no such work is open."
    )

    # The outside.
    source_seconds: Family[Histogram] = histogram(
        "cs_source_seconds",
        "One question to a brand or people source, by how it ended.",
        *("kind", "source", "ended"),
        bounds=ASK_S,
    )
    source_answering: Family[Gauge] = gauge(
        "cs_source_answering",
        "Whether a source's last question was answered (1) or not (0).",
        *("kind", "source"),
    )
    verifier_seconds: Family[Histogram] = histogram(
        "cs_verifier_seconds",
        "One address asked of a verifier; `answered`: whether anybody replied.",
        *("verifier", "verdict", "answered"),
        bounds=ASK_S,
    )
    paid_calls: Family[Counter] = counter(
        "cs_paid_calls_total",
        "Questions that cost money: `made` were sent, and may be charged unless `not_charged`.",
        *("provider", "result"),
    )
    spending_total_cap: Family[Gauge] = gauge(
        "cs_spending_total_cap_usd",
        "The most that all paid services together may cost in a `day` or `month` of UTC.",
        "period",
    )
    spending_total_left: Family[Gauge] = gauge(
        "cs_spending_total_left_usd",
        "US dollars left of `cs_spending_total_cap_usd`, calls under way at their most.",
        "period",
    )
    paid_problems: Family[Counter] = counter(
        "cs_paid_problems_total",
        "Questions to a paid service without a usable answer, by the kind of the problem.",
        *("provider", "problem"),
    )
    spent: Family[Gauge] = gauge(
        "cs_spent_usd",
        "Money spent this `day` or `month` of UTC by the account that all workers share, "
        "reserves included.",
        *("provider", "period"),
    )
    spending_cap: Family[Gauge] = gauge(
        "cs_spending_cap_usd",
        "The most that the settings allow to be spent in a `day` or `month`.",
        *("provider", "period"),
    )
    misconfigured: Family[Gauge] = gauge(
        "cs_misconfigured",
        "Settings and plug-ins that do not work until they are changed.",
        "name",
    )

    # The process.
    info: Family[Gauge] = gauge(
        "cs_info", "Always 1: what runs here.", "role", "version", "world"
    )
    ready: Family[Gauge] = gauge("cs_ready", "What `/readyz` says: 1 is ready.")
    leases_held: Family[Gauge] = gauge(
        "cs_lease_held", "Whether this process leads (1) or waits to (0).", "lease"
    )
    leases_taken: Family[Gauge] = gauge(
        "cs_lease_taken",
        "Whether any process leads (1) or none (0), by the leases in the database.",
        "lease",
    )
    clock_off_seconds: Family[Gauge] = gauge(
        "cs_clock_off_seconds", "How far this machine's clock is ahead of the database's."
    )
    data_keys_lost: Family[Gauge] = gauge(
        "cs_data_keys_lost", "Data keys found lost since the start."
    )
    loop_late_seconds: Family[Histogram] = histogram(
        "cs_event_loop_late_seconds",
        "How late the event loop woke what wanted to run.",
        bounds=LATE_S,
    )
    # What an operator looks after.
    disk_free: Family[Gauge] = gauge(
        "cs_disk_free_bytes", "Free on the disk of the data folder, for this user."
    )
    disk_size: Family[Gauge] = gauge("cs_disk_size_bytes", "Size of that disk.")
    database_size: Family[Gauge] = gauge(
        "cs_database_size_bytes",
        "Size of a database, or of a database file of the data folder.",
        "database",
    )
    backup_at: Family[Gauge] = gauge(
        "cs_backup_timestamp_seconds",
        "When `cs backup` last succeeded, before that when a service first ran on the data "
        "folder; or when PostgreSQL last archived a file of its write-ahead log.",
    )
    certificate_ends: Family[Gauge] = gauge(
        "cs_certificate_expiry_timestamp_seconds",
        "When the certificate in the file of a setting expires.",
        "setting",
    )
    key_made: Family[Gauge] = gauge(
        "cs_key_file_timestamp_seconds",
        "When the file of the master key was last written.",
        "setting",
    )
    not_measured: Family[Gauge] = gauge(
        "cs_not_measured", "What could not be measured this time (1).", "part"
    )

    def cache(self, name: str, entries: Callable[[], int], limit: int) -> CacheCounters:
        """Return what counts the hits and misses of the cache *name*.

        Args:
            name: Its label.
            entries: Says how many it has.
            limit: How many it may have.
        """
        self.cache_entries.measure(entries, name)
        self.cache_limit.of(name).set(limit)
        return CacheCounters(self.cache_hits.of(name), self.cache_misses.of(name))

    def families(self) -> list[Family[Any]]:
        """Return all, in the order above."""
        return [each for each in vars(self).values() if isinstance(each, Family)]

    def collect(self) -> Iterator[Metric]:
        """Yield all that were used, as a collector of `prometheus_client` does."""
        for family in self.families():
            yield from family.collect()

    @cached_property
    def _registry(self) -> CollectorRegistry:
        registry = CollectorRegistry()
        registry.register(self)
        # Of the registry's own: without one they would go to that of the library.
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)
        return registry

    def page(self, accept: str) -> tuple[bytes, str]:
        """Return metrics and figures of the process, as Prometheus reads them.

        Returns:
            The page and its media type, OpenMetrics if *accept* asks for it: only that has
            exemplars.
        """
        encode, media_type = choose_encoder(accept)
        return encode(self._registry), media_type
