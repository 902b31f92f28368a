import assert from "node:assert/strict";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { openTestPurser, rejection, type TestPurser } from "./harness/test_purser.ts";
import { sendTo } from "./gateway/requests.ts";

/** The region of a configured provider's address, through the gateway and a run. */

const MODEL = "google/gemini-3.8-flash";
const usage = { inputTokens: 1_000, outputTokens: 100 };

/** In nano-USD: 0.75 and 3.75 USD per million, and 10% more in a region. https://cloud.google.com/vertex-ai/generative-ai/pricing */
const GLOBAL = 1_125_000n;
const REGIONAL = 1_237_500n;

const pathOf = (location: string) => `/v1/projects/p/locations/${location}/endpoints/openapi`;

async function withVertex(
  location: string,
  test: (purser: TestPurser) => Promise<void>,
): Promise<void> {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Four", usage }));
  const providers = { "google-vertex": { baseUrl: `${fake.url}${pathOf(location)}` } };
  await using purser = await openTestPurser({ fake, config: { providers } });
  await test(purser);
}

async function bookedBy(purser: TestPurser) {
  const { rows } = await purser.core.store.read({
    sql: "SELECT cost_nano_usd, unpriced_parts, json_extract(details, '$.inference_geo') FROM calls",
  });
  return rows.map(([cost, unpriced, region]) => ({ cost, unpriced, region }));
}

const request = (stream: boolean, more: object = {}) => ({
  path: "/google-vertex/v1/chat/completions",
  body: {
    model: MODEL,
    messages: [{ role: "user", content: "What is 2+2?" }],
    max_tokens: 100,
    ...(stream && { stream, stream_options: { include_usage: true } }),
    ...more,
  },
});

for (
  const [location, cost] of [["us-east5", REGIONAL], ["europe-west4", REGIONAL], ["global", GLOBAL]] as const
) {
  const expected = [{ cost, unpriced: null, region: location }];

  for (const way of ["whole", "streamed"] as const) {
    Deno.test(`the gateway books a call to Vertex in ${location} at its price, ${way}`, () =>
      withVertex(location, async (purser) => {
        const answer = await sendTo(purser, request(way === "streamed"));
        assert.equal(answer.status, 200);
        await answer.text();
        await Promise.all([...purser.core.gateway.calls.values()].map(({ ended }) => ended));
        assert.deepEqual(await bookedBy(purser), expected);
      }));

    Deno.test(`a run books a call to Vertex in ${location} at its price, ${way}`, () =>
      withVertex(location, async (purser) => {
        await purser.run(
          { model: `google-vertex:${MODEL}` },
          "What is 2+2?",
          way === "streamed" ? { onPart: () => {} } : {},
        );
        assert.deepEqual(await bookedBy(purser), expected);
      }));
  }
}

Deno.test("a strict budget bounds a call by the price of its region", async () => {
  const neededIn = async (location: string) => {
    let needed = 0;
    await withVertex(location, async (purser) => {
      await purser.api("POST", "/budgets", { name: "Strict", per: "day", limit_usd: 1e-6, mode: "strict" });
      const refused = await sendTo(purser, request(false));
      assert.equal(refused.status, 402);
      needed = (await refused.json()).error.details.refused_by[0].needed_usd;
      const { message } = await rejection(
        purser.run({ model: `google-vertex:${MODEL}`, maxOutputTokens: 100 }, "What is 2+2?"),
      );
      needed += Number(/might cost \$([\d.]+)/.exec(message)![1]);
    });
    return Math.round(needed * 1e9);
  };
  assert.equal(await neededIn("us-east5"), Math.round(await neededIn("global") * 1.1));
});

Deno.test("a report of a call that was made elsewhere has the region that it states, or none", () =>
  withVertex("us-east5", async (purser) => {
    const event = {
      ...{
        agent_id: "a",
        provider: "google-vertex",
        model: MODEL,
        at: new Date(purser.core.clock.now()).toISOString(),
      },
      ...{ input_tokens: 1_000, output_tokens: 100 },
    };
    const { body } = await purser.api("POST", "/costs/events", [
      { ...event, call_id: "elsewhere" },
      { ...event, call_id: "there", inference_geo: "us-east5" },
    ]);
    assert.equal(body.booked, 2);
    assert.deepEqual((await bookedBy(purser)).map(({ cost }) => cost), [GLOBAL, REGIONAL]);
  }));
