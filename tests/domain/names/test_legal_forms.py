import pytest

from cs.domain.names.brand_forms import without_legal_forms


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("Acme S.A.B. de C.V.", "Acme"),
        ("ТОВ «Рошен»", "Рошен"),
        ("Acme Foods FZ-LLC", "Acme Foods"),
        ("Acme hf", "Acme hf"),  # a word of so few letters, and not written as a form
        ("Acme hf.", "Acme"),
        ("SIA", "SIA"),  # something has to stay
        ("有限公司", "有限公司"),
        ("Acme Cooperative", "Acme Cooperative"),
        ("", ""),
    ],
)
def test_only_forms_go_and_a_name_stays(name: str, left: str) -> None:
    assert without_legal_forms(name) == left
