"""Certificates for servers and their clients, made by the test that needs them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_LASTS = timedelta(days=1)
_SKEW = timedelta(hours=1)
#: What an authority's key is for.
_SIGNS = x509.KeyUsage(
    digital_signature=False,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True)
class Certified:
    """Where a key and its certificate are, PEM."""

    certificate: Path
    key: Path
    both: Path  # in one file, the key first


class CertificateAuthority:
    """Signs what it is asked to.

    Attributes:
        file: Its certificate, PEM.
    """

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._name = name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(_pem(self._itself()))

    def certify(self, name: str) -> Certified:
        """Return a new certificate of *name*, for a server at 127.0.0.1 or for a client."""
        key = ec.generate_private_key(ec.SECP256R1())
        shown = _pem(self._of(name, key))
        secret = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        made = Certified(*(self._folder / f"{name}.{end}" for end in ("crt", "key", "pem")))
        made.certificate.write_bytes(shown)
        made.key.write_bytes(secret)
        made.both.write_bytes(secret + shown)
        return made

    def _itself(self) -> x509.Certificate:
        public = self._key.public_key()
        return (
            self._begun(self._name, public)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_SIGNS, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    def _of(self, name: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
        here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            self._begun(name, key.public_key())
            .add_extension(here, critical=False)
            .add_extension(signer, critical=False)
            .sign(self._key, hashes.SHA256())
        )

    def _begun(self, name: str, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(_called(name))
            .issuer_name(_called(self._name))
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _SKEW)
            .not_valid_after(now + _LASTS)
        )


def _called(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
