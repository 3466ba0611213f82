/**
 * Decides when to read again: soon after a message, and now and then in case one was missed or cannot be received. One reading
 * runs at a time; a call during it causes one more.
 */

/** The interval without messages: while they are received, and while they are not. */
const LIVE_MS = 60_000;
const POLLED_MS = 20_000;

/** The delay after a message, and after the last reading, so that a large change is not read once per shop. */
const SOON_MS = 120;
const PAUSE_MS = 1000;

/** Runs `read`; `isLive` tells if messages are received, `isVisible` if the user would see a change. */
export function rereading(read, { isLive, isVisible }) {
  let running;
  let isWanted = false;
  let isClosed = false;
  let last = 0;
  let timer;

  async function now() {
    clearTimeout(timer);
    timer = undefined;
    isWanted = true;
    running ??= run().finally(() => (running = undefined));
    return running;
  }

  async function run() {
    while (isWanted && !isClosed) {
      isWanted = false;
      last = performance.now();
      await read();
    }
  }

  function soon() {
    timer ??= setTimeout(now, Math.max(SOON_MS, last + PAUSE_MS - performance.now()));
  }

  const interval = setInterval(() => {
    const isDue = performance.now() - last >= (isLive() ? LIVE_MS : POLLED_MS) - 1000;
    if (isDue && isVisible()) now();
  }, POLLED_MS);

  return {
    now,
    soon,
    get isClosed() {
      return isClosed;
    },
    close() {
      isClosed = true;
      clearInterval(interval);
      clearTimeout(timer);
    },
  };
}
