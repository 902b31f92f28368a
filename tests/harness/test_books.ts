import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { PriceOverride } from "../../src/contract/price_override.ts";
import { type Connection, createApiClient } from "../../src/client/mod.ts";
import { fixedClock } from "../../src/kernel/clock.ts";
import { openCore } from "../../src/service/mod.ts";
import { createApp } from "../../src/http/mod.ts";
import { countingIds } from "../../src/kernel/ids.ts";
import { migratedMemory } from "./migrated_memory.ts";
import { memoryTerminal } from "./memory_terminal.ts";
import { main } from "../../src/cli/mod.ts";
import { splitLine } from "./split_line.ts";

/** The outcome of a command line. */
export interface Outcome {
  code: number;
  out: string;
  err: string;
}

/** A database for command lines of this process, in memory unless an address is given, with a fixed clock. */
export async function openTestBooks(
  options: {
    models?: Record<string, LanguageModelV4>;
    prices?: PriceOverride[];
    dbUrl?: string;
    providers?: Record<string, { baseUrl: string; apiKey?: string }>;
    fetch?: typeof globalThis.fetch;
  } = {},
) {
  const clock = fixedClock("2026-11-21T09:30:00.000Z");
  const core = await openCore({
    config: {
      dbUrl: options.dbUrl ?? ":memory:",
      durability: "normal",
      remoteTimeoutMs: 1_000,
      maxBodyBytes: 1_000_000,
      environment: "test",
      prices: options.prices,
      ...options.providers && { providers: options.providers },
    },
    clock,
    ids: countingIds(),
    ...options.dbUrl === undefined && { sqlite: await migratedMemory() },
    models: options.models,
    ...options.fetch && { fetch: options.fetch },
  });
  const app = await createApp(core);
  const send = async (request: Request) => await app.fetch(request);
  let open = 0;
  const connect = (): Promise<Connection> => {
    open++;
    return Promise.resolve({
      api: createApiClient({ baseUrl: "http://purser.invalid", send }),
      send,
      kind: "local",
      where: "memory",
      close: () => Promise.resolve(void open--),
    });
  };
  /** Runs `purser` with a line, split like a shell does. */
  const purser = async (
    line: string,
    { terminal = memoryTerminal(), env = {} }: {
      terminal?: ReturnType<typeof memoryTerminal>;
      env?: Record<string, string>;
    } = {},
  ): Promise<Outcome> => {
    const code = await main(splitLine(line), {
      terminal,
      env: { PURSER_DB: ":memory:", ...env },
      connect,
      clock,
    });
    return { code, out: terminal.out, err: terminal.err };
  };
  return {
    core,
    clock,
    purser,
    get openConnections() {
      return open;
    },
    [Symbol.asyncDispose]: () => core.close({ graceMs: 0 }),
  };
}
