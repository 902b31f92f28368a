import assert from "node:assert/strict";
import { answerTo } from "../../harness/answers.ts";
import { readSse } from "../../harness/sse_reader.ts";
import type { RestApi, RestCase } from "../rest_case.ts";

const STREAM = { accept: "text/event-stream" };
const LOCAL = "local:my-model";
const LOCAL_API = { api: "openai-chat", model: "my-model" } as const;

/** Defines an agent, and returns the path of its runs. */
async function define(api: RestApi, agent: object): Promise<string> {
  await api.expect(201, "PUT", `/agents/${api.prefix}`, agent);
  return `/agents/${api.prefix}/runs`;
}

export const runCases: RestCase[] = [
  {
    name: "runs are listed by status and agent, the newest first, page by page, without their texts",
    async run(api) {
      const path = await define(api, { model: LOCAL });
      const ids: string[] = [];
      for (const input of ["1", "2", "3"]) {
        ids.unshift((await api.expect(200, "POST", path, { input })).run_id);
      }
      api.fake.enqueue({ status: 400, message: "No" });
      const { run_id: failed } = (await api.send("POST", path, { input: "4" })).body;
      const own = `/runs?agent_id=${api.prefix}`;
      const list: { run_id: string; error_code: string | null }[] = await api.expect(200, "GET", own);
      assert.deepEqual(list.map(({ run_id }) => run_id).sort(), [failed, ...ids].sort());
      const listed = list.find(({ run_id }) => run_id === ids[0]);
      const { output: _output, error: _error, ...run } = await api.expect(200, "GET", `/runs/${ids[0]}`);
      assert.deepEqual(listed, { ...run, error_code: null });
      const failures = await api.expect(200, "GET", `${own}&status=failed`);
      assert.deepEqual(failures.map(({ run_id, error_code }: typeof list[number]) => [run_id, error_code]), [
        [failed, "provider_error"],
      ]);
      assert.equal((await api.expect(200, "GET", `${own}&status=completed`)).length, 3);
      assert.deepEqual(await api.expect(200, "GET", `${own}&status=running`), []);
      const pages: string[] = [];
      for (let next: string | undefined = `${own}&limit=3`; next;) {
        const { body, headers } = await api.send("GET", next);
        pages.push(...body.map(({ run_id }: { run_id: string }) => run_id));
        next = /<([^>]+)>/.exec(headers.get("link") ?? "")?.[1];
      }
      assert.deepEqual(pages, list.map(({ run_id }) => run_id));
      await api.refused(400, "invalid", "GET", "/runs?status=idle");
    },
  },
  {
    name: "a run that is sent again under its Idempotency-Key is made once, also where all are sent together",
    async run(api) {
      const path = await define(api, { model: LOCAL });
      const headers = { "idempotency-key": `"${api.prefix}"` };
      const send = (input = "Hi") => api.send("POST", path, { input }, headers);
      const count = api.fake.calls;
      const going = Promise.withResolvers<void>();
      api.fake.enqueue({ after: going.promise, ...answerTo(LOCAL_API, { text: "Once" }) });
      const together = [1, 2, 3].map(() => send());
      await api.until(() => Promise.resolve(api.fake.calls), (calls) => calls > count);
      const early = await send();
      assert.deepEqual([early.status, early.headers.get("retry-after")], [409, "1"]);
      going.resolve();
      const answers = await Promise.all(together);
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409]);
      const { body } = answers.find(({ status }) => status === 200)!;
      const again = await send();
      assert.deepEqual([again.status, again.headers.get("idempotency-replayed")], [200, "true"]);
      assert.deepEqual(again.body, body);
      assert.equal((await send("Another")).body.code, "idempotency_mismatch");
      assert.equal(api.fake.calls, count + 1);
    },
  },
  {
    name: "a run returns its result and its cost to the nano-dollar, and can be read again",
    async run(api) {
      const path = await define(api, { model: LOCAL });
      api.fake.enqueue(
        answerTo(LOCAL_API, { text: "Two", usage: { inputTokens: 1_001, outputTokens: 3 } }),
      );
      const result = await api.expect(200, "POST", path, { input: "One?", session_id: `${api.prefix}:s` });
      assert.deepEqual([result.status, result.output, result.steps], ["completed", "Two", 1]);
      // 1,001 at 1 USD and 3 at 2 USD per million
      assert.equal(result.token_usage.cost_usd, 0.001007);
      assert.equal(result.token_usage.total_tokens, 1_004);
      const run = await api.expect(200, "GET", `/runs/${result.run_id}`);
      for (const [field, value] of Object.entries(result)) assert.deepEqual(run[field], value, field);
      const { token_usage } = await api.expect(200, "GET", `/agents/${api.prefix}`);
      assert.equal(token_usage.cost_usd, 0.001007);
    },
  },
  {
    name: "a run uses tools, and a session continues where it ended",
    async run(api) {
      const path = await define(api, { model: "demo:echo", tools: ["calculator"] });
      const body = { input: "What is 2 + 2?", session_id: `${api.prefix}:s` };
      const first = await api.expect(200, "POST", path, body);
      assert.deepEqual([first.output, first.steps], [
        "You said: What is 2 + 2?\nThe calculator says 4.",
        2,
      ]);
      await api.expect(200, "POST", path, { ...body, input: "And now?" });
      const session = await api.expect(200, "GET", `/sessions/${api.prefix}:s`);
      assert.deepEqual([session.status, session.message_count], ["completed", 6]);
    },
  },
  {
    name: "a streamed run sends its events and texts, and ends with its result",
    async run(api) {
      const path = await define(api, { model: "demo:echo" });
      const response = await api.fetch("POST", path, { body: { input: "Hello there" }, headers: STREAM });
      assert.equal(response.status, 200);
      assert.match(response.headers.get("content-type")!, /^text\/event-stream/);
      const frames = await readSse(response).rest();
      const texts = frames.filter(({ event }) => event === "text").map(({ data }) => data.text);
      assert.equal(texts.join(""), "You said: Hello there");
      assert.deepEqual(frames.map(({ event }) => event).filter((event) => event !== "text"), [
        "run.started",
        "model.called",
        "cost.recorded",
        "run.completed",
        "result",
      ]);
      assert.equal(frames.at(-1)!.data.output, "You said: Hello there");
    },
  },
  {
    name: "a streamed run that fails ends with the same problem as a plain one",
    async run(api) {
      const path = await define(api, { model: "demo:fail" });
      const response = await api.fetch("POST", path, { body: { input: "Hi" }, headers: STREAM });
      const { event, data } = (await readSse(response).rest()).at(-1)!;
      assert.deepEqual([event, data.code, data.status], ["error", "provider_error", 502]);
    },
  },
  {
    name: "a client that disconnects from a stream does not end its run",
    async run(api) {
      const path = await define(api, { model: LOCAL });
      const gone = Promise.withResolvers<void>();
      const { frames } = answerTo(LOCAL_API, { text: "The whole answer" }).answer;
      api.fake.enqueue({ paced: [...frames.slice(0, 2), gone.promise, ...frames.slice(2)] });
      const leaving = new AbortController();
      const response = await api.fetch("POST", path, {
        body: { input: "Hi" },
        headers: STREAM,
        signal: leaving.signal,
      });
      const started = await readSse(response).next();
      assert.equal(started!.event, "run.started");
      leaving.abort();
      gone.resolve();
      const run = await api.until(
        () => api.expect(200, "GET", `/runs/${started!.data.run_id}`),
        ({ status }) => status !== "running",
      );
      assert.deepEqual([run.status, run.output], ["completed", "The whole answer"]);
    },
  },
  {
    name: "a client that disconnects from a plain request does not end its run either",
    async run(api) {
      const path = await define(api, { model: LOCAL });
      const asked = Promise.withResolvers<void>();
      const gone = Promise.withResolvers<void>();
      const count = api.fake.calls;
      api.fake.enqueue({ after: gone.promise, ...answerTo(LOCAL_API, { text: "Late" }) });
      const leaving = new AbortController();
      const answer = api.fetch("POST", path, {
        body: { input: "Hi", session_id: `${api.prefix}:s` },
        signal: leaving.signal,
      }).catch(() => asked.resolve());
      await api.until(() => Promise.resolve(api.fake.calls), (calls) => calls > count);
      leaving.abort();
      await answer;
      await asked.promise;
      gone.resolve();
      const session = await api.until(
        () => api.expect(200, "GET", `/sessions/${api.prefix}:s`),
        ({ status }) => status !== "running",
      );
      assert.equal(session.status, "completed");
    },
  },
  {
    name: "a budget stops a run before the next call: 402, with the spend and the limit",
    async run(api) {
      const path = await define(api, { model: LOCAL, cost_budget_usd: 0.001, tools: ["calculator"] });
      const toolCall = { id: "call_1", name: "calculator", input: { expression: "1+1" } };
      const count = api.fake.calls;
      api.fake.enqueue(answerTo(LOCAL_API, { toolCall, usage: { inputTokens: 1_000, outputTokens: 0 } }));
      const problem = await api.refused(402, "budget_exceeded", "POST", path, { input: "Hi" });
      assert.equal(problem.title, "BudgetExceededError");
      assert.deepEqual(problem.details, { cost_usd_so_far: 0.001, budget_usd: 0.001 });
      assert.equal(api.fake.calls, count + 1);
      const run = await api.expect(200, "GET", `/runs/${problem.run_id}`);
      assert.deepEqual([run.status, run.token_usage.cost_usd], ["budget_exceeded", 0.001]);
    },
  },
  {
    name: "a strict budget makes no call whose worst case does not fit",
    async run(api) {
      const count = api.fake.calls;
      const path = await define(api, {
        model: LOCAL,
        cost_budget_usd: 0.000000001,
        budget_mode: "strict",
      });
      await api.refused(402, "budget_exceeded", "POST", path, { input: "Hi" });
      assert.equal(api.fake.calls, count);
    },
  },
  {
    name: "a provider's failure is 502 with its message, the run and the session",
    async run(api) {
      const path = await define(api, { model: LOCAL });
      api.fake.enqueue({ status: 401, message: "Wrong key" });
      const problem = await api.refused(502, "provider_error", "POST", path, { input: "Hi" });
      assert.match(problem.detail, /Wrong key/);
      assert.equal((await api.expect(200, "GET", `/runs/${problem.run_id}`)).status, "failed");
    },
  },
  {
    name: "a session has one run at a time: 409, with the run that is in progress",
    async run(api) {
      const path = await define(api, { model: LOCAL });
      const going = Promise.withResolvers<void>();
      const count = api.fake.calls;
      api.fake.enqueue({ after: going.promise, ...answerTo(LOCAL_API, { text: "Done" }) });
      const body = { input: "Hi", session_id: `${api.prefix}:s` };
      const first = api.expect(200, "POST", path, body);
      await api.until(() => Promise.resolve(api.fake.calls), (calls) => calls > count);
      const { details } = await api.refused(409, "conflict", "POST", path, body);
      going.resolve();
      assert.equal(details.active_run_id, (await first).run_id);
    },
  },
  {
    name: "a run is cancelled on request, and its calls stay booked",
    async run(api) {
      const path = await define(api, { model: LOCAL, tools: ["calculator"] });
      const going = Promise.withResolvers<void>();
      const count = api.fake.calls;
      const toolCall = { id: "call_1", name: "calculator", input: { expression: "1+1" } };
      // At the edge the run is cancelled at its next call; elsewhere at once, without waiting for the response.
      api.fake.enqueue({ after: going.promise, ...answerTo(LOCAL_API, { toolCall }) });
      const session = `${api.prefix}:s`;
      const running = api.expect(200, "POST", path, { input: "Hi", session_id: session });
      await api.until(() => Promise.resolve(api.fake.calls), (calls) => calls > count);
      const { active_run_id } = await api.expect(200, "GET", `/sessions/${session}`);
      const cancelled = await api.expect(202, "POST", `/runs/${active_run_id}/cancel`);
      assert.deepEqual(cancelled, { run_id: active_run_id });
      going.resolve();
      const result = await running;
      assert.deepEqual([result.status, result.output, result.run_id], ["cancelled", null, active_run_id]);
      assert.equal(result.token_usage.model_calls, 1);
      await api.refused(409, "conflict", "POST", `/runs/${active_run_id}/cancel`);
      await api.refused(404, "not_found", "POST", "/runs/run_nowhere/cancel");
      await api.refused(404, "not_found", "GET", "/runs/run_nowhere");
    },
  },
  {
    name: "a run is cancelled at once, without waiting for its model",
    needs: "prompt_cancel",
    async run(api) {
      const path = await define(api, { model: LOCAL });
      const count = api.fake.calls;
      api.fake.enqueue({ hang: true });
      const session = `${api.prefix}:s`;
      const running = api.expect(200, "POST", path, { input: "Hi", session_id: session });
      await api.until(() => Promise.resolve(api.fake.calls), (calls) => calls > count);
      const { active_run_id } = await api.expect(200, "GET", `/sessions/${session}`);
      await api.expect(202, "POST", `/runs/${active_run_id}/cancel`);
      assert.equal((await running).status, "cancelled");
    },
  },
  {
    name: "an agent uses tools from disk",
    needs: "tools",
    async run(api) {
      const path = await define(api, { model: "demo:loop", tools: ["count_words"] });
      const { status, output } = await api.expect(200, "POST", path, { input: "2 times" });
      assert.deepEqual([status, output], ["completed", "Called count_words 2 times."]);
    },
  },
];
