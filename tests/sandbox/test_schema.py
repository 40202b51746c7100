import json

import jsonschema

from cs.sandbox.schema import schema_text
from cs.sandbox.world import BUNDLED


def test_bundled_world_is_what_the_schema_says() -> None:
    schema = json.loads(schema_text())
    jsonschema.Draft202012Validator.check_schema(schema)

    jsonschema.Draft202012Validator(schema).validate(json.loads(BUNDLED.read_text()))
