import { openDatabase } from "../../client/mod.ts";
import { createApp } from "../../http/mod.ts";
import { listen, serve } from "../../http/server/mod.ts";
import { type Clock, fixedClock } from "../../kernel/clock.ts";
import { createIds } from "../../kernel/ids.ts";
import { silentLog } from "../../kernel/log.ts";
import { createKey, createSignInCode } from "../../keys/mod.ts";
import type { CoreOptions } from "../../service/mod.ts";
import { type DemoWorld, fillMonth, runScript, startOfMonth } from "./fill_month.ts";
import { createRandom, type Random } from "./random.ts";
import { ScriptedModels, type Wait } from "./scripted_models.ts";
import { agentOf, type DemoAgent } from "./scene.ts";
import { type Script, Scripts } from "./script.ts";

/** A server with the demo's month. */
export interface DemoServer {
  url: string;
  /** A key for everything, with which a browser signs in. */
  key: string;
  /** Returns the address of the dashboard that signs a browser in, once. */
  signInUrl(): Promise<string>;
  /** Rejects when the server can't accept connections. */
  failed: Promise<never>;
  close(): Promise<void>;
}

/** The settings of the demo. */
export interface DemoOptions {
  /** The file of the database; there is none yet. */
  db: string;
  clock: Clock;
  /** The same seed and time give the same figures. */
  seed: number;
  /** The port to serve on; 0 for any free one. */
  port: number;
  /** Stops filling. */
  signal?: AbortSignal;
}

/**
 * Fills a database with a month of agents at work, serves it on this machine, and keeps agents at work.
 *
 * @throws {PurserError} `unavailable` when the port is in use
 */
export async function serveDemo({ db, clock, seed, port, signal }: DemoOptions): Promise<DemoServer> {
  const address = { host: "127.0.0.1", port };
  // Filling takes seconds: a port in use is reported before.
  await (await listen({ clock, log: silentLog }, () => new Response(), address)).shutdown();
  const random = createRandom(seed);
  const end = clock.now();
  await fill({ db, random, end, signal });

  const wait: Wait = (delayMs, signal) => clock.sleep(delayMs, signal);
  const { core, close, models } = await open({ db, random, clock, wait });
  const ended = new AbortController();
  try {
    const { key, key_id: keyId } = await createKey(core, {
      name: "demo dashboard",
      scopes: ["admin"],
      agentId: null,
      expiresAt: null,
    });
    const server = await serve(core, await createApp(core), address);
    const moving = keepMoving({ core, random, models }, ended.signal);
    return {
      url: server.url,
      key,
      signInUrl: async () => `${server.url}/ui/#code=${(await createSignInCode(core, keyId)).code}`,
      failed: Promise.race([server.failed, moving.then(() => new Promise<never>(() => {}))]),
      async close() {
        ended.abort();
        core.stop();
        await Promise.all([server.shutdown({ graceMs: 500 }), moving.catch(() => {})]);
        await close({ graceMs: 500 });
      },
    };
  } catch (error) {
    await close({ graceMs: 0 });
    throw error;
  }
}

async function fill(
  { db, random, end, signal }: { db: string; random: Random; end: number; signal?: AbortSignal },
): Promise<void> {
  const clock = fixedClock(startOfMonth(end));
  const wait: Wait = (delayMs) => Promise.resolve(clock.advance(Math.min(delayMs, end - clock.now())));
  const { core, close, models } = await open({ db, random, clock, wait });
  try {
    await core.prices.ready();
    await fillMonth({ core, clock, random, models }, { end, signal });
  } finally {
    await close({ graceMs: 0 });
  }
}

/** Opens the demo's database, with models and tools that need no network. */
async function open({ db, random, clock, wait }: { db: string; random: Random; clock: Clock; wait: Wait }) {
  const models = new ScriptedModels(wait);
  const options: CoreOptions = {
    clock,
    ids: createIds(clock, (length) => random.bytes(length)),
    models: models.models(),
    tools: models.tools(),
    config: {
      dbUrl: db,
      // The database is removed at the end.
      durability: "normal",
      environment: "demo",
    },
  };
  return { ...await openDatabase({ ...options, env: {}, log: silentLog }), models };
}

/** The agents that work at the same time. */
const WORKERS = 3;

/** The first runs, which are half done, so that the page shows them at once. */
const FIRST = ["coder", "researcher", "support"].map(agentOf);

/** The agents that continue: those with many short sessions, which cost little. `prompt-lab` is refused by its budget. */
const CONTINUING = [
  ...Array.from({ length: 7 }, () => "support"),
  ...Array.from({ length: 5 }, () => "triage"),
  ...["researcher", "prompt-lab"],
].map(agentOf);

/**
 * Keeps agents at work until the signal aborts: a call every ten seconds or so, for about as much money as in an hour of the
 * month. Resolves when the last run has ended.
 */
export async function keepMoving(world: DemoWorld, signal: AbortSignal): Promise<void> {
  const scripts = new Scripts(world.random);
  await Promise.all(Array.from({ length: WORKERS }, (_, index) => work(world, { scripts, index, signal })));
}

async function work(
  world: DemoWorld,
  { scripts, index, signal }: { scripts: Scripts; index: number; signal: AbortSignal },
): Promise<void> {
  const { core, random } = world;
  const first = FIRST[index]!;
  let next: { agent: DemoAgent; script: Script } = { agent: first, script: startOf(scripts, first, random) };
  while (!signal.aborted) {
    await runScript(world, { ...next, signal });
    await core.clock.sleep(random.whole(4_000, 20_000), signal);
    const agent = random.pick(CONTINUING);
    next = { agent, script: atPace(scripts.write(agent), random) };
  }
}

/** Returns a session whose first two steps take no time. */
function startOf(scripts: Scripts, agent: DemoAgent, random: Random): Script {
  let script = scripts.write(agent);
  while (script.steps.length < 4) script = scripts.write(agent);
  const { steps, ...rest } = atPace(script, random);
  return { ...rest, steps: steps.map((step, at) => at < 2 ? { ...step, latencyMs: 0, toolMs: 0 } : step) };
}

/** Returns a session whose answers take five to eighteen seconds, so that it is seen in progress. */
function atPace(script: Script, random: Random): Script {
  const steps = script.steps.map((step) => ({
    ...step,
    latencyMs: random.whole(5_000, 18_000),
    toolMs: random.whole(1_000, 6_000),
  }));
  return { ...script, steps };
}
