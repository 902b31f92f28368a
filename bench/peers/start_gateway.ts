import { readVersions, runArgs, type Version } from "../versions.ts";
import { type Peer, startProcess } from "./start_peer.ts";

/** Starts `purser serve` of a version in front of a provider, with an API key and two budgets that no call reaches. */
export async function startGateway(
  { provider, durability, version = readVersions([])[0]! }: {
    provider: string;
    durability: "full" | "normal" | "memory";
    /** Default: this checkout. */
    version?: Version;
  },
): Promise<Peer & { key: string }> {
  const folder = await Deno.makeTempDir({ prefix: "purser-gateway-" });
  const isMemory = durability === "memory";
  const config = `${folder}/purser.json`;
  // One client holds all connections and calls.
  const limits = { connections: 4_000, connections_per_address: 4_000, calls: 4_000, calls_per_key: 4_000 };
  await Deno.writeTextFile(config, JSON.stringify({ limits, ...(!isMemory && { durability }) }));
  const env = {
    ...{ XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder, NO_COLOR: "1" },
    ...{ OPENAI_API_KEY: "sk-bench", OPENAI_BASE_URL: `${provider}/v1` },
  };
  const options = ["--db", isMemory ? ":memory:" : `${folder}/purser.db`, "--config", config];
  const served = await startProcess(
    [
      ...runArgs(version, `${version.root}/cli.ts`),
      "serve",
      "--port",
      "0",
      "--log-level",
      "warn",
      ...options,
    ],
    env,
    /http:\/\/[\d.]+:\d+/,
  );
  const url = served.text;
  // A database in memory is the server's alone.
  const remote = async (method: string, path: string, body: unknown, key?: string) => {
    const response = await fetch(url + path, {
      method,
      headers: { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(await response.text());
    return await response.json();
  };
  const { key } = await remote("POST", "/keys", { name: "bench", scopes: ["admin"] });
  for (const per of ["day", "month"]) {
    await remote("POST", "/budgets", { name: per, per, limit_usd: 1_000_000 }, key);
  }
  return {
    ...{ url, key, pid: served.pid },
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}
