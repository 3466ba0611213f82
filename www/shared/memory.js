/**
 * Unsaved input: the drafts of all forms, and the state of Preview. It is in the page's memory only, one for each tenant. It
 * outlives a session that ends by itself, but not signing out nor the page, unless that is left to sign in again.
 */

class Memory {
  #kept = new Map();

  get(key) {
    return this.#kept.get(key);
  }

  set(key, value) {
    this.#kept.set(key, value);
  }

  delete(key) {
    this.#kept.delete(key);
  }

  entries() {
    return [...this.#kept];
  }

  /** The keys of drafts, such as `condition:alcohol`, and `condition:` for a new one. */
  draftKeys() {
    return [...this.#kept.keys()].filter((key) => key.includes(":"));
  }
}

const memories = new Map();

export function memoryOf(tenant) {
  if (!memories.has(tenant)) memories.set(tenant, new Memory());
  return memories.get(tenant);
}

export const draftCount = () => [...memories.values()].reduce((count, memory) => count + memory.draftKeys().length, 0);

/** Forgets the input for all tenants. */
export const forget = () => memories.clear();

/** All input, as a text; `unpack` puts it into the memory of another page. */
export const packed = () => JSON.stringify([...memories].map(([tenant, memory]) => [tenant, memory.entries()]));

export function unpack(text) {
  for (const [tenant, entries] of JSON.parse(text)) for (const [key, value] of entries) memoryOf(tenant).set(key, value);
}
