/**
 * The error that this package throws. `code` is one of this package's codes, or the problem code of the host's answer.
 * `faults` lists what is wrong, each with its `path` and a `message`; `path` is that of the first, and `message` names them
 * all. `status` is the HTTP status with which the host answers the same request. An error from the host also has its
 * `correlationId`, the `engine` that decided, `retryAfterMs` if the host asks to wait, `deviations` if rates would move by
 * more than they may, and `isStale` if the host answered from memory that may be old. `value`, if given, is what the fault is
 * about; `message` ends with it.
 */
export class TillgateError extends Error {
  constructor({ code, path = "$", message, faults, status, cause, value }) {
    const all = faults ?? [{ path, message }];
    const about = value === undefined ? "" : `: ${JSON.stringify(value)}`;
    super(all.map(sentence).join("; ") + about, cause === undefined ? undefined : { cause });
    this.code = code;
    this.path = path;
    this.faults = all;
    this.status = status ?? STATUS[code];
  }

  /** True if a retry may succeed later: the host cannot be reached, has no room or no store now, or asks to wait. */
  get isTemporary() {
    return this.code === "unavailable" || this.status === 429 || this.status >= 500;
  }
}

/** The engine's messages begin with a verb. */
const VERB = /^(?:must|has|is|cannot)\b/;

function sentence({ path, message }) {
  if (path !== "$") return `${path} ${message}`;
  return VERB.test(message) ? `the input ${message}` : message;
}

Object.defineProperty(TillgateError.prototype, "name", { value: "TillgateError", configurable: true, writable: true });

const STATUS = { invalid: 400, unknown_member: 400, unauthenticated: 401, condition_not_found: 404, rate_not_found: 404, business_unit_not_found: 404 };

/** No condition in force has this id: the error that the engine gives, so that a host and a catalog fail alike. */
export function unknownCondition(id) {
  return new TillgateError({ code: "condition_not_found", path: "$.conditionId", message: "matches no enabled condition", value: String(id) });
}

/** Throws an error if the id of a condition is left out. */
export function requireConditionId(id) {
  if (id === undefined || id === null) {
    throw new TillgateError({ code: "invalid", path: "$.conditionId", message: "must be the id of a condition" });
  }
}
