/**
 * The data of a `CatalogClient`, kept in its caller's storage: a till that is switched on without a host decides with the
 * rules of its last run. The caller chooses where the data is stored, and in which form.
 */

import { TillgateError } from "../shared/error.js";
import { isObject } from "../shared/faults.js";
import { Catalog } from "./catalog.js";

const VERSION = 1;

/** The interval at which the same catalog is kept again, so that its age is known. */
const PAUSE_MS = 600_000;

const NOTHING = { asOf: -Infinity };

export class Snapshots {
  #storage;
  #url;
  #onError;
  #kept = NOTHING;
  /** Makes the storage get one snapshot after another. */
  #set = Promise.resolve();

  /** `onError` receives the errors of the storage. */
  constructor(storage, url, onError) {
    this.#storage = storage;
    this.#url = addressOf(url);
    this.#onError = onError;
  }

  /**
   * Returns `{ asOf, document, catalog }` of the kept snapshot, undefined if there is none; `asOf` is in milliseconds since
   * 1970. Call it once the module is loaded.
   */
  async get() {
    let kept;
    try {
      kept = await this.#storage.get();
    } catch (cause) {
      throw failed("read", cause);
    }
    if (kept === undefined || kept === null) return undefined;
    const { version, url, asOf, document } = isObject(kept) ? kept : {};
    if (version !== VERSION) throw invalid("version", `must be ${VERSION}`);
    if (url !== this.#url) throw invalid("url", "must be the same as this client's");
    if (Number.isNaN(Date.parse(asOf))) throw invalid("asOf", "must be a time");
    this.#kept = { asOf: Date.parse(asOf), document };
    try {
      return { ...this.#kept, catalog: new Catalog(document) };
    } catch (cause) {
      throw invalid("document", "cannot be read", cause);
    }
  }

  /** Keeps a catalog that was up to date at that time: a new one at once, the same one now and then. */
  keep({ asOf, document }) {
    if (document === this.#kept.document && asOf - this.#kept.asOf < PAUSE_MS) return;
    this.#kept = { asOf, document };
    const snapshot = { version: VERSION, url: this.#url, asOf: new Date(asOf).toISOString(), document };
    const set = async () => {
      try {
        await this.#storage.set(snapshot);
      } catch (cause) {
        this.#kept = NOTHING;
        this.#onError(failed("stored", cause));
      }
    };
    this.#set = this.#set.then(set);
  }
}

/** Adds what is wrong with the option, if anything. */
export function checkSnapshot({ snapshot }, faults) {
  if (snapshot === undefined || snapshot === null) return;
  for (const name of ["get", "set"]) {
    if (typeof snapshot[name] !== "function") faults.add(`$.snapshot.${name}`, "must be a function");
  }
}

const addressOf = (url) => String(url).replace(/\/+$/, "");

const invalid = (name, message, cause) => new TillgateError({ code: "invalid", path: `$.snapshot.${name}`, message, cause });

const failed = (what, cause) => new TillgateError({ code: "unavailable", message: `the snapshot cannot be ${what}: ${cause?.message ?? cause}`, cause });
