/**
 * The one error that this package throws. `code` says what a caller can do about it, `path` where in the input the first
 * fault is, `message` what it is; `faults` holds all of them. `status` is the HTTP status that the host answers for the
 * same question. What the host itself refused also has its `correlationId`, the `engine` that decided, and
 * `retryAfterMs` when it said how long to wait.
 */
export class TillgateError extends Error {
  constructor({ code, path = "$", message, faults, status, cause }) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.path = path;
    this.faults = faults ?? [{ path, message }];
    this.status = status ?? STATUS[code];
  }

  toString() {
    return `${this.name}: ${this.faults.map(({ path, message }) => (path === "$" ? message : `${path} ${message}`)).join("; ")}`;
  }
}

Object.defineProperty(TillgateError.prototype, "name", { value: "TillgateError", configurable: true, writable: true });

const STATUS = { invalid: 400, not_found: 404 };
