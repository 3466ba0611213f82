// The topic of rate changes, and a consumer of it as in `given.md`, 6.1.

const TOPIC = "/api/v1/topics/cer.public.event.rates-changed.v1?after=earliest";

/** How long existing messages may take to arrive. */
const PATIENCE_MS = 30_000;

/** JSON whose amounts stay text: a float would lose digits of a rate with markup. */
export const parseRates = (text) => JSON.parse(text.replaceAll(/("rateValue(?:WithMarkup)?":)([^,}]+)/g, '$1"$2"'));

/** All messages of the token's tenant up to now. */
export async function messagesOf(host, token) {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const response = await fetch(`http://127.0.0.1:${host.port}${TOPIC}`, { headers: { authorization: `Bearer ${token}` }, signal });
  if (response.status !== 200) throw new Error(`the topic is ${response.status}`);
  const messages = [];
  let text = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const events = `${text}${chunk}`.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const data = /^data: ?(.*)$/m.exec(event);
      if (data) messages.push(parseRates(data[1]));
    }
    // The comment that nothing is left to read has no empty line after it.
    if (/^: cursor .*\n/m.test(text)) return messages;
  }
  throw new Error("the topic has ended");
}

/** The stored members of a rate in a consumer. */
export const storedOf = ({ rateValue, rateValueWithMarkup, createdDate, createdBy, lastModified }) => [rateValue, rateValueWithMarkup, createdDate, createdBy, lastModified].join(" ");

export class Consumer {
  #held = new Map();
  #published = new Map();

  /** The consumer's rates of a shop: `type source target` to the stored members. */
  held(shop) {
    return this.#held.get(shop) ?? new Map();
  }

  /** Processes a message, in the order of publishing; returns its fault. */
  take({ publishTime, attributes, data }, isInitialState) {
    const shop = data.businessUnitId;
    const held = this.held(shop);
    this.#held.set(shop, held);
    if (!(publishTime > (this.#published.get(shop) ?? ""))) return `${shop}: published at ${publishTime}, after ${this.#published.get(shop)}`;
    this.#published.set(shop, publishTime);
    if (attributes["Business-Unit-Id"] !== shop || attributes["Tenant-Id"] !== data.tenantId) return `${shop}: the attributes are of another`;
    const [created, updated, deleted] = [data.createdRates ?? [], data.updatedRates ?? [], data.deletedRates ?? []];
    const key = (rate) => `${rate.exchangeRateType} ${rate.sourceCurrencyCode} ${rate.targetCurrencyCode}`;
    const isHeld = (rate) => held.has(key(rate));
    if (!isInitialState && created.length + updated.length + deleted.length === 0) return `${shop}: a message of nothing`;
    if (created.some(isHeld)) return `${shop}: a rate is created that was there`;
    if (!updated.every(isHeld)) return `${shop}: a rate is updated that was not there`;
    if (!deleted.every(isHeld)) return `${shop}: a rate is deleted that was not there`;
    for (const rate of [...created, ...updated]) held.set(key(rate), storedOf(rate));
    for (const rate of deleted) held.delete(key(rate));
    return undefined;
  }
}
