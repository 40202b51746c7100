"""Settings come from a file, then the environment, then options; what is wrong is reported."""

from pathlib import Path

import pytest

from cs.settings import BadSettings, Settings, allowed, load


def test_each_place_overrides_the_one_before(tmp_path: Path) -> None:
    file = tmp_path / "cs.toml"
    file.write_text('port = 1\nadmin_port = 2\nhost = "a.example"\ndata_dir = "from-file"')
    environment = {"CS_CONFIG": str(file), "CS_ADMIN_PORT": "3", "CS_HOST": "b.example"}

    settings = load(environment=environment, given={"host": "c.example", "port": None})

    assert (settings.port, settings.admin_port, settings.host) == (1, 3, "c.example")
    assert settings.data_dir == Path("from-file")


def test_nothing_given_is_the_defaults() -> None:
    assert load(environment={}) == Settings()


def test_environment_texts_become_what_the_setting_is() -> None:
    settings = load(
        environment={
            "CS_DATA_DIR": "/srv/cs",
            "CS_LOOKUP_DEADLINE_S": "1.5",
            "CS_VERIFIERS": "smtp, other",
            "CS_WEB_PORTS": "8080,8443",
            "CS_LOOKUPS_PER_DAY": "9",
            "CS_SMTP_MAIL_FROM": "probe@us.example",
        }
    )

    assert settings.data_dir == Path("/srv/cs")
    assert settings.lookup_deadline_s == 1.5
    assert settings.verifiers == ("smtp", "other")
    assert settings.web_ports == (8080, 8443)
    assert settings.lookups_per_day == 9
    assert settings.smtp_mail_from == "probe@us.example"


def test_an_empty_variable_counts_as_none() -> None:
    """Compose files and charts pass those on."""
    environment = {"CS_PORT": "", "CS_SEARXNG_URL": "", "CS_VERIFIERS": "", "CS_CONFIG": ""}

    assert load(environment=environment) == Settings()


def test_what_only_callers_and_tests_set_is_no_setting() -> None:
    environment = {"CS_URL": "x", "CS_API_KEY": "x", "CS_TEST_POSTGRES": "x", "PORT": "x"}

    assert load(environment=environment) == Settings()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('port = "abc"', "port: a whole number from 0 to 65535, not 'abc'"),
        ("port = 65536", "port: a whole number from 0 to 65535, not 65536"),
        ("port = true", "port: a whole number from 0 to 65535, not True"),
        ("contacts = 0", "contacts: a whole number from 1 to 100, not 0"),
        ("lookups_per_day = -1", "lookups_per_day: a whole number, 0 or more, not -1"),
        ("lookup_deadline_s = nan", "lookup_deadline_s: a number above 0, at most 3600"),
        ('log_level = "loud"', "log_level: one of debug, error, info, warning, not 'loud'"),
        ('host = ""', "host: a host name or an IP address, not ''"),
        ("data_dir = 5", "data_dir: a path, not 5"),
        ('brand_sources = "wikidata"', "brand_sources: a list of names, not 'wikidata'"),
        ("web_ports = [80]", "web_ports: a list of 2, each a whole number from 0 to 65535"),
        ('allow_networks = ["10.0.0.0/99"]', "allow_networks: a list of networks like 10."),
        ('dns = "localhost:53"', "dns: IP address and port of a name server, like 127.0.0.1"),
        ('dns = "127.0.0.1:0"', "dns: IP address and port"),
        ('searxng_url = "searx.example"', "searxng_url: an address like http://"),
        ('wikidata_url = "http://[::1"', "wikidata_url: an address like https://"),
        ('wikidata_url = "http://a.example:99999"', "wikidata_url: an address like https://"),
        ('smtp_mail_from = "nobody"', "smtp_mail_from: an e-mail address, or nothing"),
        ('ca_file = "/nowhere.pem"', "ca_file: a readable file of certificates"),
        ('prot = "1"', "there is no setting 'prot'; did you mean 'port'?"),
        ("[server]", "there is no setting 'server'; there are data_dir, host,"),
        ("port = ]", "is not TOML: Invalid value (at line 1,"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(
    tmp_path: Path, line: str, message: str
) -> None:
    file = tmp_path / "cs.toml"
    file.write_text(line)

    with pytest.raises(BadSettings) as error:
        load(file, environment={})

    assert f"settings file {file}" in str(error.value)
    assert message in str(error.value)


def test_a_variable_and_an_option_are_named_as_the_place() -> None:
    with pytest.raises(BadSettings, match=r"^environment variable CS_PORT: port: a whole"):
        load(environment={"CS_PORT": "abc"})
    with pytest.raises(BadSettings, match=r"^option --admin-port: admin_port: a whole"):
        load(environment={}, given={"admin_port": -1})
    with pytest.raises(BadSettings, match=r"^environment variable CS_PROT: there is no"):
        load(environment={"CS_PROT": "1"})


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="cannot be read: No such file"):
        load(tmp_path / "none.toml", environment={})
    with pytest.raises(BadSettings, match="cannot be read: Is a directory"):
        load(environment={"CS_CONFIG": str(tmp_path)})


def test_every_setting_says_what_is_allowed() -> None:
    assert all(allowed(name) for name in Settings.__struct_fields__ if name != "plugins")
    assert allowed("contact") == "a text"


#: Keys that no header can carry.
UNSENDABLE = ("s3cr3t\n", "s3cr3t\r\nX: 1", "s3cr\u00e9t", "s3cr\x00t", " s3cr3t")


@pytest.mark.parametrize("key", UNSENDABLE)
@pytest.mark.parametrize("plugin", ["sources.serper", "verifiers.hunter", "verifiers.reacher"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(plugin: str, key: str) -> None:
    section, name = plugin.split(".")
    variable = f"CS_{section.upper()}__{name.upper()}__KEY"

    with pytest.raises(BadSettings) as caught:
        load(environment={variable: key})

    message = str(caught.value)
    assert message.startswith(f"environment variable {variable}: {plugin}.key: ")
    assert "printable ASCII in one line" in message
    assert "s3c" not in message
