"""Schemas of other projects' kinds, as far as the chart writes them: the fields it may use."""

from typing import Any

TEXT = {"type": "string", "minLength": 1}


def closed(required: list[str], **properties: Any) -> dict[str, Any]:
    """An object with these properties and no others."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": properties,
    }


ISSUER_REF = closed(["name"], name=TEXT, kind=TEXT, group=TEXT)
PRIVATE_KEY = closed(
    [],
    algorithm={"enum": ["RSA", "ECDSA", "Ed25519"]},
    size={"type": "integer"},
    rotationPolicy={"enum": ["Never", "Always"]},
)
DURATION = {"type": "string", "pattern": "^([0-9]+(h|m|s))+$"}
CERTIFICATE = closed(
    ["issuerRef", "secretName"],
    isCA={"type": "boolean"},
    commonName=TEXT,
    secretName=TEXT,
    dnsNames={"type": "array", "items": TEXT},
    duration=DURATION,
    renewBefore=DURATION,
    privateKey=PRIVATE_KEY,
    usages={"type": "array", "items": {"enum": ["digital signature", "server auth"]}},
    issuerRef=ISSUER_REF,
)
ISSUER = {
    "oneOf": [
        closed(["selfSigned"], selfSigned=closed([])),
        closed(["ca"], ca=closed(["secretName"], secretName=TEXT)),
    ]
}
SERVICE_MONITOR = closed(
    ["selector", "endpoints"],
    selector=closed(["matchLabels"], matchLabels={"type": "object", "additionalProperties": TEXT}),
    endpoints={"type": "array", "minItems": 1, "items": closed(["port"], port=TEXT)},
)
CUSTOM_KINDS = {
    ("monitoring.coreos.com/v1", "ServiceMonitor"): SERVICE_MONITOR,
    ("cert-manager.io/v1", "Certificate"): CERTIFICATE,
    ("cert-manager.io/v1", "Issuer"): ISSUER,
}
"""The schema of `spec`, by apiVersion and kind."""
