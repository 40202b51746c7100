"""The tests that every source and verifier has to pass; needs ``contact-search[testing]``."""

import pytest

for _name in ("brand_source", "people_source", "verifier"):
    pytest.register_assert_rewrite(f"{__name__}.{_name}")
