// The calls of an evening, by a client that openapi-generator (typescript-fetch) has made: each prints a line.

import {
  BusinessUnitsApi, ConditionsApi, Configuration, ConversionExchangeRateTypeEnum, DecisionsApi, DeliveriesApi, EventsApi, ExchangeRatesApi, ProjectsApi,
  PutRateExchangeRateTypeEnum, ResponseError, WebhooksApi,
} from "./index";

declare const process: { env: Record<string, string>; exitCode?: number };

const basePath = process.env.URL!;
const config = new Configuration({ basePath, accessToken: process.env.TOKEN! });
const projectId = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";

async function ask<T>(name: string, call: Promise<T>, holds: (answer: T) => boolean = () => true): Promise<T> {
  try {
    const answer = await call;
    console.log(holds(answer) ? `${name}: answered` : `FAILED: ${name}: ${JSON.stringify(answer)}`);
    return answer;
  } catch (error) {
    console.log(`FAILED: ${name}: ${error instanceof ResponseError ? await error.response.text() : error}`);
    throw error;
  }
}

async function evening(): Promise<void> {
  const [conditions, decisions, rates, units] = [new ConditionsApi(config), new DecisionsApi(config), new ExchangeRatesApi(config), new BusinessUnitsApi(config)];
  const [webhooks, events, deliveries] = [new WebhooksApi(config), new EventsApi(config), new DeliveriesApi(config)];
  await ask("putCondition", conditions.putCondition({ conditionId: "cider", conditionPut: { rule: "AGE_RESTRICTION", conditionValue: { minimumAge: 16 } } }));
  await ask("getCondition", conditions.getCondition({ conditionId: "cider" }), (found) => found.rule === "AGE_RESTRICTION" && found.conditionValue.minimumAge === 16);
  const conditionRequest = { item: { id: "a" }, context: { customer: { customerAge: 15, licenses: ["x", { id: "y" }] } } };
  await ask("evaluateCondition", decisions.evaluateCondition({ conditionId: "cider", explain: true, conditionRequest }), (found) => !found.allow);
  const restrictions = [{ type: "WHITELIST" as const, propertyName: "group", allowedValues: ["drinks", true] }, { type: "BLACKLISTEDITEMS" as const, itemIds: ["b"] }];
  await ask("putProject", new ProjectsApi(config).putProject({ projectId, projectPut: { name: "Evening", restrictions } }));
  const items = [{ id: "a", conditionIds: ["cider"], additionalProperties: { group: "drinks", litres: 0.5 } }, { id: "b" }];
  await ask("evaluateBasket", decisions.evaluateBasket({ basketRequest: { items, projectId, context: {} } }), ({ decision }) => decision === "HARD_DENY");
  await ask("putBusinessUnit", units.putBusinessUnit({ businessUnitId: "nordic", businessUnitPut: { type: "COMPANY" } }));
  await ask("putBusinessUnit", units.putBusinessUnit({ businessUnitId: "shop", businessUnitPut: { type: "STORE", parentId: "nordic" } }));
  const rate = { businessUnitId: "nordic", exchangeRateType: PutRateExchangeRateTypeEnum.Sales, currencyIdFrom: "SEK", currencyIdTo: "EUR" };
  await ask("putRate", rates.putRate({ ...rate, ratePut: { rateValue: 11.05 } }));
  await ask("listUsedRates", rates.listUsedRates({ businessUnit: "nordic" }), ({ length }) => length === 2);
  const conversion = { businessUnitId: "nordic", exchangeRateType: ConversionExchangeRateTypeEnum.Sales, amount: 10, from: "EUR", to: "SEK" };
  await ask("convertAmount", rates.convertAmount({ conversion }), ({ amount }) => amount === 110.5);
  const webhookSettings = { name: "ERP", callbackUrl: `${basePath}/erp`, eventTypes: new Set(["x.receipts.v1"]), authentication: { type: "BEARER" as const }, sharedKey: "generate" };
  const webhook = await ask("createWebhook", webhooks.createWebhook({ webhookSettings }), ({ authentication }) => authentication.type === "BEARER");
  await ask("publishEvent", events.publishEvent({ newEvent: { type: "x.receipts.v1", id: "receipt-1", data: { shop: "shop" } } }));
  const { items: [delivery] } = await ask("listDeliveries", deliveries.listDeliveries(), ({ items }) => items[0]?.eventId === "receipt-1");
  await ask("getDelivery", deliveries.getDelivery({ deliveryId: delivery!.id }));
  await ask("deleteWebhook", webhooks.deleteWebhook({ webhookId: webhook.id }));
}

evening().catch(() => (process.exitCode = 1));
