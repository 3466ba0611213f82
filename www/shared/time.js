/**
 * Days and times as people write them, in the time zone of the browser.
 */

import { figure } from "./locale.js";

const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
const DAY_AND_TIME = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const EXACT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const SECOND = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** A day: 20 Nov 2026. */
export const dayText = (time) => DAY.format(new Date(time));

/** A time of day and its day: 20 Nov 2026, 17:40. */
export const timeText = (time) => DAY_AND_TIME.format(new Date(time));

/** A time to the second and its day: 20 Nov 2026, 17:40:05. */
export const exactText = (time) => EXACT.format(new Date(time));

/** A time of today to the second: 17:40:05. */
export const secondText = (time) => SECOND.format(new Date(time));

/** A time of today to the second, another one with its day. */
export const recentText = (time) => (dayText(time) === dayText(Date.now()) ? secondText(time) : timeText(time));

const UNITS = [
  [86_400, "day"],
  [3600, "hour"],
  [60, "minute"],
  [1, "second"],
];

/** The approximate length of a time: `48 seconds`, `3 minutes`. */
export function durationText(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const [size, name] = UNITS.find(([each]) => seconds >= 1.5 * each) ?? UNITS.at(-1);
  const count = Math.round(seconds / size);
  return `${figure(count)} ${name}${count === 1 ? "" : "s"}`;
}
