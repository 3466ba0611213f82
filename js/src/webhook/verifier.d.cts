// The receiver's side of webhooks.

import { TillgateError } from "../shared/error.cjs";
import type { WebhookErrorCode } from "../shared/error.cjs";

export type { WebhookErrorCode } from "../shared/error.cjs";

/** A delivery is not to be accepted. The message contains no token, no claim and no secret. */
export class WebhookError extends TillgateError {
  readonly code: WebhookErrorCode;
  /** What to answer: 401, 400 and 413 reject the delivery, 503 asks the sender to try again. */
  readonly status: 400 | 401 | 413 | 503;
  constructor(error: { code: WebhookErrorCode; cause?: unknown; retryAfterMs?: number });
}

/** What any verifier checks. */
export interface WebhookOptions {
  /** The webhook's shared key; several while it is being changed, at most 4. Leave it out only if the webhook has none. */
  sharedKey?: string | readonly string[];
  /** The header that the data's signature is in; `X-Service-Signature` by default. */
  signatureHeader?: string | undefined;
  /**
   * Whether the body must be signed, by Standard Webhooks or in `X-Service-Body-Signature`; false by default. If it is, that
   * is always verified.
   */
  requireBodySignature?: boolean | undefined;
  /** How far the sender's clock may be from this one, and how old a signed body may be; 300 by default. */
  toleranceSeconds?: number | undefined;
  /** A larger body is refused; 1 MiB by default. */
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
    /** Several, while a password is being changed. */
    | { credentials: readonly BasicCredentials[]; username?: undefined; password?: undefined }
  );

/**
 * The headers of a request: a `Headers`, Node's `rawHeaders`, `headersDistinct` or `headers`, or names and values. Node's
 * `headers` cannot tell that an Authorization header was there twice.
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
  /** The same whenever this event is delivered again. */
  readonly id: string;
  /** When it happened, in UTC with milliseconds. */
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
  /** The envelope as it was received. */
  toJSON(): { readonly [member: string]: unknown };
}

/** Verifies the deliveries of a webhook. Make one and keep it: it remembers certificates and tokens. */
export class WebhookVerifier {
  /** @throws {TillgateError} `invalid`, when something that must be checked is missing. */
  constructor(options: BearerWebhookOptions | BasicWebhookOptions);
  /** @throws {WebhookError} when the delivery is not to be accepted. */
  verify<Data = unknown>(request: {
    headers: WebhookHeaders;
    /** The body as it was received, before any parser. */
    body: Uint8Array | ArrayBuffer | string;
  }): Promise<WebhookEvent<Data>>;
}
