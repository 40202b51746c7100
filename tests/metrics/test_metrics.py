"""What is counted comes out as Prometheus reads it."""

from typing import Any

from prometheus_client import Counter
from prometheus_client.parser import text_string_to_metric_families as plain

#: Values of labels that one metric has at most.
CHILDREN = 500


def samples(page: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in plain(page.decode())
        for sample in family.samples
    }


def test_a_gauge_read_on_demand_ends_with_its_owner(metrics: Any) -> None:
    with metrics.follower_position.measured(lambda: 7, "relay"):
        assert (
            samples(metrics.page("")[0])["cs_follower_position", (("follower", "relay"),)] == 7
        )

    assert b'follower="relay"' not in metrics.page("")[0]


def test_labels_without_a_bound_cannot_fill_the_memory(metrics: Any) -> None:
    for number in range(CHILDREN + 100):
        metrics.dead_letters.of(f"topic-{number}").inc()

    found = samples(metrics.page("")[0])

    assert sum(name == "cs_dead_letters_total" for name, _ in found) == CHILDREN + 1
    assert found["cs_dead_letters_total", (("topic", "other"),)] == 100


def test_every_metric_is_named_by_the_conventions(metrics: Any) -> None:
    """https://prometheus.io/docs/practices/naming/: one prefix, base units, `_total`."""
    families = metrics.families()
    for each in families:
        assert each.name.startswith("cs_"), each.name
        assert each.name.endswith("_total") == (each.kind is Counter), each.name
        assert not each.name.endswith(("_ms", "_milliseconds", "_count", "_sum", "_bucket"))
        assert each.text.endswith("."), each.text
    assert len({each.name for each in families}) == len(families)
