"""The certificates of a world's hosts, and the authority that signs them."""

import ssl
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LASTS = timedelta(days=30)
_SKEW = timedelta(days=1)
_SIGNS = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)
_PURPOSES = x509.ExtendedKeyUsage(
    (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
)


class Authority:
    """Signs for hosts; its key is never written.

    Attributes:
        ca_file: Its certificate, PEM.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        # One key serves every host: these are names on loopback for a few minutes.
        self._hosts_key = ec.generate_private_key(ec.SECP256R1())
        own_id = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        self._issuer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own_id)
        certificate = self._builder("Sandbox CA", self._key, path_length=0)
        certificate = certificate.add_extension(own_id, critical=False)
        self.ca_file = folder / "ca.pem"
        self.ca_file.write_bytes(self._sign(certificate.add_extension(_SIGNS, critical=True)))

    def pem(self, names: list[str]) -> bytes:
        """Return a key, and a certificate for *names*, which may be IP addresses."""
        key = self._hosts_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        certificate = self._builder(names[0], self._hosts_key, path_length=None)
        for extension in (
            x509.SubjectAlternativeName(list(map(_general_name, names))),
            _PURPOSES,
            self._issuer,
        ):
            certificate = certificate.add_extension(extension, critical=False)
        return key + self._sign(certificate)

    def context(self, names: list[str]) -> ssl.SSLContext:
        """Return a server's context with a certificate for *names*."""
        file = self._folder / f"{names[0]}.pem"
        file.touch(mode=0o600)
        file.write_bytes(self.pem(names))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        file.unlink()  # the context holds it now
        return context

    def by_name(self, names_of: Mapping[str, list[str]]) -> ssl.SSLContext:
        """Return a context that shows each host its own certificate (SNI, RFC 6066).

        Args:
            names_of: Every host name, with the names on its certificate. A client that
                asks for another name is shown a certificate for none of them.
        """
        groups = {names[0]: names for names in names_of.values()}
        contexts = {first: self.context(names) for first, names in groups.items()}
        default = self.context(["sandbox.invalid"])

        def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            names = names_of.get((name or "").casefold())
            if names is not None:
                connection.context = contexts[names[0]]

        default.sni_callback = choose
        return default

    def _builder(
        self, name: str, key: ec.EllipticCurvePrivateKey, path_length: int | None
    ) -> x509.CertificateBuilder:
        """Return a certificate for *key*, of an authority if it has a *path_length*."""
        now = datetime.now(UTC)
        limits = x509.BasicConstraints(ca=path_length is not None, path_length=path_length)
        return (
            x509.CertificateBuilder()
            .subject_name(_name(name))
            .issuer_name(_name("Sandbox CA"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _SKEW)
            .not_valid_after(now + _LASTS)
            .add_extension(limits, critical=True)
        )

    def _sign(self, certificate: x509.CertificateBuilder) -> bytes:
        return certificate.sign(self._key, hashes.SHA256()).public_bytes(
            serialization.Encoding.PEM
        )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])
