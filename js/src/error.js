/**
 * The error that this package throws. `code` says what the caller can do about it, `path` where the first fault of the
 * input is, and `message` what it is; `faults` lists all of them. `status` is the HTTP status with which the host
 * answers the same request. An error from the host also has its `correlationId`, the `engine` that decided, and
 * `retryAfterMs` if the host asks to wait.
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
