"""`cs verifiers check`: what works, what it costs, what is left."""

from pathlib import Path

from cli.command import Here
from sources.people_services import always, error, ok
from sources.played_services import on_port

KEY = "k3y-of-ours"
REFUSED = {"error": "Invalid API key or your account ran out of credits"}
NEVERBOUNCE = {
    "status": "success",
    "result": "invalid",
    "flags": [],
    "credits_info": {"paid_credits_remaining": 950, "free_credits_remaining": 50},
}


def test_each_verifier_is_told_with_its_state_price_and_what_is_left(
    here: Here, tmp_path: Path
) -> None:
    config = tmp_path / "cs.toml"
    with (
        on_port(always(ok(NEVERBOUNCE))) as neverbounce,
        on_port(always(error(402))) as kickbox,
        on_port(
            always(ok({"error": "Invalid API key or your account ran out of credits"}))
        ) as (zerobounce),
    ):
        places = {"neverbounce": neverbounce, "kickbox": kickbox, "zerobounce": zerobounce}
        toml = "".join(
            f'[verifiers.{name}]\nurl = "{place.url}"\nkey = "{KEY}"\n'
            for name, place in places.items()
        )
        config.write_text(f'data_dir = "{tmp_path}"\n{toml}[verifiers.smtp]\nhelo = "o.test"\n')

        ran = here("verifiers", "check", "--json", f"--config={config}")
        table = here("verifiers", "check", f"--config={config}", width=100)

    rows = {row["name"]: row for row in ran.rows}
    assert ran.code == table.code == 1
    assert {name: row["ended"] for name, row in rows.items()} == {
        "hunter": "not-configured",
        "kickbox": "no-credits",
        "millionverifier": "not-configured",
        "neverbounce": "works",
        "reacher": "not-configured",
        "smtp": "not-checked",
        "zerobounce": "key-refused",
    }
    assert rows["neverbounce"]["left"] == "1000 credits"
    assert rows["neverbounce"]["usd_per_call"] == 0.008
    assert rows["reacher"]["why"] == "set verifiers.reacher.url"
    assert {row["kind"] for row in rows.values()} == {"verifier"}
    assert KEY not in ran.out + ran.err + table.out
    assert "1000 credits left" in table.out
