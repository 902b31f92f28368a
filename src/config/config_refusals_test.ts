import assert from "node:assert/strict";
import { loadConfig } from "./mod.ts";
import { PurserError } from "../kernel/errors.ts";

/** The refusals of a config file with faults by `loadConfig()`. */

const HOME = { HOME: "/home/ada" };

const DEFAULT_PATH = "/home/ada/.config/purser/purser.json";

/** The message of the `invalid` error that a config file causes. */
async function refusal(file: string, env: Record<string, string> = {}): Promise<string> {
  let message = "";
  const loading = loadConfig({
    env: { ...HOME, ...env },
    platform: "linux",
    readTextFile: () => Promise.resolve(file),
  });
  await assert.rejects(loading, (error) => {
    assert.ok(error instanceof PurserError);
    assert.equal(error.code, "invalid");
    message = error.message;
    return true;
  });
  const prefix = `Cannot use the config file ${DEFAULT_PATH}: `;
  assert.ok(message.startsWith(prefix), message);
  return message.slice(prefix.length);
}

Deno.test("loadConfig() refuses duplicate channel names and invalid networks", async () => {
  const cases: [string, string][] = [
    [`{"channels": [{"url": "a"}]}`, "channels[0].kind: is missing"],
    [
      `{"channels": [{"kind": "a", "name": "x"}, {"kind": "b"}, {"kind": "c", "name": "x"}]}`,
      "channels[2].name: repeats the name of channels[0]",
    ],
    [
      `{"channels": [{"kind": "slack", "name": "log"}]}`,
      "channels[0].name: log is the name of the log channel; choose another one",
    ],
    [
      `{"channels": [{"kind": "slack", "name": "a b"}]}`,
      "channels[0].name: takes letters, digits, ., _ and -, at most 64",
    ],
    [
      `{"channels": [{"kind": "slack", "min_severity": "high", "timeout_ms": 5}]}`,
      "channels[0].min_severity: must be one of info, warning, critical; " +
      "channels[0].timeout_ms: must be at least 100",
    ],
    [
      `{"allow_private_networks": ["10.0.0.0/8", "10.0.0.1", "::1/129"]}`,
      "allow_private_networks[1]: must be a network such as 10.0.0.0/8; " +
      "allow_private_networks[2]: must be a network such as 10.0.0.0/8",
    ],
    [
      `{"limits": {"conections": 10}}`,
      "limits.conections is not a setting; did you mean connections?",
    ],
    [
      `{"anomalies": {"notify_form": "info"}}`,
      "anomalies.notify_form is not a setting; did you mean notify_from?",
    ],
    [`{"limits": {"run": 5}}`, "limits.run is not a setting; did you mean runs?"],
    [
      `{"limits": {"runs": 0, "streams": 1.5}}`,
      "limits.runs: must be at least 1; limits.streams: must be a whole number",
    ],
  ];
  for (const [file, reason] of cases) assert.equal(await refusal(file), reason);
});

Deno.test("loadConfig() names an unset variable, and its path in the file", async () => {
  assert.equal(
    await refusal(`{"providers": {"local": {"base_url": "http://a/v1", "api_key": "\${LOCAL_KEY}"}}}`),
    "providers.local.api_key needs the environment variable LOCAL_KEY, which is not set; " +
      "set it or remove the setting from the file",
  );
  assert.match(await refusal(`{"tools": ["a.ts", "\${A:-b}"]}`), /^tools\[1\] contains a \$\{ that is not/);
});

Deno.test("loadConfig() reports line and column of a syntax error", async () => {
  assert.equal(await refusal(`{\n  "port": 1\n  "host": "a"\n}`), "line 3, column 3: comma expected");
  assert.equal(await refusal(""), "line 1, column 1: value expected");
});

Deno.test("loadConfig() reports path and reason of every invalid setting", async () => {
  const price = `{"provider": "a", "model": "b", "input_usd_per_million": 1, "output_usd_per_million": 1}`;
  const cases: [string, string][] = [
    [`[]`, "the whole file: is a list, must be an object"],
    [`{"port": "8420"}`, "port: is a text, must be a number"],
    [`{"prot": 1}`, "prot is not a setting; did you mean port?"],
    [`{"zzzzzz": 1}`, "zzzzzz is not a setting"],
    [
      `{"providers": {"local": {"base_url": "http://a", "apikey": "x"}}}`,
      "providers.local.apikey is not a setting; did you mean api_key?",
    ],
    [`{"providers": {"local": {}}}`, "providers.local.base_url: is missing"],
    [
      `{"providers": {"local": {"base_url": "http://a", "pass_headers": ["x y"]}}}`,
      "providers.local.pass_headers[0]: must be the name of a header, such as x-team, or the beginning of names, such as x-team-*",
    ],
    ...["Authorization", "x-api-key", "cookie", "host", "X-Purser-*", "sec-*"].map((
      name,
    ): [string, string] => [
      `{"providers": {"local": {"base_url": "http://a", "pass_headers": ["x-a", "${name}"]}}}`,
      "providers.local.pass_headers[1]: can't be passed on: the gateway sets it, or it has what no provider gets, such as the client's key",
    ]),
    [
      `{"providers": {"local": {"base_url": "ftp://a"}}}`,
      "providers.local.base_url: must be an http:// or https:// URL",
    ],
    [
      `{"providers": {"openai": {"base_url": "http://a"}}}`,
      "providers.openai: the name is the name of a built-in provider; choose another one",
    ],
    ...['"litelm"', "true", "{}", `{"field": "cost"}`, `{"field": "cost", "unit": "eur"}`].map((form) =>
      [
        `{"providers": {"local": {"base_url": "http://a", "states_cost": ${form}}}}`,
        "providers.local.states_cost: must be openrouter, perplexity, xai, vercel, litellm, none, " +
        'or {"field" or "header": "…", "unit": "usd" or "usd_cent" or "micro_usd" or "nano_usd"}',
      ] satisfies [string, string]
    ),
    [
      `{"prices": [{"provider": "a", "model": "b", "input_usd_per_million": 0.0000001, ` +
      `"output_usd_per_million": -1}]}`,
      "prices[0].input_usd_per_million: must have at most six decimals; " +
      "prices[0].output_usd_per_million: must not be negative",
    ],
    [
      `{"prices": [{"provider": "a", "model": "b", "input_usd_per_million": 1, ` +
      `"output_usd_per_million": 1, "from": "soon"}]}`,
      "prices[0].from: must be a date such as 2026-01-01",
    ],
    [
      `{"prices": [${price}, ${price}]}`,
      "prices[1]: repeats the provider, model, from and service_tier of an earlier price",
    ],
  ];
  for (const [file, reason] of cases) assert.equal(await refusal(file), reason);
});

Deno.test("loadConfig() never repeats a value of the file in an error", async () => {
  const message = await refusal(`{"api_key": "hunter2", "port": "\${SECRET}", "durability": "hunter2"}`, {
    SECRET: "hunter2",
  });
  assert.ok(!message.includes("hunter2"), message);
});
