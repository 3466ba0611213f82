"""Verifies a delivery as a receiver in Python does, with `standardwebhooks`, and prints its envelope.

On stdin: {"secret", "headers", "body"}. For a refused delivery it exits with the name of the exception on stderr.
"""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

asked = json.load(sys.stdin)
try:
    envelope = Webhook(asked["secret"]).verify(asked["body"].encode(), asked["headers"])
except WebhookVerificationError as refused:
    sys.exit(type(refused).__name__)
print(json.dumps(envelope))
