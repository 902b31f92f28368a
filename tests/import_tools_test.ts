import assert from "node:assert/strict";
import { newPlace, type Place } from "./harness/cli_process.ts";
import { inProcess as purser } from "./harness/in_process.ts";

/**
 * `purser import litellm` and `langfuse` over exports and over servers that behave as the contracts of these tools say: keys, pages whose
 * tokens are bound to their query, the forms of times, earlier versions. No live server was asked.
 */

const KEYS = {
  litellm: { LITELLM_PROXY_API_KEY: "sk-MARKED-litellm" },
  langfuse: { LANGFUSE_PUBLIC_KEY: "pk-lf-MARKED", LANGFUSE_SECRET_KEY: "sk-lf-MARKED" },
};
type Tool = keyof typeof KEYS;
const TOOLS = Object.keys(KEYS) as Tool[];
const START = Date.parse("2026-11-20T10:00:00Z");

/** The mishaps of a server. */
interface Mishaps {
  /** It knows the addresses of its earlier version only. */
  isOlder?: boolean;
  /** The answers before which it does, in order. */
  statuses?: ResponseInit[];
  /** The number of requests after which it fails. */
  endsAfter?: number;
  /** Tokens of pages of another generation have expired. */
  generation?: number;
}

/** The calls of a server: 250 of 1,000 tokens in and 10 out, of which 180 are within one second. */
const timeOf = (index: number) =>
  START + (index < 20 ? index * 1_000 : index < 200 ? 30_000 + index : index * 1_000);
const ALL = Array.from({ length: 250 }, (_, index) => index);

const ROWS = {
  litellm: (index: number) => ({
    request_id: `chatcmpl-Call${String(index).padStart(16, "0")}`,
    startTime: new Date(timeOf(index)).toISOString(),
    endTime: new Date(timeOf(index) + 400).toISOString(),
    model: "gpt-5.5",
    custom_llm_provider: "openai",
    prompt_tokens: 1_000,
    completion_tokens: 10,
    spend: 0.001,
    user: "ada",
    metadata: { user_api_key_alias: "shop" },
  }),
  langfuse: (index: number) => ({
    id: `obs-${index}`,
    type: index % 10 === 0 ? "EMBEDDING" : "GENERATION",
    startTime: new Date(timeOf(index)).toISOString(),
    endTime: new Date(timeOf(index) + 400).toISOString(),
    model: "gpt-5.5",
    usageDetails: { input: 1_000, output: 10, total: 1_010 },
    costDetails: { total: 0.001 },
    userId: "ada",
  }),
};

type Answer = { body: unknown } | { status: number; fault: string };

/** LiteLLM's proxy: `/spend/logs/v2` has at most 100 rows a page, of a window whose ends belong to it. */
function answerOfLiteLlm(url: URL): Answer {
  const of = (name: string) => url.searchParams.get(name) ?? "";
  const rows = ALL.map(ROWS.litellm);
  const within = (from: string, to: string) =>
    rows.filter(({ startTime }) => startTime >= from && startTime <= to);
  if (url.pathname !== "/spend/logs/v2") return { status: 404, fault: "Not Found" };
  if (Number(of("page_size")) > 100) {
    return { status: 422, fault: "Input should be less than or equal to 100" };
  }
  if (!/^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d){2}$/.test(of("start_date") + of("end_date"))) {
    return { status: 400, fault: "Invalid date format" };
  }
  const iso = (text: string) => text.replace(" ", "T");
  const found = within(iso(of("start_date")), iso(of("end_date")));
  assert.deepEqual([of("sort_by"), of("sort_order")], ["startTime", "asc"]);
  const [page, size] = [Number(of("page")), Number(of("page_size"))];
  // The total is capped: no page may be looked for by it.
  return {
    body: {
      data: found.slice((page - 1) * size, page * size),
      total: 10,
      page,
      page_size: size,
      total_pages: 1,
    },
  };
}

/** Langfuse: the newest first, a cursor that is bound to its query, or numbered pages of version 1 without users. */
function answerOfLangfuse(url: URL, { isOlder, generation = 0 }: Mishaps): Answer {
  const of = (name: string) => url.searchParams.get(name) ?? "";
  const found = ALL.map(ROWS.langfuse).filter(({ startTime, type }) =>
    type === of("type") && startTime >= of("fromStartTime") && startTime < of("toStartTime")
  ).toReversed();
  if (url.pathname === "/api/public/observations") {
    const [page, limit] = [Number(of("page")), Number(of("limit"))];
    if (limit > 100) return { status: 400, fault: "limit is at most 100" };
    const data = found.slice((page - 1) * limit, page * limit).map(({ userId: _, ...row }) => row);
    const meta = { page, limit, totalItems: found.length, totalPages: Math.ceil(found.length / limit) };
    return { body: { data, meta, _deprecation: { message: "use v2" } } };
  }
  if (url.pathname !== "/api/public/v2/observations" || isOlder) {
    return { status: 404, fault: "not available" };
  }
  const query = new URL(url);
  query.searchParams.delete("cursor");
  const bound = `${generation} ${query.search}`;
  const [at, of_] = of("cursor") === "" ? [0, bound] : JSON.parse(atob(of("cursor")));
  if (of_ !== bound) return { status: 400, fault: "Invalid cursor format" };
  const cursor = at + 70 < found.length ? btoa(JSON.stringify([at + 70, bound])) : undefined;
  const data = found.slice(at, at + 70).map(({ model, costDetails, ...row }) => ({
    ...row,
    providedModelName: model,
    totalCost: costDetails.total,
  }));
  return { body: { data, meta: { ...cursor && { cursor } } } };
}

const ANSWERS = { litellm: answerOfLiteLlm, langfuse: answerOfLangfuse };
const AUTHORIZATION = {
  litellm: `Bearer ${KEYS.litellm.LITELLM_PROXY_API_KEY}`,
  langfuse: `Basic ${btoa("pk-lf-MARKED:sk-lf-MARKED")}`,
};

function serve(tool: Tool, mishaps: Mishaps) {
  const asked: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const url = new URL(request.url);
    asked.push(url.href);
    const authorization = request.headers.get("authorization");
    if (authorization !== AUTHORIZATION[tool]) {
      return Response.json({ error: { message: `invalid key ${authorization}` } }, { status: 401 });
    }
    const next = mishaps.statuses?.shift();
    if (next) return new Response("{}", next);
    if (asked.length > (mishaps.endsAfter ?? Infinity)) {
      return new Response("{}", { status: 503, headers: { "retry-after": "0" } });
    }
    const answer = ANSWERS[tool](url, mishaps);
    return "body" in answer
      ? Response.json(answer.body)
      : Response.json({ error: { message: answer.fault } }, { status: answer.status });
  });
  return {
    asked,
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function openWorld(tool: Tool, mishaps: Mishaps = {}) {
  const place: Place = await newPlace();
  Object.assign(place.env, KEYS[tool], { HOME: place.folder });
  const server = serve(tool, mishaps);
  return {
    ...{ place, server, mishaps },
    importAll: async (...args: string[]) => {
      const done = await purser(place, ["import", tool, "--url", server.url, ...args, "--json"]);
      const [agent] = done.out === "" ? [undefined] : JSON.parse(done.out).agents;
      assert.ok(!`${done.out}${done.err}`.includes("MARKED"), "a key is shown");
      return { ...done, agent };
    },
    total: async () => JSON.parse((await purser(place, ["cost", "--total", "--since", "all", "--json"])).out),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}

for (const tool of TOOLS) {
  Deno.test(`${tool}: an import reads each call of the API once, and the next one only what is new`, async () => {
    await using world = await openWorld(tool, {
      statuses: [{ status: 429, headers: { "retry-after": "0" } }],
    });
    const rehearsed = await world.importAll("--dry-run");
    assert.deepEqual([rehearsed.code, rehearsed.agent.booked], [0, 250], rehearsed.err);
    const { code, err, agent } = await world.importAll();
    assert.deepEqual([code, agent.booked, agent.malformed], [0, 250, 0], err);
    assert.deepEqual(agent.unknown, {});
    const asked = world.server.asked.length;
    const again = await world.importAll();
    // It begins two hours before the end of the last one.
    assert.deepEqual([again.agent.booked, again.agent.known], [0, 0]);
    assert.equal(world.server.asked.length - asked, tool === "litellm" ? 1 : 2);
    const { model_calls, input_tokens, output_tokens } = await world.total();
    assert.deepEqual([model_calls, input_tokens, output_tokens], [250, 250_000, 2_500]);
    const costs = await purser(world.place, ["cost", "--by", "tag:user", "--since", "all", "--json"]);
    assert.match(costs.out, /"ada".*"model_calls":250/s);
  });

  Deno.test(`${tool}: an import that was cut off keeps what it has read, and goes on from there`, async () => {
    await using world = await openWorld(tool, { endsAfter: 2 });
    const cut = await world.importAll();
    assert.equal(cut.code, 1);
    assert.match(
      cut.err,
      /Cannot read the calls of (LiteLLM|Langfuse): .* answers with status 503/,
    );
    const { model_calls } = await world.total();
    assert.ok(model_calls > 0 && model_calls < 250, `${model_calls}`);
    world.mishaps.endsAfter = Infinity;
    const asked = world.server.asked.splice(0);
    const rest = await world.importAll();
    assert.deepEqual([rest.code, (await world.total()).model_calls], [0, 250], rest.err);
    assert.ok(!world.server.asked.includes(asked[0]!), "the first page is read again");
    assert.equal(world.server.asked[0], asked[2], "the next page is of the same query");
  });

  Deno.test(`${tool}: without its key, with a wrong one or at a wrong address, an import says what is missing`, async () => {
    await using world = await openWorld(tool);
    const file = `${world.place.folder}/tool.key`;
    await Deno.writeTextFile(file, "MARKED:wrong\n", { mode: 0o600 });
    assert.match(
      (await world.importAll("--key-file", file)).err,
      /status 401: the key is not accepted; check it; it needs the /,
    );
    await Deno.writeTextFile(file, Object.values(KEYS[tool]).join(":"));
    const run = (env: object, ...args: string[]) =>
      purser({ env: { ...world.place.env, ...env } as Record<string, string> }, ["import", tool, ...args]);
    const name = Object.keys(KEYS[tool]).at(-1)!;
    const missing = await run({ [name]: "" }, "--url", world.server.url);
    assert.deepEqual(
      [missing.code, missing.err.includes(`${name} is not set; it needs the `)],
      [1, true],
      missing.err,
    );
    const elsewhere = await run({}, "--url", `${world.server.url}/nowhere`);
    assert.match(
      elsewhere.err,
      /answers with status 404: there is nothing at this address; check --url, or import an export/,
    );
    assert.match((await run({}, "--url", "ftp://x")).err, /Cannot use --url: it isn't an address like/);
    assert.equal((await world.importAll("--key-file", file)).agent.booked, 250);
  });

  Deno.test(`${tool}: of an export that is cut off, or is another tool's, nothing is booked`, async () => {
    await using world = await openWorld(tool);
    const file = async (name: string, text: string, ...args: string[]) => {
      const path = `${world.place.folder}/${name}`;
      await Deno.writeTextFile(path, text);
      return await purser(world.place, ["import", tool, "--file", path, ...args]);
    };
    const other = TOOLS.find((name) => name !== tool)!;
    const rows = ALL.slice(0, 3).map((index) => ROWS[tool](index));
    const list = JSON.stringify(rows);
    const half = await file("half.json", list.slice(0, -30));
    assert.deepEqual([half.code, /it isn't JSON; is it whole\?/.test(half.out)], [1, true], half.out);
    const strange = await file(
      "other.json",
      JSON.stringify(ALL.slice(0, 3).map((index) => ROWS[other](index))),
    );
    assert.deepEqual([strange.code, /it has no \w+, as all of (LiteLLM|Langfuse)'s/.test(strange.out)], [
      1,
      true,
    ], strange.out);
    const table = await file(
      "half.csv",
      `"id","request_id","startTime","type"\n"a","b","2026-11-20T10:00:00Z`,
    );
    assert.match(table.out, /it ends in a quoted cell; is it whole\?/);
    assert.equal((await world.total()).model_calls, 0);
    // Each line of JSON lines is whole: those before the cut are booked, and said to be a part.
    const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
    const part = await file("part.jsonl", lines.slice(0, -30));
    assert.match(part.out, /it ends within a record; is it whole\?/);
    const whole = await file("part.jsonl", lines, "--json");
    assert.deepEqual([part.code, JSON.parse(whole.out).agents[0].booked, (await world.total()).model_calls], [
      0,
      1,
      3,
    ]);
  });
}

Deno.test("langfuse: a server without version 2 of the API is read by version 1", async () => {
  await using world = await openWorld("langfuse", { isOlder: true });
  const { code, err, agent } = await world.importAll("--since", "2026-11-19");
  assert.deepEqual([code, agent?.booked], [0, 250], err);
});

Deno.test("a call that LiteLLM and Langfuse both tell is one, by the provider's id or LiteLLM's own", async () => {
  await using world = await openWorld("litellm");
  const own = "chatcmpl-2f6d0c5e-93b1-4c0e-8f6b-5d2a7b1e4c90";
  const rows = [ROWS.litellm(0), { ...ROWS.litellm(1), request_id: own, custom_llm_provider: "anthropic" }];
  const told = rows.map(({ request_id }, index) => ({
    ...ROWS.langfuse(index + 1),
    id: `time-10-00-00-000001_${request_id}`,
  }));
  for (const [name, all] of [["litellm", rows], ["langfuse", [...told, ROWS.langfuse(9)]]] as const) {
    const path = `${world.place.folder}/${name}.json`;
    await Deno.writeTextFile(path, JSON.stringify({ data: all }));
    assert.equal((await purser(world.place, ["import", name, "--file", path])).code, 0);
  }
  assert.equal((await world.total()).model_calls, 3);
});

Deno.test("exports are looked for by the name of their tool only", async () => {
  await using world = await openWorld("litellm");
  const folder = `${world.place.folder}/exports`;
  await Deno.mkdir(folder);
  await Deno.writeTextFile(`${folder}/rows.jsonl`, `${JSON.stringify(ROWS.litellm(0))}\n`);
  const unnamed = await purser(world.place, ["import", "--path", folder, "--json"]);
  assert.ok(!unnamed.out.includes('"litellm"'), unnamed.out);
  const named = await purser(world.place, ["import", "litellm", "--path", folder, "--json"]);
  assert.equal(JSON.parse(named.out).agents[0].booked, 1);
});

Deno.test("langfuse: a cursor that has expired begins its query anew", async () => {
  await using world = await openWorld("langfuse", { endsAfter: 2 });
  await world.importAll();
  Object.assign(world.mishaps, { endsAfter: Infinity, generation: 1 });
  assert.equal((await world.importAll()).code, 0);
  assert.equal((await world.total()).model_calls, 250);
});
