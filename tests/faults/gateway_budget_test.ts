import assert from "node:assert/strict";
import { readEnvironment } from "../../src/config/mod.ts";
import { answerTo } from "../harness/answers.ts";
import { newPlace, type Place, startServer } from "../harness/cli_process.ts";
import { serverKindsInTime } from "../harness/database_servers.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";

/** The calls that the gate has time for. */
const FEW = 24;

/** The calls in all. */
const CALLS = Number(readEnvironment().PURSER_BUDGET_CALLS ?? FEW);
const AT_ONCE = CALLS > FEW ? 64 : 16;
const SERVERS = CALLS > FEW ? 4 : 2;

/** A call of 100 tokens in and 50 out costs 0.000045 USD. */
const usage = { inputTokens: 100, outputTokens: 50 };
const COST = 0.000_045;
const BODY = JSON.stringify({
  model: "gpt-4o-mini",
  max_completion_tokens: 60,
  messages: [{ role: "user", content: "Hi" }],
});

for (const { name, ignore, start } of serverKindsInTime) {
  Deno.test({
    name:
      `${name}: calls through the gateways of ${SERVERS} servers, ${AT_ONCE} at once, don't overshoot a strict day`,
    ignore,
    async fn() {
      await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hello", usage }));
      await using database = await start(true);
      const places: Place[] = [];
      const servers: Awaited<ReturnType<typeof startServer>>[] = [];
      await using stack = new AsyncDisposableStack();
      for (let i = 0; i < SERVERS; i++) {
        const place = stack.use(await newPlace());
        const provider = { OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: fake.baseUrls.openai };
        Object.assign(place.env, provider, { PURSER_DB: database.url, PURSER_LOG_LEVEL: "error" });
        places.push(place);
        servers.push(stack.use(await startServer(place)));
      }
      const [{ url }] = servers as [typeof servers[0]];
      const api = async (method: string, path: string, body?: unknown) => {
        const headers = { "content-type": "application/json" };
        const response = await fetch(url + path, {
          method,
          headers,
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        assert.ok(response.ok, `${method} ${path}: ${response.status}`);
        return await response.json();
      };
      // Room for half of the calls.
      const limit = Number((CALLS / 2 * COST).toFixed(9));
      const { budget_id } = await api("POST", "/budgets", {
        name: "Day",
        per: "day",
        limit_usd: limit,
        mode: "strict",
      });
      let left = CALLS;
      const statuses = new Map<number, number>();
      await Promise.all(Array.from({ length: AT_ONCE }, async (_, index) => {
        while (left-- > 0) {
          const server = servers[index % SERVERS]!;
          const response = await fetch(`${server.url}/v1/chat/completions`, { method: "POST", body: BODY });
          const text = await response.text();
          assert.ok(response.status === 200 || response.status === 402, text);
          statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
        }
      }));
      const budget = await api("GET", `/budgets/${budget_id}`);
      if (CALLS > FEW) console.log(JSON.stringify({ calls: CALLS, statuses: [...statuses], budget }));
      assert.ok(budget.spent_usd <= limit, `${budget.spent_usd} of ${limit}`);
      assert.equal(budget.reserved_usd, 0);
      assert.equal(statuses.get(200), fake.calls);
      assert.equal(Math.round(budget.spent_usd / COST), fake.calls, "each answer is booked");
      // The worst case of a call did not fit any more: 1,154 tokens in by its bytes, 60 out.
      assert.ok(budget.spent_usd + 0.001 > limit || statuses.get(402) === undefined);
      assert.ok(statuses.get(402)! > 0);
    },
  });
}
