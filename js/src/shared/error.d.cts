// The errors of this package, with all their codes.

/** The kind of error. */
export type ErrorCode = LocalErrorCode | ProblemCode | WebhookErrorCode;

/** Errors that do not come from a host. Invalid or missing things have the host's codes here too. */
export type LocalErrorCode =
  /** Call `await init()` first; for a client of rates, wait for `ready()`. */
  | "not_ready"
  /** Load the module of this package. */
  | "wrong_module"
  /** Try again: the next call uses a new instance. */
  | "trap"
  /** Send a smaller request. */
  | "too_large"
  /** Do not use it after you have freed or closed it. */
  | "freed"
  | "closed"
  /** Correct the address: the server there is neither a Tillgate host nor a token service. */
  | "wrong_host"
  /** Try again later: the host cannot be reached, or something in front of it answered 429 or 5xx. */
  | "unavailable"
  /** Something in front of the host refused the request. */
  | "refused"
  | "unknown_handle";

/** The problem codes of a host. Its `/openapi.json` explains each. A later version of the host may have more. */
export type ProblemCode =
  | "invalid"
  | "unknown_member"
  | "unauthenticated"
  | "permission_missing"
  | "other_tenant"
  | "tenant_unknown"
  | "platform_only"
  | "role_reserved"
  | "event_type_reserved"
  | "path_not_found"
  | "condition_not_found"
  | "project_not_found"
  | "till_not_found"
  | "business_unit_not_found"
  | "rate_not_found"
  | "change_not_found"
  | "webhook_not_found"
  | "event_not_found"
  | "delivery_not_found"
  | "replay_not_found"
  | "consumer_not_found"
  | "tenant_not_found"
  | "client_not_found"
  | "template_not_found"
  | "software_statement_not_found"
  | "role_not_found"
  | "job_not_found"
  | "method_not_allowed"
  | "not_acceptable"
  | "body_too_slow"
  | "quota_exceeded"
  | "changed_meanwhile"
  | "id_is_global"
  | "tests_failed"
  | "rate_deviates"
  | "unit_misplaced"
  | "unit_not_empty"
  | "too_many_rates"
  | "webhook_disabled"
  | "webhook_deleted"
  | "event_id_taken"
  | "key_waiting"
  | "client_exists"
  | "client_revoked"
  | "template_exists"
  | "role_built_in"
  | "version_outdated"
  | "already_exists"
  | "body_too_large"
  | "unsupported_media_type"
  | "rate_limited"
  | "too_much_waiting"
  | "internal"
  | "store_unavailable"
  | "overloaded"
  | "busy";

/** The error that this package throws. */
export class TillgateError extends Error {
  readonly code: ErrorCode;
  /** The JSON path of the first fault. */
  readonly path: string;
  /** Every fault. The error's `message` names them all, each with its path. */
  readonly faults: readonly { readonly path: string; readonly message: string }[];
  /** The HTTP status with which the host answers the same request, if there is one. */
  readonly status?: number;
  /** True if a retry may succeed later: the host cannot be reached, has no room or no store now, or asks to wait. */
  readonly isTemporary: boolean;
  /** For errors from the host: the id of the request in the host's log. */
  readonly correlationId?: string;
  /** For errors from the host: the SHA-256 of the module that decided. */
  readonly engine?: string;
  /** For errors from the host: how long it asks to wait. */
  readonly retryAfterMs?: number;
  /** For `rate_deviates`: the rates that would move by more than they may, unless the change has `acceptDeviation=true`. */
  readonly deviations?: readonly RateDeviation[];
  /** For errors from the host: true if it answered from memory that may be old. */
  readonly isStale?: true;
  constructor(error: {
    code: ErrorCode;
    path?: string;
    message: string;
    faults?: readonly { path: string; message: string }[];
    status?: number;
    cause?: unknown;
  });
}

/** A rate that a change would move by more than it may. These are JSON numbers: for display, not for computing. */
export interface RateDeviation {
  readonly exchangeRateType: string;
  readonly currencyIdFrom: string;
  readonly currencyIdTo: string;
  /** The rate that the business unit uses now; `new` is the one that it would use. */
  readonly old: number;
  readonly new: number;
  /** The change in percent; negative if the new rate is lower. */
  readonly percent: number;
  /** The likely mistake: 1 ÷ the old rate, or the old rate with its decimal point in another place. */
  readonly hint?: "INVERTED" | "DECIMAL_POINT";
}

/** Errors of `tillgate/webhook`: why a delivery is not accepted. */
export type WebhookErrorCode =
  // The request, 400 and 413
  | "duplicate_header"
  | "body_too_large"
  | "malformed_body"
  | "malformed_data"
  // Credentials, 401
  | "wrong_scheme"
  | "missing_credentials"
  | "malformed_credentials"
  | "wrong_credentials"
  // The token, 401
  | "missing_token"
  | "oversized_token"
  | "malformed_token"
  | "wrong_algorithm"
  | "wrong_type"
  | "forbidden_header"
  | "missing_kid"
  | "unknown_kid"
  | "weak_key"
  | "certificate_expired"
  | "certificate_not_yet_valid"
  | "bad_signature"
  | "wrong_audience"
  | "wrong_email"
  | "email_not_verified"
  | "wrong_issuer"
  | "missing_expiry"
  | "expired"
  | "not_yet_valid"
  // The signatures, 401
  | "missing_signature"
  | "malformed_signature"
  | "signature_mismatch"
  | "missing_body_signature"
  | "malformed_body_signature"
  | "body_signature_mismatch"
  | "body_signature_too_old"
  | "body_signature_too_new"
  /** The delivery cannot be verified now, 503. */
  | "certificates_unavailable";
