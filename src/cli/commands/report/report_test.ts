import assert from "node:assert/strict";
import { createApiClient } from "../../../client/mod.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { memoryTerminal } from "../../../../tests/harness/memory_terminal.ts";
import { openTestBooks } from "../../../../tests/harness/test_books.ts";
import { main } from "../../mod.ts";
import { readLines } from "./read_lines.ts";
import { type BadLine, reportLines, type Tally } from "./report_lines.ts";

/** `purser report`: JSON lines of calls made elsewhere. */

const callOf = (id: string, more: object = {}) => ({
  call_id: id,
  at: "2026-11-20T09:30:00.000Z",
  agent_id: "nightly",
  provider: "demo",
  model: "echo",
  input_tokens: 100,
  output_tokens: 10,
  ...more,
});

const linesOf = (...calls: (object | string)[]) =>
  calls.map((call) => typeof call === "string" ? call : JSON.stringify(call)).join("\n") + "\n";

const input = (stdin: string | Uint8Array<ArrayBuffer>) => ({ terminal: memoryTerminal({ stdin }) });

Deno.test("purser report books the calls of a file once, however often it is repeated", async () => {
  await using books = await openTestBooks();
  const path = await Deno.makeTempFile({ suffix: ".jsonl" });
  const unpriced = callOf("c3", { provider: "x", model: "nope" });
  await Deno.writeTextFile(path, linesOf(callOf("c1"), "", callOf("c2", { cost_usd: 0.5 }), "  ", unpriced));
  assert.deepEqual(await books.purser(`report ${path}`), {
    code: 0,
    out: "Booked 3 calls, 1 of them without a price\n",
    err: "",
  });
  assert.match((await books.purser("cost --by agent --json")).out, /"model_calls":3/);
  const again = linesOf(callOf("c1"), callOf("c4"), callOf("c4")).replaceAll("\n", "\r\n");
  assert.deepEqual(await books.purser("report -", input(again)), {
    code: 0,
    out: "Booked 1 call; 2 calls were booked before\n",
    err: "",
  });
  const grown = linesOf(callOf("c1", { output_tokens: 20 }), callOf("c2", { cost_usd: 0.5 }));
  assert.deepEqual(await books.purser("report -", input(grown)), {
    code: 0,
    out: "Booked 0 calls; 1 call was corrected; 1 call was booked before\n",
    err: "",
  });
  const more = linesOf(callOf("c1", { output_tokens: 30 }));
  assert.match((await books.purser("report - --json", input(more))).out, /"duplicates":0,.*"amended":1/);
  assert.deepEqual(await books.purser("report - --json", input("")), {
    code: 0,
    out: '{"lines":0,"booked":0,"duplicates":0,"unpriced":0,"bad_lines":0,"bad":[]}\n',
    err: "",
  });
  await Deno.remove(path);
});

Deno.test("purser report names each bad line by its number and what is wrong, and books the others", async () => {
  await using books = await openTestBooks();
  await books.purser("report -", input(linesOf(callOf("known"))));
  const bytes = new TextEncoder().encode(linesOf(
    callOf("good-1"),
    "{ no json",
    callOf("bad-1", { input_tokens: -1, colour: "red" }),
    "[]",
    callOf("known", { input_tokens: 11 }),
    callOf("late", { at: "2031-01-01T00:00:00Z" }),
    callOf("good-2"),
    callOf("good-2", { input_tokens: 7 }),
    callOf("bad-2", { agent_id: "no\u0000pe" }),
    "\u0001",
  ));
  const stdin = new Uint8Array([
    ...bytes.slice(0, -2),
    0xff,
    10,
    ...new TextEncoder().encode(linesOf(callOf("good-3"))),
  ]);
  const { code, out, err } = await books.purser("report -", input(stdin));
  assert.equal(code, 1);
  assert.equal(out, "Booked 3 calls; 8 bad lines were left out\n");
  const named = err.split("\n");
  assert.deepEqual(named.map((line) => /^error: (Line \d+: \w+)/.exec(line)?.[1]), [
    "Line 2: it",
    "Line 3: input_tokens",
    "Line 4: is",
    "Line 5: call_id",
    "Line 6: at",
    "Line 8: call_id",
    "Line 9: agent_id",
    "Line 10: it",
    undefined,
  ]);
  assert.match(named[1]!, /^error: Line 3: input_tokens: .*; colour: is not known$/);
  assert.match(named[3]!, /call_id: it is booked, or on an earlier line, with other content$/);
  assert.match(named[4]!, /at: it is more than five minutes ahead/);
  assert.equal(named[7], "error: Line 10: it is not UTF-8");
  const listed = await books.purser("report - --json", input(linesOf(callOf("good-1"), "{")));
  assert.deepEqual([listed.code, listed.err], [1, ""]);
  assert.deepEqual(JSON.parse(listed.out), {
    lines: 2,
    booked: 0,
    duplicates: 1,
    unpriced: 0,
    bad_lines: 1,
    bad: [{ line: 2, problems: ["it is not JSON"] }],
  });
});

Deno.test("purser report stops at an error that is not about a line, and says what it has booked", async () => {
  await using books = await openTestBooks();
  const calls = linesOf(...Array.from({ length: 1_500 }, (_, i) => callOf(`c${i}`)));
  let posts = 0;
  const send = (): Promise<Response> => {
    posts++;
    return posts === 1
      ? Promise.resolve(Response.json({ booked: 1_000, duplicates: 0, unpriced: 0 }))
      : Promise.reject(new PurserError("unavailable", "Cannot reach the server at x"));
  };
  const api = createApiClient({ baseUrl: "http://purser.invalid", send });
  const terminal = memoryTerminal({ stdin: calls });
  const code = await main(["report", "-"], {
    terminal,
    env: { PURSER_DB: ":memory:" },
    connect: () =>
      Promise.resolve({ api, send, kind: "local", where: "memory", close: () => Promise.resolve() }),
  });
  assert.deepEqual([code, terminal.out, terminal.err], [
    1,
    "",
    "Booked 1,000 calls; repeat the report to book the rest\nerror: Cannot reach the server at x\n",
  ]);
  const missing = await books.purser("report nowhere.jsonl");
  assert.deepEqual(missing, {
    code: 1,
    out: "",
    err: "error: Cannot read the calls in nowhere.jsonl: no such file or directory\n",
  });
  assert.equal(books.openConnections, 0);
});

/** Reports numbers: `post` refuses as a server does that has a limit of one request. */
async function reportNumbers(
  count: number,
  isBad: (n: number) => boolean,
  refuse: (bad: number[], ids: number[]) => PurserError,
) {
  const booked: number[] = [];
  const bad: BadLine[] = [];
  let posts = 0;
  let largest = 0;
  async function* lines() {
    for (let n = 1; n <= count; n++) yield { number: n, text: JSON.stringify({ call_id: n }) };
  }
  await reportLines(lines(), {
    limits: { calls: 100, bytes: 1_000 },
    post(body): Promise<Tally> {
      posts++;
      largest = Math.max(largest, body.length);
      const ids: number[] = JSON.parse(body).map(({ call_id }: { call_id: number }) => call_id);
      const wrong = ids.filter(isBad);
      if (wrong.length > 0) return Promise.reject(refuse(wrong, ids));
      booked.push(...ids);
      return Promise.resolve({ booked: ids.length, duplicates: 0, unpriced: 0 });
    },
    onBatch: (outcome) => void bad.push(...outcome.bad),
  });
  return { booked, bad: bad.map(({ line }) => line), posts, largest };
}

Deno.test("reportLines() finds every bad line in bounded requests, whatever the refusal names", async () => {
  const refusals: Record<string, (bad: number[], ids: number[]) => PurserError> = {
    "the first by index": ([first], ids) =>
      new PurserError("invalid", "no", {
        details: { issues: [{ path: `[${ids.indexOf(first!)}].at`, message: "no" }] },
      }),
    "all by index": (bad, ids) =>
      new PurserError("invalid", "no", {
        details: { issues: bad.map((id) => ({ path: `[${ids.indexOf(id)}]`, message: "no" })) },
      }),
    "the first by id": ([first]) => new PurserError("conflict", "no", { details: { call_id: first } }),
    "none": () => new PurserError("too_large", "no"),
    "an index out of range": () =>
      new PurserError("invalid", "no", {
        details: { issues: [{ path: "[999]", message: "no" }, { path: "", message: "" }] },
      }),
    "the agent of a key": () => new PurserError("forbidden", "no", { details: { agent_id: "other" } }),
  };
  for (const [name, refuse] of Object.entries(refusals)) {
    for (const isBad of [(n: number) => n % 7 === 0, () => true, (n: number) => n === 250, () => false]) {
      const all = Array.from({ length: 250 }, (_, i) => i + 1);
      const { booked, bad, posts, largest } = await reportNumbers(250, isBad, refuse);
      assert.deepEqual(booked.sort((a, b) => a - b), all.filter((n) => !isBad(n)), name);
      assert.deepEqual(bad, all.filter(isBad), name);
      assert.ok(posts <= 3 * 250, `${name}: ${posts}`);
      assert.ok(largest <= 1_200, `${name}: ${largest}`);
    }
  }
  await assert.rejects(
    reportNumbers(3, () => true, () => new PurserError("forbidden", "no", { details: { scopes: ["run"] } })),
    { code: "forbidden" },
  );
});

Deno.test("readLines() splits anywhere, and never holds more than a line of the limit", async () => {
  const text = "one\r\n\nthrée\n" + "x".repeat(50) + "\nlast";
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 2, 3, 7, 1_000]) {
    const chunks = async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
    };
    assert.deepEqual(await Array.fromAsync(readLines(chunks(), 20)), [
      { number: 1, text: "one" },
      { number: 2, text: "" },
      { number: 3, text: "thrée" },
      { number: 4, fault: "it has more than 20 bytes" },
      { number: 5, text: "last" },
    ]);
  }
});
