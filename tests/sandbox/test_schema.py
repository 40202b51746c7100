import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cs.sandbox import schema
from cs.sandbox.errors import WorldError
from cs.sandbox.world import BUNDLED, load
from sandbox.small_world import ACME, acme_with


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    written = json.loads(schema.schema_text())
    jsonschema.Draft202012Validator.check_schema(written)
    return jsonschema.Draft202012Validator(written)


def test_bundled_world_is_what_the_schema_says(
    validator: jsonschema.Draft202012Validator,
) -> None:
    validator.validate(json.loads(BUNDLED.read_text()))


def mail(**parts: Any) -> dict[str, Any]:
    return {"brands": [ACME], "mail": [{"domain": "acme.test", **parts}]}


BAD: dict[str, Any] = {
    "no brands": {},
    "brands no list": {"brands": ACME},
    "unknown field": {"brands": [], "color": "red"},
    "unknown field far in": {"brands": [acme_with(site={"color": "red"})]},
    "no intention": {"brands": [{"name": "Acme", "domain": "acme.test"}]},
    "unknown outcome": {"brands": [acme_with(intends={"outcome": "fine"})]},
    "nobody asks": {"brands": [acme_with(intends={"outcome": "no_emails", "asked_by": []})]},
    "domain of one label": {"brands": [acme_with(domain="acme")]},
    "domain in capitals": {"brands": [acme_with(domain="Acme.test")]},
    "domain with line end": {"brands": [acme_with(domain="acme.test\n")]},
    "empty name": {"brands": [acme_with(name="")]},
    "number for a name": {"brands": [acme_with(name=7)]},
    "negative seed": {"brands": [], "seed": -1},
    "seed in words": {"brands": [], "seed": "one"},
    "unknown behaviour": mail(behaviour={"kind": "grumpy"}),
    "behaviour without kind": mail(behaviour={"hint_s": 2}),
    "behaviour as a word": mail(behaviour="plain"),
    "field of another behaviour": mail(behaviour={"kind": "plain", "hint_s": 2}),
    "greylisting without hint": mail(behaviour={"kind": "greylisting"}),
    "unknown code": mail(behaviour={"kind": "full", "code": 451}),
    "too slow": mail(behaviour={"kind": "slow", "delay_s": 601}),
    "unknown mailbox state": mail(mailboxes={"jo": "shut"}),
    "null for a list": mail(hosts=None),
    "status of success": {
        "brands": [],
        "services": {"searxng": {"failure": {"kind": "status", "code": 200}}},
    },
    "failure of the other service": {
        "brands": [],
        "services": {"searxng": {"failure": {"kind": "maxlag"}}},
    },
    "page of another scheme": {"brands": [], "pages": [{"title": "x", "url": "ftp://x.test/"}]},
}
GOOD: dict[str, Any] = {
    "nothing": {"brands": []},
    "Acme": {"brands": [ACME]},
    "with its schema": {"$schema": "world.schema.json", "brands": [ACME]},
    "greylisting": mail(behaviour={"kind": "greylisting", "hint_s": 2.5}),
    "mailboxes": mail(mailboxes={"press": "open", "jo.ek": "open"}),
    "trouble": {"brands": [acme_with(trouble={"wikidata": {"failure": {"kind": "maxlag"}}})]},
}


def test_schema_and_loader_accept_and_refuse_the_same(
    validator: jsonschema.Draft202012Validator, tmp_path: Path
) -> None:
    file, wrong = tmp_path / "world.json", []
    for name, document in {**GOOD, **BAD}.items():
        file.write_text(json.dumps(document))
        try:
            load(file)
            loads = True
        except WorldError:
            loads = False
        if not loads is validator.is_valid(document) is (name in GOOD):
            wrong.append(name)

    assert wrong == []
