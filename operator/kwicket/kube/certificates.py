"""Certificates of one server: made by an authority that signs this one and no other, and judged.

The authority's key is never kept, so nobody can make a second certificate that its clients trust.
Its clients trust the authority before as well, until that expires: a server of several replicas
changes over one by one.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

LIFETIME = timedelta(days=90)
"""How long a certificate and its authority are valid."""
SPARE = LIFETIME / 3
"""How long before its end a certificate is replaced."""
SKEW = timedelta(hours=1)
"""How far the clock of a client may be behind ours."""


class Certificate(Struct, frozen=True):
    """What a server and its clients need, each as PEM."""

    authorities: bytes
    """Whom clients trust: the authority that signed, and those before that have not expired."""
    chain: bytes
    key: bytes


def issue(names: Iterable[str], now: datetime, before: bytes = b"") -> Certificate:
    """A certificate for the DNS `names`, valid from `now` (with its zone) on.

    Those authorities of `before` that are still valid stay trusted; what can't be read is left
    out.
    """
    signer = ec.generate_private_key(ec.SECP256R1())
    key = ec.generate_private_key(ec.SECP256R1())
    title = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kwicket-authority")])
    authority = _authority(title, signer, now)
    leaf = _leaf(list(names), authority, signer, key.public_key(), now)
    trusted = [authority, *(old for old in _read(before) if old.not_valid_after_utc > now)]
    return Certificate(
        authorities=b"".join(each.public_bytes(Encoding.PEM) for each in trusted),
        chain=leaf.public_bytes(Encoding.PEM),
        key=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )


def why_renew(certificate: Certificate, names: Iterable[str], now: datetime) -> str | None:
    """Why it should be replaced, as a clause; None if it serves `names` well for long."""
    leaf = next(_read(certificate.chain), None)
    if leaf is None or not certificate.key:
        return "there is none yet"
    if not _is_key_of(leaf, certificate.key):
        return "its key is another one's"
    if missing := sorted(set(names) - set(_names(leaf))):
        return f"it is not for {missing[0]}"
    if now >= leaf.not_valid_after_utc - SPARE:
        return f"it expires at {leaf.not_valid_after_utc.isoformat()}"
    if not any(_signed(leaf, each) for each in _read(certificate.authorities)):
        return "none of its authorities signed it"
    return None


def expiry(chain: bytes) -> datetime | None:
    """When the first certificate of a PEM text ends, the server's; None if it can't be read."""
    leaf = next(_read(chain), None)
    return leaf.not_valid_after_utc if leaf else None


def _authority(
    title: x509.Name, signer: ec.EllipticCurvePrivateKey, now: datetime
) -> x509.Certificate:
    identifier = x509.SubjectKeyIdentifier.from_public_key(signer.public_key())
    usage = _usage(key_cert_sign=True, crl_sign=True)
    return (
        _dated(now)
        .subject_name(title)
        .issuer_name(title)
        .public_key(signer.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(identifier, critical=False)
        .sign(signer, hashes.SHA256())
    )


def _leaf(
    names: list[str],
    authority: x509.Certificate,
    signer: ec.EllipticCurvePrivateKey,
    key: ec.EllipticCurvePublicKey,
    now: datetime,
) -> x509.Certificate:
    signed_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    serves = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    return (
        _dated(now)
        .subject_name(x509.Name([]))
        .issuer_name(authority.subject)
        .public_key(key)
        .add_extension(x509.SubjectAlternativeName(map(x509.DNSName, names)), critical=True)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(serves, critical=False)
        .add_extension(signed_by, critical=False)
        .sign(signer, hashes.SHA256())
    )


def _dated(now: datetime) -> x509.CertificateBuilder:
    number = x509.random_serial_number()
    builder = x509.CertificateBuilder().serial_number(number)
    return builder.not_valid_before(now - SKEW).not_valid_after(now + LIFETIME)


def _usage(
    *, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False
) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _read(pem: bytes) -> Iterator[x509.Certificate]:
    """The certificates in a PEM text; none if it can't be read."""
    try:
        yield from x509.load_pem_x509_certificates(pem)
    except ValueError:
        return


def _names(leaf: x509.Certificate) -> list[str]:
    try:
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, ValueError):
        return []
    return found.value.get_values_for_type(x509.DNSName)


def _is_key_of(leaf: x509.Certificate, pem: bytes) -> bool:
    try:
        return load_pem_private_key(pem, None).public_key() == leaf.public_key()
    except (ValueError, TypeError):
        return False


def _signed(leaf: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        leaf.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
