"""Verifies a bearer token as a receiver in Python does, with PyJWT and cryptography, and prints its claims.

On stdin: {"token", "certificates": {kid: pem}, "audience", "issuer"}. For a refused token it exits with the name
of the exception on stderr.
"""

import json
import sys

import jwt
from cryptography.x509 import load_pem_x509_certificate

asked = json.load(sys.stdin)
try:
    kid = jwt.get_unverified_header(asked["token"])["kid"]
    certificate = load_pem_x509_certificate(asked["certificates"][kid].encode())
    claims = jwt.decode(
        asked["token"],
        certificate.public_key(),
        algorithms=["RS256"],
        audience=asked["audience"],
        issuer=asked["issuer"],
        options={"require": ["aud", "iss", "iat", "exp", "sub"]},
    )
except (KeyError, jwt.PyJWTError) as refused:
    sys.exit(type(refused).__name__)
print(json.dumps(claims))
