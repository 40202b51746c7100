"""No secret of a setting is shown, in whatever form it was written; the rest of it is."""

from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from cs.runtime.redaction import MASK, is_secret_name, redacted, secrets_in, without_secrets

#: Of secrets only: whatever else is written below is in lower case.
LETTERS = "QXZÄ"
SECRETS = st.text(LETTERS + "/?#@:&=%;'\" \\[]+", min_size=1, max_size=12).filter(
    lambda text: any(letter in LETTERS for letter in text)
)
SCHEMES = st.sampled_from(["postgresql", "postgres", "https", "http", "socks5h", "otlp+grpc"])
NAMES = st.sampled_from(
    (
        *("password", "pass%77ord", "p%61ss%2577ord", "sslpassword", "api_key", "apikey"),
        *("access_token", "x-api-key", "client.secret", "to%6ben", "user[password]"),
    )
)


def encoded(secret: str) -> str:
    return quote(secret, safe="")


def hides(shown: str, *, and_shows: tuple[str, ...] = ("db.internal", "5432", "main")) -> None:
    assert MASK in shown
    assert not set(shown) & set(LETTERS), shown
    assert "%C3" not in shown, shown
    for part in and_shows:
        assert part in shown, shown


@given(SCHEMES, SECRETS, st.sampled_from([encoded, str]))
def test_a_password_before_the_host_is_hidden_written_well_or_badly(
    scheme: str, secret: str, written: type[str]
) -> None:
    hides(redacted(f"{scheme}://cs:{written(secret)}@db.internal:5432/main?sslmode=require"))


@given(st.sampled_from(["https", "http", "amqps"]), SECRETS)
def test_a_token_before_the_host_is_hidden(scheme: str, secret: str) -> None:
    hides(redacted(f"{scheme}://{encoded(secret)}@db.internal:5432/main"))


@given(SCHEMES, NAMES, SECRETS, SECRETS)
def test_parameters_of_an_address_are_hidden(
    scheme: str, name: str, secret: str, other: str
) -> None:
    shown = redacted(
        f"{scheme}://cs:{encoded(other)}@db.internal:5432/main"
        f"?page=2&{name}={encoded(secret)}&sslmode=require"
    )

    hides(shown, and_shows=("db.internal", "5432", "main?page=2&", "&sslmode=require"))


@given(SCHEMES, NAMES, SECRETS.filter(lambda text: "&" not in text))
def test_parameters_are_hidden_where_they_are_not_encoded(
    scheme: str, name: str, secret: str
) -> None:
    hides(redacted(f"{scheme}://db.internal/?{name}={secret}"), and_shows=())


@given(SECRETS, st.sampled_from(["password=", "password = ", "PASSWORD =\t", "sslpassword="]))
def test_keywords_and_values_of_libpq_are_parsed(secret: str, name: str) -> None:
    quoted = "'" + secret.replace("\\", r"\\").replace("'", r"\'") + "'"
    bare = "".join("\\" + each if each in " \\'" else each for each in secret)

    for value in (quoted, bare):
        hides(redacted(f"host=db.internal {name}{value} port=5432 dbname=main"))


@given(SECRETS, st.sampled_from([list, tuple, lambda given: {"some": given[0]}]))
def test_items_of_lists_and_tables_are_hidden(secret: str, kind: type[list[str]]) -> None:
    hides(str(redacted(kind([f"https://cs:{secret}@db.internal:5432/main"]))))
    hides(str(redacted({"some": "main", "api_tokens": [secret]})), and_shows=("main",))


#: After "cs:" two slashes would make an address with a scheme.
@given(SECRETS.filter(lambda text: text[0] not in " \\" and text[:2] != "//"))
def test_a_password_without_a_scheme_is_hidden(secret: str) -> None:
    hides(redacted(f"cs:{secret}@db.internal:5432"), and_shows=("db.internal:5432",))


@given(st.text(LETTERS + "/?#@:&'\" \\", min_size=4, max_size=12), SECRETS)
def test_what_is_hidden_in_a_setting_is_hidden_in_texts(secret: str, words: str) -> None:
    found = list(secrets_in(f"postgresql://cs:{encoded(secret)}@db.internal/main"))

    for quoting in (secret, repr(secret), encoded(secret)):
        shown = without_secrets(f"{words}|{quoting}|end", found)
        assert secret not in shown.removeprefix(words)
        assert encoded(secret) not in shown.removeprefix(words)


def test_what_holds_no_secret_is_shown_as_it_is() -> None:
    plain = (
        *(
            "postgresql://cs@db.internal/cs?sslmode=verify-full",
            "postgresql:///cs?host=/run/pg",
        ),
        *("https://www.wikidata.org/w/api.php?action=query&page=2", "https://a.test/@brand"),
        *("mailto:ops@acme.test", "ops@acme.test", "https://acme.test/bot", "kafka-1:9092"),
        *("[::1]:53", "10.0.0.0/8", "searxng, brave", ""),
    )

    assert [redacted(each) for each in plain] == list(plain)
    assert [redacted(each) for each in (7, None, True)] == [7, None, True]
    assert not any(map(is_secret_name, ("sslmode", "host", "url", "user", "dbname", "file")))
