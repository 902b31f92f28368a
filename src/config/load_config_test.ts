import assert from "node:assert/strict";
import type { ConfigOptions } from "./config.ts";
import { type Config, loadConfig, secretsOf } from "./mod.ts";

const HOME = { HOME: "/home/ada" };
const DEFAULT_PATH = "/home/ada/.config/purser/purser.json";

/** Loads with these files on the disk and nothing else. */
function load(
  input: {
    env?: Record<string, string>;
    options?: ConfigOptions;
    files?: Record<string, string>;
    defaults?: { logLevel: "info" };
    platform?: "linux" | "darwin" | "windows";
  } = {},
): Promise<Config> {
  return loadConfig({
    env: input.env ?? HOME,
    options: input.options,
    defaults: input.defaults,
    platform: input.platform ?? "linux",
    readTextFile: (path) => {
      const text = input.files?.[path];
      if (text !== undefined) return Promise.resolve(text);
      return Promise.reject(Object.assign(new Error("No such file"), { code: "ENOENT" }));
    },
  });
}

Deno.test("loadConfig() has a default for everything", async () => {
  assert.deepEqual(await load(), {
    environment: "local",
    dbUrl: "/home/ada/.local/share/purser/purser.db",
    durability: "full",
    host: "127.0.0.1",
    port: 8420,
    logLevel: "warn",
    logFormat: "auto",
    remoteTimeoutMs: 10_000,
    requestLimits: {},
    statuslineTemplate: "{session} · {today} today · {budget} · {plan}",
    maxBodyBytes: 4_194_304,
    maxSnapshotBytes: 268_435_456,
    maxContextBytes: 6_291_456,
    providers: {},
    prices: [],
    pricesFolder: "/home/ada/.local/share/purser/prices",
    priceUpdates: "never",
    updateCheck: "https://registry.npmjs.org",
    timeZone: "UTC",
    weekStart: "monday",
    monthStartDay: 1,
    tools: [],
    channels: [],
    plugins: [],
    allowPrivateNetworks: [],
    approvalTimeoutSeconds: 300,
    trustedProxies: [],
    limits: { shutdownSeconds: 10 },
  });
});

Deno.test("calls that a server can't take wait in the data folder, or where the setting says, beside a file in neither", async () => {
  const server = { ...HOME, PURSER_DB: "libsql://db.example.com" };
  const files = { [DEFAULT_PATH]: '{ "spool_folder": "calls" }' };
  const folderOf = async (env: Record<string, string>, files = {}) =>
    (await load({ env, files })).spoolFolder;
  assert.equal(await folderOf(HOME), undefined);
  assert.equal(await folderOf(server), "/home/ada/.local/share/purser/spool");
  const postgres = { ...HOME, PURSER_DB: "postgres://purser@db.example/purser" };
  assert.equal(await folderOf(postgres), "/home/ada/.local/share/purser/spool");
  assert.equal(await folderOf(server, files), "/home/ada/.config/purser/calls");
  assert.equal(await folderOf(HOME, files), "/home/ada/.config/purser/calls");
  assert.equal(await folderOf({ ...HOME, PURSER_SPOOL: "/var/spool/purser" }, files), "/var/spool/purser");
});

Deno.test("loadConfig() reads every environment variable", async () => {
  const config = await load({
    env: {
      ...HOME,
      PURSER_ENVIRONMENT: "staging",
      PURSER_DB: "libsql://db.example.com",
      PURSER_DB_TOKEN: "t0ken",
      PURSER_DURABILITY: "normal",
      PURSER_API_KEY: "key",
      PURSER_HOST: "0.0.0.0",
      PURSER_PORT: "9000",
      PURSER_LOG_LEVEL: "debug",
      PURSER_LOG_FORMAT: "json",
    },
  });
  assert.equal(config.environment, "staging");
  assert.equal(config.dbUrl, "libsql://db.example.com");
  assert.equal(config.dbToken, "t0ken");
  assert.equal(config.durability, "normal");
  assert.equal(config.apiKey, "key");
  assert.equal(config.host, "0.0.0.0");
  assert.equal(config.port, 9000);
  assert.equal(config.logLevel, "debug");
  assert.equal(config.logFormat, "json");
  assert.equal(config.server, undefined);
});

Deno.test("loadConfig() prefers option to environment to file to default", async () => {
  const files = {
    [DEFAULT_PATH]: `{"port": 1, "host": "file", "environment": "file", "log_level": "error"}`,
  };
  const config = await load({
    files,
    defaults: { logLevel: "info" },
    env: { ...HOME, PURSER_PORT: "2", PURSER_HOST: "env" },
    options: { port: 3 },
  });
  assert.deepEqual([config.port, config.host, config.environment], [3, "env", "file"]);
  assert.equal(config.logLevel, "error");
  assert.equal((await load({ defaults: { logLevel: "info" } })).logLevel, "info");
});

Deno.test("loadConfig() treats an empty variable as unset", async () => {
  const config = await load({ env: { ...HOME, PURSER_PORT: "", PURSER_DB: "", PURSER_CONFIG: "" } });
  assert.equal(config.port, 8420);
  assert.equal(config.dbUrl, "/home/ada/.local/share/purser/purser.db");
});

Deno.test("loadConfig() chooses between a server and a database by precedence", async () => {
  const server = "https://purser.example.com/";
  const cases: [Parameters<typeof load>[0], string | undefined][] = [
    [{ env: { ...HOME, PURSER_DB: "a.db" }, options: { server } }, "https://purser.example.com"],
    [{ env: { ...HOME, PURSER_DB: "a.db", PURSER_SERVER: server } }, "https://purser.example.com"],
    [{ env: { ...HOME, PURSER_SERVER: server }, options: { dbUrl: "a.db" } }, undefined],
    [
      { env: { ...HOME, PURSER_DB: "a.db" }, files: { [DEFAULT_PATH]: `{"server": "${server}"}` } },
      undefined,
    ],
    [{ files: { [DEFAULT_PATH]: `{"server": "${server}"}` } }, "https://purser.example.com"],
  ];
  for (const [input, expected] of cases) assert.equal((await load(input)).server, expected);
});

Deno.test("loadConfig() refuses --server together with --db", async () => {
  await assert.rejects(load({ options: { server: "http://localhost:1", dbUrl: "a.db" } }), {
    code: "invalid",
    message: "Cannot use --server together with --db: give one of them",
  });
});

Deno.test("loadConfig() names the option or variable with an invalid value", async () => {
  const cases: [Record<string, string>, ConfigOptions, string][] = [
    [
      { PURSER_PORT: "80a" },
      {},
      "Cannot use PURSER_PORT: it must be a whole number from 0 to 65535",
    ],
    [{}, { port: 70_000 }, "Cannot use --port: it must be a whole number from 0 to 65535"],
    [{ PURSER_DURABILITY: "fast" }, {}, "Cannot use PURSER_DURABILITY: it must be one of full, normal"],
    [
      { PURSER_LOG_LEVEL: "loud" },
      {},
      "Cannot use PURSER_LOG_LEVEL: it must be one of debug, info, warn, error, silent",
    ],
    [
      { PURSER_SERVER: "example.com" },
      {},
      "Cannot use PURSER_SERVER: it must be an http:// or https:// URL without user, query or fragment, such as http://example.com",
    ],
  ];
  for (const [env, options, message] of cases) {
    await assert.rejects(load({ env: { ...HOME, ...env }, options }), { code: "invalid", message });
  }
});

Deno.test("loadConfig() needs a database setting where no home directory is known", async () => {
  await assert.rejects(load({ env: {} }), { code: "invalid", message: /set PURSER_DB/ });
  assert.equal((await load({ env: { PURSER_DB: ":memory:" } })).dbUrl, ":memory:");
  assert.equal((await load({ env: {}, options: { server: "http://127.0.0.1:1" } })).dbUrl, "");
});

Deno.test("loadConfig() refuses a named config file that is missing", async () => {
  await assert.rejects(load({ options: { configPath: "/no/purser.json" } }), {
    code: "invalid",
    message: "Cannot read the config file /no/purser.json: no such file or directory",
  });
  await assert.rejects(load({ env: { ...HOME, PURSER_CONFIG: "/no.json" } }), { code: "invalid" });
});

Deno.test("loadConfig() reads comments, trailing commas and variables", async () => {
  const config = await load({
    env: { ...HOME, LOCAL_KEY: "s3cret", REGION: "eu" },
    options: { configPath: "/etc/purser/purser.json" },
    files: {
      "/etc/purser/purser.json": `\uFEFF{
        // where models run
        "providers": {
          "local": {"base_url": "http://127.0.0.1:11434/v1", "api_key": "\${LOCAL_KEY}"},
          "other": {"base_url": "https://\${REGION}.example.com/v1", "headers": {"x-team": "a$\${b}"}, "pass_headers": ["X-App", "x-team-*"]},
          "lite": {"base_url": "http://127.0.0.1:4000", "states_cost": "litellm"},
          "micro": {"base_url": "http://127.0.0.1", "states_cost": {"field": "cost", "unit": "micro_usd"}},
        },
        /* what they cost */
        "prices": [{"provider": "local", "model": "my-model", "input_usd_per_million": 1,
          "output_usd_per_million": 2, "cache_read_usd_per_million": 0.1,
          "cache_write_usd_per_million": 1.25, "from": "2026-01-01"}],
        "tools": ["./tools.ts", "/opt/more.ts"],
        "db": "data/purser.db",
      }`,
    },
  });
  assert.deepEqual(config.providers, {
    local: { baseUrl: "http://127.0.0.1:11434/v1", apiKey: "s3cret" },
    other: {
      baseUrl: "https://eu.example.com/v1",
      headers: { "x-team": "a${b}" },
      passHeaders: ["x-app", "x-team-*"],
    },
    lite: { baseUrl: "http://127.0.0.1:4000", statesCost: "litellm" },
    micro: { baseUrl: "http://127.0.0.1", statesCost: { field: "cost", unit: "micro_usd" } },
  });
  assert.equal(config.prices[0]?.cache_write_usd_per_million, 1.25);
  assert.deepEqual(config.tools, ["/etc/purser/tools.ts", "/opt/more.ts"]);
  assert.equal(config.dbUrl, "/etc/purser/data/purser.db");
  assert.equal(config.configPath, "/etc/purser/purser.json");
});

Deno.test("loadConfig() reads the limits of a server", async () => {
  const config = await load({
    env: HOME,
    options: { configPath: "/etc/purser/purser.json" },
    files: {
      "/etc/purser/purser.json": `{
        "limits": {
          "connections": 100, "connections_per_address": 10, "headers_seconds": 5, "idle_seconds": 90,
          "min_body_bytes_per_second": 0, "unread_seconds": 2.5, "shutdown_seconds": 60
        },
        "trusted_proxies": ["10.0.0.0/8", "fd00::/8"],
      }`,
    },
  });
  assert.deepEqual(config.trustedProxies, ["10.0.0.0/8", "fd00::/8"]);
  assert.deepEqual(config.limits, {
    connections: 100,
    connectionsPerAddress: 10,
    headersSeconds: 5,
    idleSeconds: 90,
    minBodyBytesPerSecond: 0,
    unreadSeconds: 2.5,
    shutdownSeconds: 60,
  });
});

Deno.test("loadConfig() reads channels, names each, and keeps the settings of their plugins", async () => {
  const config = await load({
    env: { ...HOME, OPS_SECRET: "s3cret" },
    options: { configPath: "/etc/purser/purser.json" },
    files: {
      "/etc/purser/purser.json": `{
        "channels": [
          {"kind": "slack", "url": "https://a"},
          {"kind": "webhook", "name": "slack-2", "url": "https://b", "secrets": ["\${OPS_SECRET}", {"file": "old"}]},
          {"kind": "slack", "min_severity": "critical", "timeout_ms": 3000, "url": {"file": "/run/url"}},
        ],
        "plugins": ["./ntfy.ts", "/opt/sms.ts"],
        "allow_private_networks": ["127.0.0.0/8", "fd00::/8"],
        "anomalies": {"notify_from": "warning"},
        "import": {"plans": ["claude-code", {"agent": "codex", "usd_per_month": 200}], "sums": ["shop.agents"]},
        "price_updates": "daily",
        "limits": {"requests_per_minute_per_key": 600, "runs": 50},
      }`,
    },
  });
  const usual = { minSeverity: "info", timeoutMs: 10_000 };
  assert.deepEqual(config.channels, [
    { kind: "slack", name: "slack", ...usual, settings: { url: "https://a" } },
    {
      kind: "webhook",
      name: "slack-2",
      ...usual,
      settings: { url: "https://b", secrets: ["s3cret", { file: "/etc/purser/old" }] },
    },
    {
      kind: "slack",
      name: "slack-3",
      minSeverity: "critical",
      timeoutMs: 3000,
      settings: { url: { file: "/run/url" } },
    },
  ]);
  assert.deepEqual(config.plugins, ["/etc/purser/ntfy.ts", "/opt/sms.ts"]);
  assert.deepEqual(config.allowPrivateNetworks, ["127.0.0.0/8", "fd00::/8"]);
  assert.equal(config.notifyAnomaliesFrom, "warning");
  assert.deepEqual(config.importPlans, ["claude-code", "codex"]);
  assert.deepEqual(config.planPrices, { codex: 200 });
  assert.deepEqual(config.importSums, ["shop.agents"]);
  assert.equal(config.priceUpdates, "daily");
  assert.deepEqual(config.requestLimits, { requests_per_minute_per_key: 600, runs: 50 });
});

Deno.test("the config imports neither zod nor the JSONC parser without a config file", async () => {
  const entry = new URL("./mod.ts", import.meta.url).href;
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json", entry] }).output();
  type Module = {
    specifier: string;
    dependencies?: { isDynamic?: boolean; code?: { specifier: string } }[];
  };
  const { modules }: { modules: Module[] } = JSON.parse(new TextDecoder().decode(stdout));
  const found = new Set([entry]);
  for (const specifier of found) {
    const dependencies = modules.find((module) => module.specifier === specifier)?.dependencies ?? [];
    for (const { isDynamic, code } of dependencies) if (code && !isDynamic) found.add(code.specifier);
  }
  assert.ok(found.size > 3);
  assert.deepEqual([...found].filter((specifier) => !specifier.startsWith("file:")), []);
});

Deno.test("loadConfig() reads the document from PURSER_CONFIG_JSON, with variables, and then no file", async () => {
  const document =
    '{ "db": "libsql://x", "prices": [], "channels": [{ "kind": "slack", "webhook_url": "${HOOK}" }] }';
  const env = { ...HOME, PURSER_CONFIG_JSON: document, HOOK: "https://hooks.example.com/x" };
  const config = await load({ env, files: { [DEFAULT_PATH]: '{ "db": "libsql://file" }' } });
  assert.equal(config.dbUrl, "libsql://x");
  assert.deepEqual(config.channels[0]!.settings, { webhook_url: "https://hooks.example.com/x" });
  assert.equal(config.configPath, undefined);
  // An option wins over the environment.
  const options = { configPath: "/other.json" };
  const other = await load({ env, options, files: { "/other.json": '{ "db": "libsql://other" }' } });
  assert.equal(other.dbUrl, "libsql://other");
});

Deno.test("loadConfig() reports faults of PURSER_CONFIG_JSON, and refuses relative paths in it", async () => {
  const refusals: [Record<string, string>, RegExp][] = [
    [{ PURSER_CONFIG_JSON: "{", PURSER_CONFIG: "/a.json" }, /together with PURSER_CONFIG: give one of them$/],
    [{ PURSER_CONFIG_JSON: '{ "db": 1 }' }, /^Cannot use PURSER_CONFIG_JSON: db: /],
    [{ PURSER_CONFIG_JSON: '{\n "db" }' }, /^Cannot use PURSER_CONFIG_JSON: line 2, column 7: /],
    [{ PURSER_CONFIG_JSON: '{ "tools": ["./tools.ts"] }' }, /it has a relative path/],
    [{ PURSER_CONFIG_JSON: '{ "db": "purser.db" }' }, /it has a relative path/],
    [
      { PURSER_CONFIG_JSON: '{ "channels": [{ "kind": "slack", "webhook_url": { "file": "hook" } }] }' },
      /it has a relative path/,
    ],
  ];
  for (const [env, message] of refusals) {
    await assert.rejects(load({ env: { ...HOME, ...env } }), { code: "invalid", message });
  }
});

Deno.test("secretsOf() takes the password of a PostgreSQL URL for a secret, and not the schema or the hosts", () => {
  const parameters = "schema=production&host=primary.example.com&sslmode=verify-full&sslrootcert=system";
  const { values } = secretsOf(
    { dbUrl: `postgres://user:hunter2@host/books?${parameters}&password=hunter3` },
    {},
  );
  assert.deepEqual(values.filter((value) => value !== ""), ["hunter2", "hunter3"]);
});
