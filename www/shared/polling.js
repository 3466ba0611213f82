/**
 * Polls while the page is visible: one reading at a time, with a pause in between. `state` tells if the last reading reached
 * the host.
 */

/**
 * Runs `read` until it is closed, with a pause of `pauseMs`, while `isVisible()`. `read` throws only errors that hide the
 * present state from the page; `onstate` is called when this begins or ends.
 */
export function polling(read, { pauseMs, isVisible, onstate }) {
  let state = "READY";
  let running;
  let isWanted = false;
  let isAsleep = false;
  let isClosed = false;
  let timer;

  /** Reads at once, or once more after the current reading. */
  async function now() {
    clearTimeout(timer);
    isAsleep = false;
    isWanted = true;
    running ??= run().finally(() => (running = undefined));
    return running;
  }

  async function run() {
    while (isWanted && !isClosed) {
      isWanted = false;
      await read().then(
        () => show("READY"),
        () => show("STALE"),
      );
    }
    if (!isClosed) timer = setTimeout(() => (isVisible() ? now() : (isAsleep = true)), pauseMs);
  }

  function show(next) {
    if (next === state || isClosed) return;
    state = next;
    onstate();
  }

  return {
    now,
    /** Continues if it stopped because the page was hidden. */
    wake() {
      if (isAsleep && !isClosed) now();
    },
    get state() {
      return state;
    },
    get isClosed() {
      return isClosed;
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
