// The measurements as a row of a table, and the bounds that they break.

const MAX_P99_MS = 25;
/** For small and large requests, during an attack by the tenant itself. */
const MAX_OWN_MS = 100;
const MAX_PEAK_MIB = 512;
const MAX_AFTER_MIB = 128;

const COLUMNS = [
  ["attack", 24],
  ["idle p50/p99/max ms", 22],
  ["during p50/p99/max ms", 24],
  ["new, slowest ms", 16],
  ["large, slowest ms", 18],
  ["MiB idle/peak/after", 20],
  ["what the attacker got", 0],
];

const aligned = (cells) => cells.map((cell, at) => String(cell).padEnd(COLUMNS[at][1])).join(" | ");

export const header = () => aligned(COLUMNS.map(([name]) => name));

const ms = (value) => value.toFixed(value < 10 ? 1 : 0);
const mib = (value) => value.toFixed(0);
/** The p50, p99 and maximum of a phase, in ms. */
export const quantiles = (phase) => [0.5, 0.99, 1].map((part) => ms(phase.quantile(part))).join(" / ");

/** The row of an attack. */
export function row(name, { idle, during, memory, counts }) {
  const { newcomers, refused, slowest, larges, slowestLarge } = during;
  const got = Object.entries(counts).map(([outcome, times]) => `${outcome} × ${times}`);
  return aligned([
    name,
    quantiles(idle),
    quantiles(during),
    `${newcomers}, ${ms(slowest)}`,
    `${larges}, ${ms(slowestLarge)}`,
    `${mib(memory.idle)} / ${mib(memory.peak)} / ${mib(memory.after)}`,
    got.join(", ") || "nothing",
  ]);
}

/** True if the host has released the memory that an attack took. */
export const hasGivenBack = ({ idle, after }) => after - idle <= MAX_AFTER_MIB;

/** The broken bounds, in sentences. */
export function brokenBounds({ during, memory, faults, isOfTenant }) {
  const broken = [...faults];
  const now = during.quantile(0.99);
  const max = isOfTenant ? MAX_OWN_MS : MAX_P99_MS;
  if (now > max) broken.push(`the good tenant's p99 is ${ms(now)} ms, more than ${max} ms`);
  if (isOfTenant && during.slowestLarge > max) broken.push(`its slowest large request took ${ms(during.slowestLarge)} ms, more than ${max} ms`);
  if (during.failed.length > 0) broken.push(`the good tenant got ${tallied(during.failed)}`);
  if (during.lost > 0) broken.push(`${during.lost} requests of the good tenant were never answered`);
  if (during.reconnects > 0) broken.push(`the good tenant's connection was dropped or refused ${during.reconnects} times`);
  if (during.refused.length > 0) broken.push(`newcomers got ${tallied(during.refused)}`);
  const peak = memory.peak - memory.idle;
  if (peak > MAX_PEAK_MIB) broken.push(`${mib(peak)} MiB more during it, more than ${MAX_PEAK_MIB}`);
  if (!hasGivenBack(memory)) broken.push(`${mib(memory.after - memory.idle)} MiB more afterwards, more than ${MAX_AFTER_MIB}`);
  return broken;
}

function tallied(outcomes) {
  const counts = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return Object.entries(counts).map(([outcome, times]) => `${outcome} × ${times}`).join(", ");
}
