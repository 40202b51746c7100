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
_PURPOSES = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)


class Authority:
    """Signs for hosts; made for each sandbox, and its key is never written.

    Attributes:
        ca_file: Its certificate, PEM.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        own_id = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        self._issued = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own_id)
        usage = dict.fromkeys(
            (
                "content_commitment",
                "key_encipherment",
                "data_encipherment",
                "key_agreement",
                "encipher_only",
                "decipher_only",
            ),
            False,
        )
        signs = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, **usage
        )
        own = self._signed(self._key.public_key(), "Sandbox CA", own_id, signs, is_ca=True)
        self.ca_file = folder / "ca.pem"
        self.ca_file.write_bytes(own)
        # One key serves every host: these are names on loopback for a few minutes.
        self._hosts_key = ec.generate_private_key(ec.SECP256R1())
        self._hosts_key_pem = self._hosts_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def pem(self, names: list[str]) -> bytes:
        """Return a key, and a certificate for *names*, which may be IP addresses."""
        certificate = self._signed(
            self._hosts_key.public_key(),
            names[0],
            x509.SubjectAlternativeName(list(map(_general_name, names))),
            x509.ExtendedKeyUsage(_PURPOSES),
            self._issued,
            is_ca=False,
        )
        return self._hosts_key_pem + certificate

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

    def _signed(
        self,
        key: ec.EllipticCurvePublicKey,
        name: str,
        *extensions: x509.ExtensionType,
        is_ca: bool,
    ) -> bytes:
        """Return a certificate for *key*, PEM."""
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(_name(name))
            .issuer_name(_name("Sandbox CA"))
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _SKEW)
            .not_valid_after(now + _LASTS)
        )
        limits = x509.BasicConstraints(ca=is_ca, path_length=0 if is_ca else None)
        builder = builder.add_extension(limits, critical=True)
        for extension in extensions:
            critical = isinstance(extension, x509.KeyUsage)
            builder = builder.add_extension(extension, critical=critical)
        certificate = builder.sign(self._key, hashes.SHA256())
        return certificate.public_bytes(serialization.Encoding.PEM)


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])
