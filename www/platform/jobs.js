/**
 * Dead letters, jobs that failed too often, for operators: what failed, retrying it and dropping it.
 */

import { button, confirmed, h, notify } from "../shared/dom.js";
import { settled } from "../shared/lost.js";
import { durationText, timeText } from "../shared/time.js";
import { entries } from "./entries.js";
import { Pages } from "./pages.js";
import { explain } from "./wording.js";

const keyOf = ({ id }) => id;

const LABELS = {
  title: "Failed jobs",
  noun: "job",
  about: "Background work that failed 20 times. Fix the cause, then retry it.",
  empty: "No job has failed",
  none: "All background work is done or on its way.",
};

/** What the jobs of a queue do, by the start of its name. */
const WORK = [
  ["webhook-deliveries", "Delivering an event to a webhook"],
  ["webhook-fan-out", "Passing an event on to the webhooks"],
  ["webhook-replays", "Sending deliveries again"],
  ["webhook-retention", "Removing old deliveries"],
  ["webhook-keys", "Removing old webhook keys"],
  ["rates-fan-out", "Passing a change of rates on to the shops"],
  ["rates-passes", "Passing a change of rates on to the shops"],
  ["rates-retention", "Removing old changes of rates"],
  ["reference-rates", "Fetching reference rates"],
  ["reference-dates", "Noting how old reference rates are"],
  ["history-retention", "Removing the old history of rules"],
  ["keys", "Removing old token keys"],
  ["pending", "Forgetting registrations that nobody let in"],
  ["statements", "Removing expired statements"],
];

const workText = (queue) => WORK.find(([begin]) => queue.startsWith(begin))?.[1] ?? queue;

export function jobList(desk) {
  const acts = { ...desk, reread: () => (list.suspect(), desk.reread()) };
  const list = entries({ labels: LABELS, keyOf, rowOf: (job) => jobRow(acts, job), shownOf: () => [desk.may("iam.jobs.write")] });
  return { ...list, open: () => list.open(new Pages((cursor) => desk.host.jobs({ cursor }), keyOf)) };
}

function jobRow(desk, job) {
  const { queue, job: id, tenantId, attempts, failedAt, error } = job;
  const text = workText(queue);
  const whose = tenantId === undefined ? "Of the platform" : `Tenant ${tenantId}`;
  const act = (name, image, run) => button(name, { image, class: "plain", "aria-label": `${name}: ${text} (${id})`, onclick: ({ currentTarget }) => run(desk, job, text, currentTarget) });
  return h(
    "li",
    { class: "entry" },
    h(
      "div",
      { class: "entry-text" },
      h("h3", {}, text),
      h("p", { dir: "auto" }, error),
      h("p", { class: "hint", dir: "auto" }, `${whose} · Failed ${attempts} times, last ${durationText(Date.now() - Date.parse(failedAt))} ago (${timeText(failedAt)}) · `, h("span", { class: "id" }, `${queue} ${id}`)),
    ),
    desk.may("iam.jobs.write") && h("div", { class: "row-actions" }, act("Retry", "retry", retry), act("Drop", "trash", drop)),
  );
}

async function retry(desk, job, text, pressed) {
  pressed.disabled = true;
  await act(desk, job, { write: () => desk.host.retryJob(job), yes: `“${text}” is tried again.`, no: `“${text}” is not tried again.`, whether: `“${text}” is tried again` });
  pressed.disabled = false;
}

async function drop(desk, job, text) {
  const detail = "Its work will not be done, and it cannot be brought back.";
  if (!(await confirmed(`Drop “${text}”?`, detail, "Drop"))) return;
  await act(desk, job, { write: () => desk.host.dropJob(job), yes: `“${text}” was dropped.`, no: `“${text}” was not dropped.`, whether: `“${text}” was dropped` });
}

/** Does something after which a job is no longer a dead letter. */
async function act(desk, job, { write, ...said }) {
  try {
    const look = async () => !(await allJobs(desk)).some(({ id }) => id === job.id);
    const { isLost } = await settled(write, { ...said, look });
    if (!isLost) notify(said.yes);
  } catch (error) {
    notify(`${said.no} ${explain(error)}`);
  }
  await desk.reread();
}

async function allJobs(desk) {
  const pages = new Pages((cursor) => desk.host.jobs({ cursor }), keyOf);
  await pages.renew();
  while (pages.hasMore) await pages.more();
  return pages.all;
}
