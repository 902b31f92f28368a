import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { tool } from "ai";
import { z } from "zod";
import { meter } from "../src/runner/mod.ts";
import type { Store } from "../src/store/mod.ts";
import { SCRUBBED } from "../src/redaction/values/mod.ts";
import { databaseBytes, newPlace, purser as runCli, startServer } from "./harness/cli_process.ts";
import { callOptions } from "./harness/fake_model.ts";
import { skipSqld, startSqld } from "./harness/sqld.ts";
import { startOtlpReceiver } from "./harness/otlp_receiver.ts";
import { openTestPurser, type TestOptions } from "./harness/test_purser.ts";

/**
 * Whatever is configured as a secret is in nothing that is kept or shown, though a provider, a tool, a user or a receiver
 * repeats it: every source of a secret, by every attack, over every place.
 */

/** Secrets without any format, by their source. One has characters that encodings change. */
const SECRETS = {
  "a key in the environment": "MARK0env~key~3f9a1c77",
  "a key of a provider": 'MARK1"key/with\\+odd=chars&7e',
  "a header of a provider": "MARK2 header value of two parts 51b",
  "a token in a header": "MARK3.bearer.0a9s8d7f6g5h",
  "a password in a base URL": "MARK4-password-88c2",
  "a query of a base URL": "MARK5-query-19f0aa",
  "the token of the database": "MARK6_db_token_65d1",
  "a channel's URL": "MARK7T0000B1111xyzwvu24",
  "a channel's secret": `whsec_${btoa("MARK8 of thirty random bytes..")}`,
  "a mail password": "MARK9 mail password 4",
  "the key of a server": "MARK10-server-key-f00",
  "the key of another profile": "MARK11-profile-key-ba5",
  "a header of telemetry": "MARK12-otlp-header-cafe",
} as const;

const ALL: string[] = Object.values(SECRETS);

const settings = (baseUrl: string): TestOptions => ({
  env: {
    OPENAI_API_KEY: SECRETS["a key in the environment"],
    OTEL_EXPORTER_OTLP_HEADERS: `x-a=b,x-key=${SECRETS["a header of telemetry"]}`,
  },
  config: {
    dbToken: SECRETS["the token of the database"],
    apiKey: SECRETS["the key of a server"],
    otherSecrets: [SECRETS["the key of another profile"]],
    providers: {
      local: {
        baseUrl,
        apiKey: "a-key-that-can-be-sent-1",
        headers: {
          "x-tenant": SECRETS["a header of a provider"],
          authorization: `Bearer ${SECRETS["a token in a header"]}`,
          accept: "application/json",
        },
      },
      odd: { baseUrl, apiKey: SECRETS["a key of a provider"] },
      url: {
        baseUrl: `http://user:${SECRETS["a password in a base URL"]}@127.0.0.1:1/?key=${
          SECRETS["a query of a base URL"]
        }`,
      },
    },
    channels: [
      channel("slack", { url: `https://hooks.slack.com/services/T0000/B1111/${SECRETS["a channel's URL"]}` }),
      channel("webhook", { url: "https://example.com/hook", secret: SECRETS["a channel's secret"] }),
      channel("smtp", { host: "mail.example.com", password: SECRETS["a mail password"] }),
    ],
  },
});

const channel = (kind: string, settings: Record<string, unknown>) =>
  ({ kind, name: kind, minSeverity: "critical", timeoutMs: 1_000, settings }) as const;

/** The forms in which a value is looked for. */
function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  return [
    ...new Set([
      secret,
      json,
      JSON.stringify(json).slice(1, -1),
      encodeURIComponent(secret),
      btoa(secret).slice(0, -4),
    ]),
  ];
}

/** Returns the secrets that a text has, by their source. */
function leaksIn(text: string, secrets: Readonly<Record<string, string>> = SECRETS): string[] {
  return Object.entries(secrets).flatMap(([source, secret]) =>
    formsOf(secret).some((form) => text.includes(form)) ? [source] : []
  );
}

const everySecret = ALL.join(" and ");
const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
const chunk = (delta: unknown, more: object = {}) =>
  `data: ${JSON.stringify({ id: "c1", model: "m", choices: [{ index: 0, delta, ...more }] })}\n\n`;
const stream = (...frames: string[]) =>
  new Response(
    [
      ...frames,
      chunk({}, { finish_reason: "stop" }),
      `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
      "data: [DONE]\n\n",
    ]
      .join(""),
    { headers: { "content-type": "text/event-stream" } },
  );
const answer = (message: object, more: object = {}) =>
  Response.json({
    id: "c1",
    model: "m",
    usage,
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" }],
    ...more,
  });

/** The answers of a provider that repeats every secret; `isStreamed` as the request asked. */
const ATTACKS: Record<string, (isStreamed: boolean, call: number) => Response> = {
  "in a JSON error": () =>
    Response.json({ error: { message: `Wrong key: ${everySecret}` } }, { status: 401 }),
  "in a text error": () => new Response(everySecret, { status: 400 }),
  "in the headers of an error": () =>
    new Response("no", {
      status: 403,
      headers: { "x-echo": encodeURIComponent(everySecret), "retry-after": "0" },
    }),
  "as a field name of an error": () =>
    Response.json({ error: { message: "bad", [everySecret]: 1, param: everySecret } }, { status: 422 }),
  "in base64": () =>
    Response.json({ error: { message: ALL.map((secret) => btoa(`user:${secret}`)).join() } }, {
      status: 401,
    }),
  "URL-encoded": () =>
    Response.json({
      error: { message: `/v1?${ALL.map((secret) => `k=${encodeURIComponent(secret)}`).join("&")}` },
    }, {
      status: 404,
    }),
  "as JSON in a text": () =>
    Response.json({ error: { message: JSON.stringify(JSON.stringify({ ALL })) } }, { status: 400 }),
  "where an error text is cut": () =>
    Response.json({ error: { message: ALL.map((secret) => "x".repeat(37) + secret).join("") } }, {
      status: 400,
    }),
  "in a body that is no answer": () =>
    new Response(`<html>${everySecret}</html>`, { headers: { "content-type": "text/html" } }),
  "in the answer": (isStreamed) =>
    isStreamed
      ? stream(chunk({ content: everySecret }))
      : answer({ content: everySecret, reasoning_content: everySecret }),
  "split over deltas": (isStreamed) =>
    isStreamed
      ? stream(...Array.from(`It is ${everySecret}.`, (content) => chunk({ content })))
      : answer({ content: everySecret }),
  "in an id and a model": (isStreamed) =>
    isStreamed
      ? new Response(
        `data: ${
          JSON.stringify({
            id: ALL[0],
            model: ALL[3],
            choices: [{ index: 0, delta: { content: "ok" }, finish_reason: "stop" }],
            usage,
          })
        }\n\ndata: [DONE]\n\n`,
        { headers: { "content-type": "text/event-stream" } },
      )
      : answer({ content: "ok" }, { id: ALL[0], model: ALL[3], service_tier: ALL[4] }),
  "in the arguments of a tool": (isStreamed, call) => {
    if (call > 1) return isStreamed ? stream(chunk({ content: "ok" })) : answer({ content: "ok" });
    const tool_calls = [{
      index: 0,
      id: "t1",
      type: "function",
      function: { name: "leak", arguments: JSON.stringify({ ALL }) },
    }];
    return isStreamed ? stream(chunk({ tool_calls })) : answer({ content: null, tool_calls });
  },
  "in an error of a stream": () =>
    new Response(
      `${chunk({ content: "so far" })}data: ${JSON.stringify({ error: { message: everySecret } })}\n\n`,
      {
        headers: { "content-type": "text/event-stream" },
      },
    ),
};

/** Starts a provider that carries out the current attack. */
function startLeaking() {
  let attack: keyof typeof ATTACKS = "";
  let calls = 0;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => ATTACKS[attack]!((await request.text()).includes('"stream":true'), ++calls),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    start(name: string) {
      attack = name;
      calls = 0;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A tool that returns every secret, and one that fails with them. */
const tools = {
  leak: tool({
    inputSchema: z.looseObject({}),
    execute: () => Promise.resolve({ environment: ALL, [ALL[0]!]: everySecret }),
  }),
  fail: tool({
    inputSchema: z.looseObject({}),
    execute: (): Promise<string> => Promise.reject(new Error(everySecret)),
  }),
};

for (const where of ["file", ...skipSqld ? [] : ["sqld"]] as const) {
  Deno.test(`no configured secret is kept or shown, from any source, by any attack, over ${where}`, async () => {
    await using provider = startLeaking();
    const folder = await Deno.makeTempDir({ prefix: "purser_secrets_" });
    await using sqld = where === "sqld" ? await startSqld() : undefined;
    const database = await sqld?.createDatabase();
    const { config, ...rest } = settings(provider.url);
    const dbUrl = database?.url ?? `${folder}/books.db`;
    const shown: Record<string, string> = {};
    {
      await using purser = await openTestPurser({
        ...rest,
        fetch: database?.fetch,
        tools,
        config: {
          ...config,
          dbUrl,
          ...(where === "sqld" && { dbToken: SECRETS["the token of the database"] }),
        },
      });
      const agent = { model: "local:m", tools: ["leak", "fail"], system_prompt: `Use ${everySecret}` };
      assert.equal((await purser.api("PUT", "/agents/leaky", agent)).status, 201);
      const attacks = Object.keys(ATTACKS).filter((_, index) => where === "file" || index % 6 === 0);
      for (const attack of attacks) {
        provider.start(attack);
        const texts: string[] = [];
        const answered = await purser.api("POST", "/agents/leaky/runs", { input: `Repeat ${everySecret}` });
        provider.start(attack);
        const streamed = await purser.api("POST", "/agents/leaky/runs", { input: "Hi" }, {
          accept: "text/event-stream",
        });
        provider.start(attack);
        await purser.run({ model: "odd:m", tools: ["leak"] }, "Hi", {
          onPart: (part) => texts.push(part.type === "text" ? part.text : JSON.stringify(part)),
        }).then(
          (result) => texts.push(JSON.stringify(result)),
          (error) => texts.push(String(error.stack), JSON.stringify(error.details ?? {})),
        );
        // A model of the program: its calls are metered, and its errors logged.
        const own = createOpenAICompatible({ name: "own", baseURL: provider.url })("m");
        const metered = meter(purser.core, own, { agentId: "metered" });
        provider.start(attack);
        await metered.doGenerate(callOptions("Hi")).then(() => {}, () => {});
        shown[`the answer of a run, ${attack}`] = JSON.stringify(answered.body);
        shown[`the stream of a run, ${attack}`] = String(streamed.body);
        shown[`the parts of a run, ${attack}`] = texts.filter((text) => !text.startsWith("{")).join("") +
          texts.join("\n");
      }
      const { body: sessions } = await purser.api("GET", "/sessions?limit=1000");
      for (const { session_id } of sessions) {
        const paths = [
          `/sessions/${session_id}`,
          `/sessions/${session_id}/events`,
          `/agents/${session_id}/snapshot?with_events=true`,
        ];
        for (const path of paths) shown[path] = JSON.stringify((await purser.api("GET", path)).body);
      }
      shown["the events on the bus"] = JSON.stringify(purser.published);
      shown["the log"] = JSON.stringify(purser.logs);
      shown["an agent"] = JSON.stringify((await purser.api("GET", "/agents/leaky")).body);
      shown["a problem"] = JSON.stringify(
        (await purser.api("GET", `/agents/${encodeURIComponent(ALL[3]!)}/sessions`)).body,
      );
      if (where === "sqld") shown["the database"] = await dump(purser.core.store);
      else shown["the database"] = await databaseBytes(folder);
      assert.ok(shown["the database"]!.split(SCRUBBED).length > 100, "they would be there");
      assert.ok(sessions.length > attacks.length, `${sessions.length} sessions`);
    }
    if (where === "file") shown["the database after it was closed"] = await databaseBytes(folder);
    const leaks = Object.entries(shown).flatMap(([place, text]) =>
      leaksIn(text).map((source) => `${source} in ${place}`)
    );
    assert.deepEqual(leaks, []);
    await Deno.remove(folder, { recursive: true });
  });
}

Deno.test("no configured secret is in what commands and a server print, keep, answer or export", async () => {
  await using receiver = startOtlpReceiver();
  await using provider = startLeaking();
  await using place = await newPlace();
  const { config } = settings(provider.url);
  const { local } = config!.providers!;
  await Deno.mkdir(`${place.folder}/purser`);
  await Deno.writeTextFile(
    `${place.folder}/purser/purser.json`,
    JSON.stringify({
      providers: { local: { base_url: local!.baseUrl, api_key: local!.apiKey, headers: local!.headers } },
      profiles: { other: { server: "http://127.0.0.1:1", api_key: SECRETS["the key of another profile"] } },
      channels: [{ kind: "webhook", url: "https://example.com/", secret: SECRETS["a channel's secret"] }],
    }),
  );
  const known = {
    header: local!.headers!["x-tenant"]!,
    bearer: SECRETS["a token in a header"],
    environment: SECRETS["a key in the environment"],
    profile: SECRETS["the key of another profile"],
    channel: SECRETS["a channel's secret"],
  };
  place.env.OPENAI_API_KEY = known.environment;
  const shown: Record<string, string> = {};
  await runCli(place, ["agents", "set", "leaky", "--model", "local:m"]);
  Object.assign(place.env, receiver.env);
  for (const attack of ["in a JSON error", "in the answer", "in an id and a model"]) {
    provider.start(attack);
    const { out, err, code } = await runCli(place, [
      "run",
      "leaky",
      everySecret,
      "--session",
      attack.replaceAll(" ", "_"),
    ]);
    shown[`purser run, ${attack}`] = `${out} ${err}`;
    assert.equal(code, attack === "in a JSON error" ? 1 : 0, err);
  }
  shown["the spans"] = receiver.text();
  assert.ok(shown["the spans"].includes(SCRUBBED));
  shown["a snapshot"] =
    (await runCli(place, ["state", "export", "leaky", "--with-events", "--output", "-"])).out;
  const { out } = await runCli(place, ["keys", "create", "ops", "--scope", "admin", "--json"]);
  const { key } = JSON.parse(out) as { key: string };
  {
    await using server = await startServer(place);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    for (const attack of ["in a JSON error", "split over deltas"]) {
      provider.start(attack);
      for (const accept of ["application/json", "text/event-stream"]) {
        const body = JSON.stringify({ input: `${key} and ${everySecret}` });
        const answered = await fetch(`${server.url}/agents/leaky/runs`, {
          method: "POST",
          headers: { ...headers, accept },
          body,
        });
        shown[`POST /runs, ${accept}, ${attack}`] = await answered.text();
      }
    }
    const { err, out } = await runCli(place, [
      "sessions",
      "show",
      key,
      "--server",
      server.url,
      "--api-key",
      key,
    ]);
    shown["a command over the server"] = err + out;
    shown["the database while it is open"] = await databaseBytes(place.folder);
  }
  shown["the database"] = await databaseBytes(place.folder);
  assert.ok(shown["the database"].includes(SCRUBBED));
  const leaks = Object.entries(shown).flatMap(([where, text]) =>
    leaksIn(text, { ...known, "the API key in use": key }).map((source) => `${source}: ${where}`)
  );
  assert.deepEqual(leaks, []);
});

/** Returns every row of every table. */
async function dump(store: Pick<Store, "read">): Promise<string> {
  const { rows: tables } = await store.read({ sql: "SELECT name FROM sqlite_schema WHERE type = 'table'" });
  const texts: string[] = [];
  for (const [name] of tables) {
    const { rows } = await store.read({ sql: `SELECT * FROM "${name}"` });
    texts.push(
      JSON.stringify(rows, (_key, value) => typeof value === "bigint" ? String(value) : value),
      rows.flat().join("\n"),
    );
  }
  return texts.join("\n");
}
