"""The world's own certificate authority and the certificates of its hosts."""

import ssl
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LASTS = timedelta(days=30)
_SKEW = timedelta(days=1)


class Authority:
    """Signs for hosts; made anew for each sandbox, its key is never written.

    Attributes:
        ca_file: Its certificate, PEM.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        # One key serves every host: these are names on loopback for a few minutes.
        self._hosts_key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = _authority(self._key)
        self.ca_file = folder / "ca.pem"
        self.ca_file.write_bytes(_pem(self._certificate))
        self._hosts_key_pem = self._hosts_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def context(self, names: list[str]) -> ssl.SSLContext:
        """Return a server's context with a certificate for *names*."""
        file = self._folder / f"{names[0]}.pem"
        file.touch(mode=0o600)
        file.write_bytes(self._hosts_key_pem + _pem(self._leaf(names)))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        file.unlink()  # the context holds it now
        return context

    def by_name(self, names_of: Mapping[str, list[str]]) -> ssl.SSLContext:
        """Return a context that shows each host its own certificate (SNI, RFC 6066).

        Args:
            names_of: Every host name to the names on its certificate.  A client that
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

    def _leaf(self, names: list[str]) -> x509.Certificate:
        alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
        return (
            _builder(self._hosts_key.public_key(), self._certificate.subject, names[0])
            .add_extension(alternatives, critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )


def _authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    usage = x509.KeyUsage(
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
    return (
        _builder(key.public_key(), _name("Sandbox CA"), "Sandbox CA")
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
        )
        .sign(key, hashes.SHA256())
    )


def _builder(
    key: ec.EllipticCurvePublicKey, issuer: x509.Name, name: str
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _LASTS)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
