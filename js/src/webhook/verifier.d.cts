// The receiver's side of webhooks.

import { TillgateError } from "../shared/error.cjs";
import type { WebhookErrorCode } from "../shared/error.cjs";

export type { WebhookErrorCode } from "../shared/error.cjs";

/** The delivery is not acceptable. The message contains no token, no claim and no secret. */
export class WebhookError extends TillgateError {
  readonly code: WebhookErrorCode;
  /** The status to answer with: 401, 400 and 413 reject the delivery, 503 asks the sender to try again. */
  readonly status: 400 | 401 | 413 | 503;
  constructor(error: { code: WebhookErrorCode; cause?: unknown; retryAfterMs?: number });
}

/** The options of every verifier. */
export interface WebhookOptions {
  /** The webhook's shared key; during a change, several, at most 4. Leave it out only if the webhook has none. */
  sharedKey?: string | readonly string[];
  /** The header with the data's signature; `X-Service-Signature` by default. */
  signatureHeader?: string | undefined;
  /**
   * True if the body must be signed, by Standard Webhooks or in `X-Service-Body-Signature`; false by default. A signed body is
   * always verified.
   */
  requireBodySignature?: boolean | undefined;
  /** The largest difference from the sender's clock and the largest age of a signed body; 300 by default. */
  toleranceSeconds?: number | undefined;
  /** The largest body that is accepted; 1 MiB by default. */
  maxBodyBytes?: number | undefined;
  /** The time in milliseconds since 1970; `Date.now` by default. */
  now?: (() => number) | undefined;
}

/** A webhook with `"authentication": { "type": "BEARER" }`. */
export interface BearerWebhookOptions extends WebhookOptions {
  scheme: "BEARER";
  /** The webhook's `callbackUrl`, character for character. */
  audience: string;
  /** The e-mail address of the sender's service account. */
  email: string;
  /** The sender's identity provider. */
  issuer: string;
  /** Where the identity provider publishes its certificates: `/oauth2/v1/certs` of a Tillgate host. */
  certificatesUrl?: string | URL | undefined;
  /** The certificates by their ids, in PEM, instead of an address. */
  certificates?: { readonly [kid: string]: string } | undefined;
  fetch?: typeof globalThis.fetch | undefined;
}

export interface BasicCredentials {
  username: string;
  password: string;
}

/** A webhook with `"authentication": { "type": "BASIC" }`. */
export type BasicWebhookOptions = WebhookOptions & { scheme: "BASIC" } & (
    | (BasicCredentials & { credentials?: undefined })
    /** Several credentials, while a password is being changed. */
    | { credentials: readonly BasicCredentials[]; username?: undefined; password?: undefined }
  );

/**
 * The headers of a request: a `Headers`, Node's `rawHeaders`, `headersDistinct` or `headers`, or names and values. Node's
 * `headers` hides that an Authorization header occurred twice.
 */
export type WebhookHeaders =
  | Headers
  | { entries(): Iterable<[string, string]> }
  | readonly string[]
  | readonly (readonly [string, string])[]
  | { readonly [name: string]: string | readonly string[] | undefined };

/** An event that was delivered. */
export class WebhookEvent<Data = unknown> {
  private constructor();
  /** Stays the same when this event is delivered again. */
  readonly id: string;
  /** The time at which it happened, in UTC with milliseconds. */
  readonly time: string;
  readonly type: string;
  readonly datacontenttype?: string;
  readonly meta?: { readonly deprecationNotice?: { readonly removedAfter?: string } };
  readonly source?: string;
  readonly specversion?: string;
  /** The data as bytes. */
  readonly bytes: Uint8Array;
  /** The data: a value if it is JSON, otherwise text. @throws {WebhookError} `malformed_data`. */
  readonly data: Data;
  /** The envelope as received. */
  toJSON(): { readonly [member: string]: unknown };
}

/** Verifies the deliveries of a webhook. Keep one instance: it remembers certificates and tokens. */
export class WebhookVerifier {
  /** @throws {TillgateError} `invalid`, if something that must be checked is missing. */
  constructor(options: BearerWebhookOptions | BasicWebhookOptions);
  /** @throws {WebhookError} if the delivery is not acceptable. */
  verify<Data = unknown>(request: {
    headers: WebhookHeaders;
    /** The body as received, before any parser. */
    body: Uint8Array | ArrayBuffer | string;
  }): Promise<WebhookEvent<Data>>;
}
