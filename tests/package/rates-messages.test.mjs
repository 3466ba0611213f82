// `tillgate/rates` and unusual messages (`given.md`, 6.1): in any order, repeated, with odd numbers and texts, in pieces. The
// host is scripted; ordinary use is in `rates.test.mjs`.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { events } from "../../js/src/shared/event-stream.js";
import { HeldRates } from "../../js/src/rates/held-rates.js";
import { parseExactly, readMessage } from "../../js/src/rates/message.js";
import { KEY, RATES, SHOP, TIME, asked, connected, host, row, set, settled, valueOf } from "../support/rates-client.mjs";
import { TENANT } from "../support/rates-host.mjs";
import { until, within } from "../support/wait.mjs";

describe("messages", () => {
  test("in any order: of each rate the newest counts, and a deleted one is not revived by an older message", async () => {
    const client = await connected();
    const [first, second, third, fourth] = [host.time(), host.time(), host.time(), host.time()];
    const send = (lists, publishTime) => host.publish(host.message(SHOP, lists, { publishTime }));
    send({ updatedRates: [row("3")] }, third);
    send({ updatedRates: [row("2")], createdRates: [row("2", "DKK")] }, second);
    send({ deletedRates: [row("2", "USD")] }, fourth);
    send({ updatedRates: [row("1", "USD")] }, first);
    send({ deletedRates: [row("2")] }, first);
    await settled(client);
    assert.deepEqual(["EUR", "DKK", "USD"].map((to) => valueOf(client, to)), ["3", "2", "rate_not_found"]);
    send({ createdRates: [row("5", "USD")] }, host.time());
    await settled(client);
    assert.equal(valueOf(client, "USD"), "5");
  });

  test("repeated: they change nothing, and are no event", async () => {
    const client = await connected();
    const before = client.changes.length;
    const message = host.message(SHOP, { updatedRates: [row("4")], deletedRates: [row("1", "USD")] });
    for (let turn = 0; turn < 3; turn += 1) host.publish(message);
    await settled(client);
    assert.equal(client.changes.length, before + 2);
    assert.deepEqual([valueOf(client), valueOf(client, "USD")], ["4", "rate_not_found"]);
  });

  test("lists may be missing, null or empty, and unknown members are ignored", async () => {
    const client = await connected();
    host.publish(host.message(SHOP, {}));
    host.publish(host.message(SHOP, { createdRates: null, updatedRates: [], deletedRates: null }));
    host.publish({ ...host.message(SHOP, { updatedRates: [row("6", "EUR", { later: [1, { a: null }] })], reason: 7 }), extra: 1 });
    await settled(client);
    assert.equal(valueOf(client), "6");
    assert.equal("later" in client.rate(KEY), false);
    assert.deepEqual(client.errors, []);
  });

  test("of another shop or tenant have no effect, should a filter let them through", async () => {
    const client = await connected();
    const foreign = (shop, tenantId) => ({ ...host.message(shop, { updatedRates: [row("7")] }, { tenantId }), attributes: { "Business-Unit-Id": SHOP } });
    host.publish(foreign("shop-2", TENANT));
    await settled(client);
    assert.equal(valueOf(client), "11.05");
    const tenant = await connected({ tenantId: TENANT });
    host.publish(foreign(SHOP, "other"));
    await settled(tenant);
    assert.equal(valueOf(tenant, "EUR", SHOP), "11.05");
  });

  test("that cannot be read are errors, and the rates are read again", async () => {
    const client = await connected();
    for (const text of ["{", "[]", "{}", JSON.stringify(host.message(SHOP, { updatedRates: [row("1e3")] }))]) {
      const errors = client.errors.length;
      host.publish(text);
      await until(() => client.errors.length > errors, "there is an error");
      assert.equal(client.errors.at(-1).code, "invalid");
      await until(() => client.state === "STALE", "it is stale");
      client.retry();
      await until(() => client.state === "READY", "it is ready again");
    }
    assert.equal(asked(RATES), 5);
    assert.equal(valueOf(client), "11.05");
  });
});

describe("numbers and texts", () => {
  test("amounts have the digits of the JSON, however many", async () => {
    await set("SEK/EUR", 0.000001);
    const client = await connected();
    assert.equal(valueOf(client), "0.000001");
    for (const digits of ["123456789012345678.123456", "10.50", "0.1", "1.10"]) {
      host.publish(host.message(SHOP, { updatedRates: [row(digits)] }));
      await settled(client);
      assert.deepEqual([valueOf(client), client.rate(KEY).rateValueWithMarkup], [digits, digits]);
    }
  });

  test("a text that looks like a rate is not one", async () => {
    const client = await connected();
    const hostile = ['"rateValue":9,"', '\\","rateValue":9,"a":"', "1.5", '{"rateValue":1}', "\\\\", "å\u2028\n😀 12"];
    for (const createdBy of hostile) {
      host.publish(host.message(SHOP, { updatedRates: [row("8", "EUR", { createdBy })] }));
      await settled(client);
      assert.deepEqual([valueOf(client), client.rate(KEY).createdBy], ["8", createdBy]);
    }
  });

  test("numbers of any form keep their text, and malformed JSON stays malformed", () => {
    const text = '{"a":[1,-0.50,1e-7,2E+10,0],"b 1":"2","\\"3":4,"c":[true,null,"5\\\\"],"d":"\\u0022 6"}';
    assert.deepEqual(parseExactly(text), {
      a: ["1", "-0.50", "1e-7", "2E+10", "0"], "b 1": "2", '"3': "4", c: [true, null, "5\\"], d: '" 6',
    });
    for (const wrong of ["01", "1.", ".5", "+1", '"', '"a" 1', "1 2", "-"]) assert.throws(() => parseExactly(wrong), { code: "invalid" }, wrong);
  });

  test("a message without the publish time, the shop or a whole rate is refused with the path", () => {
    const good = host.message(SHOP, { createdRates: [row("1")] });
    const path = (change) => {
      const message = structuredClone(good);
      change(message);
      try {
        return readMessage(JSON.stringify(message)).businessUnitId;
      } catch (error) {
        return error.path;
      }
    };
    assert.equal(path(() => {}), SHOP);
    assert.equal(path((it) => (it.publishTime = TIME)), "$.publishTime");
    assert.equal(path((it) => delete it.data.businessUnitId), "$.data.businessUnitId");
    assert.equal(path((it) => (it.data.createdRates = {})), "$.data.createdRates");
    assert.equal(path((it) => delete it.data.createdRates[0].targetCurrencyCode), "$.data.createdRates[0]");
    assert.equal(path((it) => (it.data.createdRates[0].rateValue = "11,05")), "$.data.createdRates[0].rateValue");
  });
});

describe("the stream", () => {
  for (const eol of ["\n", "\r\n", "\r"]) {
    test(`may end its lines with ${JSON.stringify(eol)} and arrive byte by byte`, async () => {
      const text = [":hello", "id: 1", "data: å", "data:😀", "", "id: 2", ": alive", "", "event: reset", "data: {}", "", "data", "id:3", "x: y", "", "", ": heartbeat", ": cursor 4", "data: four", "", "data: lost"].join(eol);
      for (const step of [1, 2, 3, 1000]) {
        const body = ReadableStream.from(chunks(text, step));
        const read = [];
        const reading = async () => {
          for await (const event of events(new Response(body))) read.push(event);
        };
        await within(reading(), "the end of the stream");
        assert.deepEqual(read, [
          { id: undefined, event: "message", data: undefined },
          { id: "1", event: "message", data: "å\n😀" },
          { id: "2", event: "message", data: undefined },
          { id: "2", event: "reset", data: "{}" },
          { id: "3", event: "message", data: "" },
          { id: "3", event: "message", data: undefined },
          { id: "4", event: "message", data: undefined },
          { id: "4", event: "message", data: "four" },
        ]);
      }
    });
  }

  test("may be cut anywhere, also within a character", async () => {
    host.wire = { eol: "\r\n", bytes: 1 };
    const client = await connected();
    host.publish(host.message(SHOP, { updatedRates: [row("8.25", "EUR", { createdBy: "Åsa 😀" })] }));
    await until(() => valueOf(client) === "8.25", "the message is received");
    assert.equal(client.rate(KEY).createdBy, "Åsa 😀");
  });

  test("that is silent for too long is an error", async () => {
    const read = events(new Response(new ReadableStream()), { silenceMs: 1 });
    await assert.rejects(within(read.next(), "a silent stream is an error"), /nothing for too long/);
  });
});

function* chunks(text, step) {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step);
}

describe("held rates", () => {
  const time = (at) => `2026-11-20T00:00:00.${String(at).padStart(6, "0")}Z`;
  const rate = (currencyIdTo, rateValue) => ({ businessUnitId: SHOP, exchangeRateType: "SALES", currencyIdFrom: "SEK", currencyIdTo, rateValue });
  const message = (at, members) => ({ businessUnitId: SHOP, publishTime: time(at), createdRates: [], updatedRates: [], deletedRates: [], ...members });

  test("are the same for any order of messages, with repeats", () => {
    const next = random(20_261_120);
    const currencies = ["EUR", "USD", "NOK", "DKK"];
    const lists = ["createdRates", "updatedRates", "deletedRates"];
    for (let turn = 0; turn < 300; turn += 1) {
      const messages = Array.from({ length: 12 }, (_, at) =>
        message(at + 1, { [lists[next(3)]]: [rate(currencies[next(4)], String(at))] }),
      );
      const apply = (some) => {
        const held = new HeldRates();
        for (const each of some) held.apply(each, { whole: each === messages[5] });
        return held.rates(SHOP);
      };
      const shuffled = [...messages, ...messages].map((each) => [next(1 << 20), each]).sort(([one], [other]) => one - other);
      assert.deepEqual(apply(shuffled.map(([, each]) => each)), apply(messages));
    }
  });

  test("remember no more than the last 10,000 deleted rates", () => {
    const held = new HeldRates();
    const letter = (at) => String.fromCharCode(65 + (at % 26));
    const currency = (at) => letter(Math.floor(at / 676)) + letter(Math.floor(at / 26)) + letter(at);
    for (let at = 0; at < 10_001; at += 1) held.apply(message(at + 10, { deletedRates: [rate(currency(at))] }));
    assert.equal(held.toJSON().deleted.length, 10_000);
    held.apply(message(1, { createdRates: [rate(currency(10_000), "1"), rate(currency(0), "1")] }));
    assert.deepEqual(held.rates(SHOP).map(({ currencyIdTo }) => currencyIdTo), [currency(0)]);
  });
});

/** Whole numbers below a limit, the same sequence for each seed. */
function random(seed) {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}
