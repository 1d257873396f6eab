"""Certificates: served and trusted over TLS, judged, and trusted past a renewal."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kwicket.kube.certificates import LIFETIME, SPARE, Certificate, issue, why_renew

NAME = "kwicket-webhook.kwicket-system.svc"
NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def server(certificate: Certificate, folder: Path) -> ssl.SSLContext:
    chain, key = folder / "tls.crt", folder / "tls.key"
    chain.write_bytes(certificate.chain)
    key.write_bytes(certificate.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    return context


def shake_hands(authorities: bytes, context: ssl.SSLContext, name: str = NAME) -> None:
    """A whole TLS handshake in memory, as strict as Python can be. Raises SSLError."""
    trusting = ssl.create_default_context(cadata=authorities.decode())
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(to_client, to_server, server_hostname=name)
    served = context.wrap_bio(to_server, to_client, server_side=True)
    left = [client, served]
    while left:
        for side in tuple(left):
            try:
                side.do_handshake()
                left.remove(side)
            except ssl.SSLWantReadError:
                continue


def test_a_client_that_trusts_its_authorities_accepts_it_for_its_name_only(tmp_path: Path) -> None:
    certificate = issue([NAME], datetime.now(UTC))
    context = server(certificate, tmp_path)
    shake_hands(certificate.authorities, context)
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(certificate.authorities, context, "other.kwicket-system.svc")
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate verify failed"):
        shake_hands(issue([NAME], datetime.now(UTC)).authorities, context)


def test_a_new_one_is_good_until_a_third_of_its_life_is_left() -> None:
    certificate = issue([NAME], NOW)
    assert why_renew(certificate, [NAME], NOW) is None
    assert why_renew(certificate, [NAME], NOW + LIFETIME - SPARE - SECOND) is None
    reason = why_renew(certificate, [NAME], NOW + LIFETIME - SPARE)
    assert reason == "it expires at 2027-02-28T08:00:00+00:00"


def test_after_a_renewal_the_old_and_the_new_are_trusted(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    old = issue([NAME], now - LIFETIME + SPARE)
    new = issue([NAME], now, old.authorities)
    for certificate in (old, new):
        shake_hands(new.authorities, server(certificate, tmp_path))


def test_authorities_that_have_expired_are_forgotten() -> None:
    first = issue([NAME], NOW)
    assert issue([NAME], NOW + LIFETIME, first.authorities).authorities.count(b"BEGIN") == 1
    assert (
        issue([NAME], NOW + LIFETIME - SECOND, first.authorities).authorities.count(b"BEGIN") == 2
    )


def test_the_key_of_an_authority_is_not_kept() -> None:
    certificate = issue([NAME], NOW)
    assert certificate.key.count(b"PRIVATE KEY-----\n") == 2  # begins and ends, once
    assert b"PRIVATE" not in certificate.authorities + certificate.chain


GOOD, OTHER = issue([NAME], NOW), issue([NAME], NOW)


@pytest.mark.parametrize(
    ("certificate", "reason"),
    [
        (Certificate(b"", b"", b""), "there is none yet"),
        (Certificate(GOOD.authorities, b"rubbish", GOOD.key), "there is none yet"),
        (Certificate(GOOD.authorities, GOOD.chain, b""), "there is none yet"),
        (Certificate(GOOD.authorities, GOOD.chain, b"rubbish"), "its key is another one's"),
        (Certificate(GOOD.authorities, GOOD.chain, OTHER.key), "its key is another one's"),
        (Certificate(b"", GOOD.chain, GOOD.key), "none of its authorities signed it"),
        (Certificate(b"rubbish", GOOD.chain, GOOD.key), "none of its authorities signed it"),
        (Certificate(OTHER.authorities, GOOD.chain, GOOD.key), "none of its authorities signed it"),
    ],
)
def test_one_that_can_not_be_served_or_trusted_is_replaced(
    certificate: Certificate, reason: str
) -> None:
    assert why_renew(certificate, [NAME], NOW) == reason


def test_one_for_another_name_is_replaced() -> None:
    assert why_renew(GOOD, [NAME, "new.svc"], NOW) == "it is not for new.svc"


def test_rubbish_among_the_authorities_is_left_out() -> None:
    assert issue([NAME], NOW, b"rubbish").authorities.count(b"BEGIN") == 1
