"""The tests that every plug-in has to pass; needs ``contact-search[testing]``."""

import pytest

for _name in ("brand_source", "people_source", "stage", "verifier"):
    pytest.register_assert_rewrite(f"{__name__}.{_name}")
