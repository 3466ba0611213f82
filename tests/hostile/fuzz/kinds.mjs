// The things that two hosts race for, with an entity tag and a quota each, and how each is written, listed and counted.
//
// A kind is `{ name, quota, usage, list, path(id), body(mark), markOf(item), idOf(item), id(number), creates, prepare }`. A mark
// is a number that tells one write from another.

const projectId = (number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
const rates = "/api/v1/business-units/company/exchange-rates";
const CURRENCIES = "SEK NOK DKK USD JPY GBP CHF PLN CZK HUF RON TRY ISK AUD CAD NZD SGD HKD".split(" ");

const named = { markOf: ({ name }) => Number(name), idOf: ({ id }) => id, creates: true };

const webhook = (mark) => ({ name: String(mark), callbackUrl: "https://127.0.0.1:9/hook", eventTypes: ["x.orders.v1"], authentication: { type: "BEARER" } });

export const kinds = [
  {
    ...named,
    name: "conditions",
    quota: "conditions",
    usage: "conditions",
    list: "/api/v1/entity-conditions",
    path: (id) => `/api/v1/entity-conditions/${id}`,
    id: (number) => `condition-${number}`,
    body: (mark) => ({ rule: "AGE_RESTRICTION", condition_value: { minimum_age: mark } }),
    markOf: ({ condition_value: value }) => value.minimum_age,
  },
  {
    ...named,
    name: "projects",
    quota: "projects",
    usage: "projects",
    list: "/api/v1/projects",
    path: (id) => `/api/v1/projects/${id}`,
    id: projectId,
    idOf: (project) => project.projectId,
    body: (mark) => ({ name: String(mark), restrictions: [] }),
  },
  {
    ...named,
    name: "units",
    quota: "business_units",
    usage: "businessUnits",
    list: "/api/v1/business-units",
    path: (id) => `/api/v1/business-units/${id}`,
    id: (number) => `company-${number}`,
    body: (mark) => ({ type: "COMPANY", name: String(mark) }),
  },
  {
    ...named,
    name: "rates",
    quota: "exchange_rates",
    usage: "exchangeRates",
    list: rates,
    path: (id) => `${rates}/SALES/${id}/EUR`,
    id: (number) => CURRENCIES[number],
    body: (mark) => ({ rateValue: mark }),
    markOf: ({ rateValue }) => rateValue,
    idOf: ({ currencyIdFrom }) => currencyIdFrom,
    prepare: { method: "PUT", path: "/api/v1/business-units/company", body: { type: "COMPANY" } },
  },
  {
    ...named,
    name: "webhooks",
    quota: "webhooks",
    usage: "webhooks",
    list: "/api/v1/webhooks",
    path: (id) => `/api/v1/webhooks/${id}`,
    body: webhook,
    creates: false,
  },
];

/** The quota of each kind during a race. */
export const QUOTA = 8;

export const config = `[quotas]\n${kinds.map(({ quota }) => `${quota} = ${QUOTA}`).join("\n")}\n[webhooks]\nallow_private = ["127.0.0.0/8"]\n`;
