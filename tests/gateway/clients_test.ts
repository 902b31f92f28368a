import assert from "node:assert/strict";
import { type Fixture, providerFixtures, type Round } from "../fixtures/providers/mod.ts";
import { dataFrame, eventFrame } from "../fixtures/providers/fixture.ts";
import { EVENT } from "../harness/bodies.ts";
import type { ProviderRequest, Reply } from "../harness/fake_provider.ts";
import { rejection } from "../harness/test_purser.ts";
import { isInTurn } from "../harness/thorough.ts";
import { type RealClient, realClients, shown } from "./clients/mod.ts";
import { openSetting, type Setting } from "./clients/setting.ts";
import { allEnded, readCalls } from "./requests.ts";

/** Published clients, none of them Purser's: through the gateway each returns, and throws, what it does at the provider. */

/** The headers with which providers answer, those that clients read among them. */
const HEADERS = {
  "x-request-id": "req_of_the_provider",
  "request-id": "req_of_anthropic",
  "openai-processing-ms": "12",
  "anthropic-ratelimit-requests-remaining": "7",
  "x-ratelimit-remaining-tokens": "149984",
  "cache-control": "private, max-age=0",
};

const PREFIXES: Record<string, string> = { openai: "/openai", anthropic: "/anthropic", google: "/gemini" };

/** The headers of a request that the gateway sets anew: the keys, and those of a connection. */
const REPLACED = /^(host|connection|accept-encoding|authorization|x-api-key|x-goog-api-key|content-length)$/;

function fixtureOf({ api }: RealClient, what: "plain" | "tool round"): Fixture {
  return providerFixtures.find((each) => each.api === api && each.name.endsWith(what))!;
}

/** Returns what a client yields, then what it throws, if it does. */
async function collect(stream: AsyncIterable<unknown>, take: (item: unknown) => void = () => {}) {
  const items: unknown[] = [];
  try {
    for await (const item of stream) {
      items.push(item);
      take(item);
    }
    return { items };
  } catch (thrown) {
    return { items, thrown };
  }
}

/** Returns what a call returns or throws. */
const outcome = (promise: Promise<unknown>) =>
  promise.then((returned) => ({ returned }), (thrown) => ({ thrown }));

/** Returns a request as the provider sees it, without what a gateway has to replace. */
function received({ path, search, headers, body }: ProviderRequest) {
  const kept = Object.entries(headers).filter(([name]) => !REPLACED.test(name));
  return { path, search, headers: Object.fromEntries(kept), body };
}

/** Returns whether a request is for a stream whose usage the gateway has to add. */
function lacksUsage({ api, isStreamed, body }: ProviderRequest): boolean {
  return api === "openai-chat" && isStreamed && body.stream_options === undefined;
}

/** Returns the items of a chat stream without the `usage: null` that chunks have if one of them has the usage. */
function withoutNullUsage(seen: unknown): unknown {
  const { items, ...rest } = seen as { items: { usage?: unknown }[] };
  return {
    items: items.map(({ usage, ...item }) => {
      assert.equal(usage, null);
      return item;
    }),
    ...rest,
  };
}

/** Sends the same at the provider and through the gateway, and checks that its user sees no difference. */
async function compare(
  { fake, direct, through, asked }: Setting,
  client: RealClient,
  { fixture, replies, prefix = PREFIXES[fixture.provider]! }: {
    fixture: Fixture;
    /** Answers that the fake provider makes of fixtures follow the request; others are the same for any. */
    replies: () => Reply[];
    prefix?: string;
  },
  call: (calls: ReturnType<RealClient["open"]>) => Promise<unknown>,
): Promise<{ json: string; requests: number }> {
  fake.enqueue(...replies());
  const expected = shown(await call(client.open(direct, fixture.model)), direct);
  const count = fake.calls;
  assert.ok(count > 0, "the provider was asked");
  fake.enqueue(...replies());
  const place = through(prefix);
  const actual = shown(await call(client.open(place, fixture.model)), place);
  assert.equal(asked.length, count, "through the gateway it sends as many requests");
  const [own, passed] = [fake.requests.slice(0, count), fake.requests.slice(count)];
  const hasHidden = own.some(lacksUsage) && replies().some((reply) => "answer" in reply);
  assert.deepEqual(hasHidden ? withoutNullUsage(actual) : actual, expected);
  const added = { stream_options: { include_usage: true } };
  const asSent = own.map((request) =>
    lacksUsage(request) ? { ...request, body: { ...request.body, ...added } } : request
  );
  assert.deepEqual(passed.map(received), asSent.map(received));
  const secret = direct.key;
  for (const { headers } of fake.requests.slice(count)) {
    assert.ok(!JSON.stringify(headers).includes(secret), "no provider gets Purser's key");
  }
  return { json: JSON.stringify(expected), requests: count };
}

/** Checks that the ledger has a row for each round, and nothing else. */
async function checkLedger({ purser }: Setting, model: string, rounds: readonly Round[]): Promise<void> {
  await allEnded(purser);
  assert.deepEqual(
    await readCalls(purser),
    rounds.map(({ usage: { inputTokens, outputTokens }, costNanoUsd }) => ({
      ...{ agent: "laptop", session: null, run: null, model, source: "gateway" },
      ...{ input: inputTokens, output: outputTokens, cost: costNanoUsd, isEstimated: false },
    })),
  );
}

function wordsOf({ rounds }: Fixture): string {
  return /"(?:text|content)":"(\w[^"]*)"/.exec(JSON.stringify(rounds.at(-1)!.answer.body))![1]!;
}

/** A client of each wire tries all; the others every second of what fails, which the gateway passes on by the wire alone. */
const ofWires = new Set(realClients.map(({ api }) => realClients.find((client) => client.api === api)));

for (const [turn, client] of realClients.entries()) {
  const isTried = (place: number) => ofWires.has(client) || isInTurn(turn + place);
  const { name } = client;
  const plain = fixtureOf(client, "plain");
  const round = fixtureOf(client, "tool round");
  const answers = ({ rounds }: Fixture, count = rounds.length) => () =>
    rounds.slice(0, count).map(({ answer }): Reply => ({ answer, headers: HEADERS }));

  for (const [spelling, prefix] of [["", PREFIXES[plain.provider]!], [" at the bare address", ""]] as const) {
    if (prefix !== "" || isTried(0)) {
      Deno.test(`${name}: a whole answer${spelling} is the provider's, and booked`, async () => {
        await using setting = await openSetting();
        const given = { fixture: plain, replies: answers(plain), prefix };
        const { json } = await compare(setting, client, given, (calls) => calls.whole());
        assert.ok(json.includes(wordsOf(plain)), json);
        await checkLedger(setting, plain.model, plain.rounds);
      });
    }

    Deno.test(`${name}: a stream${spelling} is the provider's, item by item, and booked`, async () => {
      await using setting = await openSetting();
      const given = { fixture: plain, replies: answers(plain), prefix };
      let items = 0;
      await compare(setting, client, given, async (calls) => {
        const seen = await collect(calls.stream());
        items = seen.items.length;
        assert.equal(seen.thrown, undefined);
        return seen;
      });
      assert.ok(items >= 2);
      await checkLedger(setting, plain.model, plain.rounds);
    });
  }

  Deno.test(`${name}: a round with a tool is the provider's, and each of its calls is booked`, async () => {
    await using setting = await openSetting();
    const given = { fixture: round, replies: answers(round) };
    const { json, requests } = await compare(setting, client, given, (calls) => calls.tools());
    assert.equal(requests, 2);
    assert.ok(json.includes(wordsOf(round)) && json.includes("2+2"), json);
    await checkLedger(setting, round.model, round.rounds);
  });

  Deno.test(`${name}: a streamed call of a tool is the provider's, and booked`, async () => {
    await using setting = await openSetting();
    const given = { fixture: round, replies: answers(round, 1) };
    const { json } = await compare(setting, client, given, (calls) => collect(calls.toolStream()));
    assert.ok(json.includes("calculator") && json.includes("2+2"), json);
    await checkLedger(setting, round.model, round.rounds.slice(0, 1));
  });

  const isAnthropic = client.api === "anthropic";
  for (const [place, status] of [400, isAnthropic ? 529 : 429].entries()) {
    const message = `Words of the provider for ${status}`;
    const headers = { ...HEADERS, ...(status !== 400 && { "retry-after": "30" }) };
    for (const way of ["whole", "stream"] as const) {
      if (!isTried(place + Number(way === "stream"))) continue;
      Deno.test(`${name}: the provider's ${status} to a call (${way}) is thrown as it is, and not booked`, async () => {
        await using setting = await openSetting();
        const given = { fixture: plain, replies: (): Reply[] => [{ status, message, headers }] };
        const { json, requests } = await compare(
          setting,
          client,
          given,
          (calls) => way === "whole" ? outcome(calls.whole()) : collect(calls.stream()),
        );
        assert.ok(json.includes(message), json);
        assert.equal(requests, 1);
        await checkLedger(setting, plain.model, []);
      });
    }
  }

  Deno.test(`${name}: an error in the middle of a stream is seen as at the provider, and the call booked once`, async () => {
    await using setting = await openSetting();
    const [{ answer: { frames } }] = plain.rounds as [Round];
    const frame = errorFrame(client, "Words of the provider in a stream");
    // Gemini's second frame is its last one.
    const replies = (): Reply[] => [{
      paced: [...frames.slice(0, client.api === "google" ? 1 : -3), frame],
      headers: HEADERS,
    }];
    const given = { fixture: plain, replies };
    const { json, requests } = await compare(setting, client, given, (calls) => collect(calls.stream()));
    assert.ok(json.includes("Words of the provider in a stream"), json);
    assert.equal(requests, 1);
    await checkEstimate(setting);
  });

  Deno.test(`${name}: a connection that breaks in the middle of a stream breaks for it too, and the call is booked once`, async () => {
    await using setting = await openSetting();
    const [{ answer: { frames } }] = plain.rounds as [Round];
    const brokenAfter = frames.slice(0, client.api === "google" ? 1 : 3);
    const given = { fixture: plain, replies: (): Reply[] => [{ brokenAfter, headers: HEADERS }] };
    const { json, requests } = await compare(setting, client, given, (calls) => collect(calls.stream()));
    assert.match(json, /error/i);
    assert.equal(requests, 1);
    await checkEstimate(setting);
  });

  Deno.test(`${name}: an abort in the middle of a stream is seen as at the provider, and booked once`, async () => {
    await using setting = await openSetting();
    const [{ answer: { frames } }] = plain.rounds as [Round];
    const words = wordsOf(plain);
    const half = words.slice(0, Math.ceil(words.length / 2));
    const cut = frames.findIndex((frame) => frame.includes(JSON.stringify(half).slice(1, -1))) + 1;
    assert.ok(cut > 0 && cut < frames.length);
    const rest = Promise.withResolvers<void>();
    const replies = (): Reply[] => {
      return [{ paced: [...frames.slice(0, cut), rest.promise, ...frames.slice(cut)], headers: HEADERS }];
    };
    await compare(setting, client, { fixture: plain, replies }, async (calls) => {
      const leaving = new AbortController();
      const seen = await collect(calls.stream(leaving.signal), (item) => {
        // The AI SDK shows an event as it came before the text in it, which it may have read by then.
        const isRaw = (item as { type?: unknown }).type === "raw";
        if (!isRaw && JSON.stringify(item).includes(half)) leaving.abort();
      });
      assert.ok(leaving.signal.aborted, "it has seen the words");
      return seen;
    });
    const isAborted = plain.provider !== "google";
    const { signal } = setting.fake.requests[1]!;
    if (isAborted) await aborted(signal);
    rest.resolve();
    await allEnded(setting.purser);
    const [call, ...more] = await readCalls(setting.purser);
    assert.deepEqual(more, []);
    const { usage, costNanoUsd } = plain.rounds[0]!;
    assert.equal(call!.isEstimated, isAborted);
    if (!isAborted) assert.equal(call!.cost, costNanoUsd, "it was read to its end");
    assert.ok(call!.input > 0 && call!.output > 0 && call!.cost! > 0n);
    assert.ok(call!.output <= usage.outputTokens + half.length);
  });

  Deno.test(`${name}: an abort while it waits for an answer is seen as at the provider`, async () => {
    await using setting = await openSetting();
    const [{ answer }] = plain.rounds as [Round];
    const held = Promise.withResolvers<void>();
    let leaving = new AbortController();
    setting.fake.onRequest = () => leaving.abort();
    const replies = (): Reply[] => [{ answer, headers: HEADERS, after: held.promise }];
    const { json } = await compare(setting, client, { fixture: plain, replies }, (calls) => {
      leaving = new AbortController();
      return outcome(calls.whole(leaving.signal));
    });
    assert.match(json, /abort/i);
    held.resolve();
    // A whole answer is read to its end: what it costs is known only there.
    await checkLedger(setting, plain.model, plain.rounds);
  });

  for (const maxRetries of [0, null]) {
    if (!isTried(Number(maxRetries === null))) continue;
    const settings = maxRetries === null ? "with its own retries" : "without retries";
    Deno.test(`${name}: over a budget, ${settings}, it sends one request and shows Purser's words`, async () => {
      await using setting = await openSetting({ maxRetries });
      const { purser, fake, asked, through } = setting;
      await spendAll(setting);
      const booked = await readCalls(purser);
      for (const way of ["whole", "stream"] as const) {
        const calls = client.open(through(PREFIXES[plain.provider]!), plain.model);
        const error = way === "whole"
          ? await rejection(calls.whole())
          : thrownBy(await collect(calls.stream()));
        const json = JSON.stringify(shown(error, through()));
        assert.match(json, /Day/, `it names the budget: ${json}`);
        assert.match(json, /402/);
      }
      assert.equal(asked.length, 2, "one request for each call");
      assert.equal(fake.calls, 0);
      assert.deepEqual(await readCalls(purser), booked);
    });
  }
}

/** Returns the event by which a provider reports an error after its answer has begun. */
function errorFrame({ api }: RealClient, message: string): string {
  switch (api) {
    case "anthropic":
      return eventFrame("error", { error: { type: "overloaded_error", message } });
    case "openai-responses":
      return eventFrame("error", { code: "server_error", message, param: null, sequence_number: 9 });
    case "google":
      return dataFrame({ error: { code: 503, message, status: "UNAVAILABLE" } });
    default:
      return dataFrame({ error: { message, type: "server_error", param: null, code: null } });
  }
}

/** Checks that the one call is booked as an estimate. */
async function checkEstimate({ purser }: Setting): Promise<void> {
  await allEnded(purser);
  const [call, ...more] = await readCalls(purser);
  assert.deepEqual(more, []);
  assert.ok(call!.isEstimated);
  assert.ok(call!.input > 0 && call!.cost! > 0n);
}

/** Books what a budget for all calls allows. */
async function spendAll({ purser }: Setting): Promise<void> {
  const added = await purser.api("POST", "/budgets", { name: "Day", limit_usd: 1, per: "day" });
  assert.equal(added.status, 201);
  const spent = await purser.api("POST", "/costs/events", [{ ...EVENT, call_id: "spent", cost_usd: 1 }]);
  assert.equal(spent.status, 201);
}

/** Returns the error that a stream has thrown, or that it shows as an item, as the AI SDK does. */
function thrownBy({ items, thrown }: { items: unknown[]; thrown?: unknown }): unknown {
  const shownError = items.find((item) => (item as { type?: unknown })?.type === "error");
  const error = thrown ?? (shownError as { error?: unknown } | undefined)?.error;
  assert.ok(error, "an error is shown");
  return error;
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}
