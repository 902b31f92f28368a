import assert from "node:assert/strict";
import { main } from "../../src/cli/mod.ts";
import { type Clock, MINUTE_MS, systemClock } from "../../src/kernel/clock.ts";
import { newPlace, purser, startServer } from "../harness/cli_process.ts";
import { memoryTerminal } from "../harness/memory_terminal.ts";
import { type AgentPlace, newAgentPlace } from "./agent_place.ts";

/** `purser gate` with a ledger behind a server, which may be slow or gone. */

const SESSION = "533e985d-597e-49f4-ab53-11c60e048775";

/** Runs the hook of a prompt in the recorded session. */
async function prompt(
  place: AgentPlace,
  server: string,
  { closed = false, clock }: { closed?: boolean; clock?: Clock } = {},
) {
  const stdin = JSON.stringify({
    session_id: SESSION,
    transcript_path: `${place.env.HOME}/.claude/projects/-home-dev-project/${SESSION}.jsonl`,
    hook_event_name: "UserPromptSubmit",
  });
  const terminal = memoryTerminal({ stdin });
  const { PURSER_DB: _, ...env } = place.env;
  const args = [
    "gate",
    "--agent",
    "claude-code",
    "--server",
    server,
    ...closed ? ["--on-error", "closed"] : [],
  ];
  const code = await main(args, { terminal, env, ...(clock && { clock }) });
  assert.equal(code, 0);
  return {
    reason: terminal.out === "" ? undefined : JSON.parse(terminal.out).reason as string,
    err: terminal.err,
  };
}

const later = (ms: number): Clock => ({ ...systemClock, now: () => Date.now() + ms });
/** A clock that waits for a tenth of the time. */
const impatient: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 10, signal) };

Deno.test("the gate imports into a server and goes by its budgets, and for a minute by its last answer once it is gone", async () => {
  await using place = await newAgentPlace("claude-code/10-hooks-statusline");
  await using ledger = await newPlace();
  const run = async (...args: string[]) => {
    const { code, out, err } = await purser(ledger, args);
    assert.equal(code, 0, err);
    return out;
  };
  await run("budgets", "add", "--name", "All", "--limit", "100", "--per", "lifetime");
  let url: string;
  {
    await using server = await startServer(ledger);
    url = server.url;
    assert.deepEqual(await prompt(place, url), { reason: undefined, err: "" });
    const calls = JSON.parse(await run("cost", "--total", "--since", "all", "--json")).model_calls;
    assert.ok(calls > 0);
    await run("budgets", "set", "All", "--limit", "0.01");
    const { reason } = await prompt(place, url);
    assert.match(
      reason!,
      /^Purser: the budget All is reached: .*\n.*\n {2}purser budgets raise All --usd [\d.]+ --server http:\S+$/,
    );
    assert.equal(JSON.parse(await run("cost", "--total", "--since", "all", "--json")).model_calls, calls);

    await run("budgets", "set", "All", "--action", "ask");
    const asked = (await prompt(place, url)).reason!;
    const [, ticket] = /Ticket (tkt_\w+) asks for more: waiting\.\n/.exec(asked)!;
    assert.match(asked, new RegExp(`purser approvals approve ${ticket} --reason TEXT --server http:`));
    assert.equal((await prompt(place, url)).reason, asked, "the ticket stays");
    await run("approvals", "deny", ticket!, "--reason", "enough");
    assert.match((await prompt(place, url)).reason!, new RegExp(`${ticket} asked for more: denied\\.\n`));
  }
  assert.match((await prompt(place, url)).reason!, /budget All is reached/);

  const clock = later(2 * MINUTE_MS);
  const open = await prompt(place, url, { clock });
  assert.equal(open.reason, undefined);
  assert.match(open.err, /^Purser lets this agent go on without .*: Cannot reach the server/);
  assert.match(
    (await prompt(place, url, { clock, closed: true })).reason!,
    /^Purser stops this agent.*Cannot reach the server/,
  );
});

Deno.test("the gate waits for a hanging server no longer than two seconds", async () => {
  await using place = await newAgentPlace("claude-code/10-hooks-statusline");
  const held = Promise.withResolvers<void>();
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async () => {
    await held.promise;
    return new Response("late", { status: 503 });
  });
  using _released = { [Symbol.dispose]: () => held.resolve() };
  const url = `http://127.0.0.1:${server.addr.port}`;
  const open = await prompt(place, url, { clock: impatient });
  assert.equal(open.reason, undefined);
  assert.match(open.err, /: the server has not answered for 2 s$/m);
  assert.match(
    (await prompt(place, url, { clock: impatient, closed: true })).reason!,
    /has not answered for 2 s/,
  );
});

Deno.test("the gate sends no call twice to a server that takes them and then hangs, and asks it again", async () => {
  await using place = await newAgentPlace("claude-code/10-hooks-statusline");
  const held = Promise.withResolvers<void>();
  const posts: string[] = [];
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    await request.text();
    if (request.method === "POST") {
      posts.push(pathname);
      const counts = {
        booked: 1,
        duplicates: 0,
        amended: 0,
        enriched: 0,
        refused: 0,
        conflicts: 0,
        unpriced: 0,
      };
      return Response.json({ ...counts, cost_usd: 0, reasons: [] });
    }
    await held.promise;
    return Response.json([]);
  });
  using _released = { [Symbol.dispose]: () => held.resolve() };
  const url = `http://127.0.0.1:${server.addr.port}`;
  for (let hook = 0; hook < 2; hook++) {
    assert.match((await prompt(place, url, { clock: impatient })).err, /has not answered for 2 s$/m);
    assert.deepEqual(posts, ["/sightings"]);
  }
  held.resolve();
  assert.deepEqual(await prompt(place, url), { reason: undefined, err: "" });
  assert.deepEqual(posts, ["/sightings"]);
});

Deno.test("the gate goes by the last answer of a slow server once, then waits for the next one", async () => {
  await using place = await newAgentPlace();
  const held = Promise.withResolvers<void>();
  const reached = {
    ...{ budget_id: "bud_1", name: "All", per: "lifetime", scope: "all", state: "reached", action: "refuse" },
    ...{ limit_usd: 1, extra_usd: 0, spent_usd: 1, reserved_usd: 0, resets_at: null },
  };
  let checks = 0;
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async () => {
    checks++;
    if (checks === 2) await held.promise;
    return Response.json(checks === 1 ? [] : [reached]);
  });
  using _released = { [Symbol.dispose]: () => held.resolve() };
  const url = `http://127.0.0.1:${server.addr.port}`;
  /** A tenth of a second is over at once, and two seconds never. */
  const sleep: Clock["sleep"] = (ms, signal) =>
    ms <= 100 ? Promise.resolve() : systemClock.sleep(ms * 100, signal);
  assert.deepEqual(await prompt(place, url), { reason: undefined, err: "" });
  assert.deepEqual(await prompt(place, url, { clock: { ...systemClock, sleep } }), {
    reason: undefined,
    err: "",
  });
  assert.match(
    (await prompt(place, url, { clock: { ...systemClock, sleep } })).reason!,
    /budget All is reached/,
  );
});

Deno.test("the gate says that its key may not do what it needs", async () => {
  await using place = await newAgentPlace("claude-code/10-hooks-statusline");
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () =>
      Response.json({
        type: "about:blank",
        title: "Forbidden",
        status: 403,
        detail: "Cannot report: no scope",
        code: "forbidden",
      }, {
        status: 403,
        headers: { "content-type": "application/problem+json" },
      }),
  );
  const { err } = await prompt(place, `http://127.0.0.1:${server.addr.port}`);
  assert.match(err, /^Purser lets this agent go on without a check of its budgets: .*no scope/);
});
