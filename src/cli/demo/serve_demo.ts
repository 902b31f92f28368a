import { openDatabase } from "../../client/mod.ts";
import { createApp, serve } from "../../http/mod.ts";
import { type Clock, fixedClock } from "../../kernel/clock.ts";
import { createIds } from "../../kernel/ids.ts";
import { silentLog } from "../../kernel/log.ts";
import { createKey, createSignInCode } from "../../keys/mod.ts";
import type { CoreOptions } from "../../service/mod.ts";
import { fillMonth, startOfMonth } from "./fill_month.ts";
import { keepMoving } from "./keep_moving.ts";
import { createRandom, type Random } from "./random.ts";
import { ScriptedModels, type Wait } from "./scripted_models.ts";

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
  /** Stops filling. */
  signal?: AbortSignal;
}

/** Fills a database with a month of agents at work, serves it on a free port of this machine, and keeps agents at work. */
export async function serveDemo({ db, clock, seed, signal }: DemoOptions): Promise<DemoServer> {
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
    const server = await serve(core, await createApp(core), { host: "127.0.0.1", port: 0 });
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
      remoteTimeoutMs: 10_000,
      maxBodyBytes: 8 * 1024 * 1024,
    },
  };
  return { ...await openDatabase({ ...options, env: {}, log: silentLog }), models };
}
