import { loadAllCommands } from "../../src/cli/command_table.ts";
import { main } from "../../src/cli/mod.ts";
import { splitLine } from "../harness/split_line.ts";
import { memoryTerminal } from "../harness/memory_terminal.ts";
import { createApiClient } from "../../src/client/mod.ts";
import { serve } from "../../src/http/server/mod.ts";
import { createKey } from "../../src/keys/mod.ts";
import { openTestPurser, type TestPurser } from "../harness/test_purser.ts";

const COMMANDS = await loadAllCommands();

/* Each kind of authored resource, as the sentences of `sentences.ts` use it. */

/** One kind of authored resource. */
export interface Resource {
  /** The first word of its commands. */
  group: string;
  /** The path of its list, and the field of its id. */
  path: string;
  id: string;
  /** The options of `add`, beside the name. */
  options: string;
  /** The name is an argument of `add`, else its option. */
  isNamedByArgument?: true;
  /** Two of one name are refused; else a name that several have is. */
  hasUniqueNames?: true;
  /** It has `enable` and `disable`. */
  canBeDisabled?: true;
  /** Requests that change it, from its path. */
  changes: readonly [method: string, path: string, body?: unknown][];
  /** Earlier spellings, and the present ones. */
  deprecated: readonly [earlier: string, present: string][];
  /** A line that removes a value by the word none, and what `show --json` has then. */
  none: readonly [line: string, shown: Record<string, unknown>];
  /** The options with which a verb changes it, and the action of the audit log, where it is another one than that of its name. */
  audited?: Readonly<Record<string, readonly [options: string, action: string]>>;
  /** A line that the API refuses, and the option that is wrong. */
  refused?: readonly [line: string, option: string];
}

export const RESOURCES: readonly Resource[] = [
  {
    group: "alerts",
    path: "/alerts/rules",
    id: "rule_id",
    options: "--threshold-usd 1 --threshold-type per_day_usd --severity info --agent researcher",
    canBeDisabled: true,
    changes: [["PATCH", "", { severity: "critical" }], ["DELETE", ""]],
    deprecated: [["alerts set First --all-agents", "--agent none"]],
    none: ["alerts set First --agent none", { agent_id: null }],
    audited: { set: ["--threshold-usd 2", "changed"] },
    refused: [`alerts set First --name ${"x".repeat(201)}`, "--name"],
  },
  {
    group: "budgets",
    path: "/budgets",
    id: "budget_id",
    options: "--limit 1 --per day --agent researcher",
    canBeDisabled: true,
    changes: [["PATCH", "", { limit_usd: 2 }], ["DELETE", ""]],
    deprecated: [],
    none: ["budgets set First --agent none --warn-at none", { agent_id: null, warn_at: [] }],
    audited: { set: ["--limit 2", "changed"], raise: ["--usd 5", "raised"] },
    refused: ["budgets set First --key nobody", "--key"],
  },
  {
    group: "keys",
    path: "/keys",
    id: "key_id",
    options: "--scope read --scope call --expires 90d",
    isNamedByArgument: true,
    hasUniqueNames: true,
    changes: [["POST", "/rotate", {}], ["PATCH", "", { stop_before_credits: true }]],
    deprecated: [
      ["keys create Second --scope read", "purser keys add"],
      ["keys revoke First", "purser keys remove"],
    ],
    none: ["keys rotate First --expires none", { expires_at: null }],
    audited: { rotate: ["", "rotated"], remove: ["", "revoked"] },
  },
  {
    group: "agents",
    path: "/agents",
    id: "agent_id",
    options: "--model demo:echo --tool calculator --tag team=search",
    isNamedByArgument: true,
    hasUniqueNames: true,
    changes: [["PUT", "", { model: "demo:loop" }], ["DELETE", ""]],
    deprecated: [["agents set First --no-tools", "--tool none"], [
      "agents set First --no-tags",
      "--tag none",
    ]],
    audited: { set: ["--max-steps 3", "changed"] },
    none: [
      "agents set First --tool none --tag none --budget none",
      { tools: [], tags: {}, cost_budget_usd: null },
    ],
  },
];

/** Returns the line that adds one of a name. */
export const lineToAdd = ({ group, options, isNamedByArgument }: Resource, name: string) =>
  `${group} add ${isNamedByArgument ? name : `--name ${name}`} ${options}`;

/** Returns whether a kind has a verb. */
export const hasVerb = ({ group }: Resource, verb: string) =>
  COMMANDS.some(({ name, deprecated }) => name === `${group} ${verb}` && !deprecated);

/** A Purser with which the sentences are checked. */
export interface World extends AsyncDisposable {
  purser: TestPurser;
  /** Runs a command line, and returns what it printed. Fails unless it ends with the code, by default 0. */
  run(line: string, code?: number): Promise<{ out: string; err: string }>;
  /** Sends a request to the API. */
  api: TestPurser["api"];
  /** The author of its changes in the audit log: actor, name and address. */
  author: readonly [string, string | null, string | null];
}

/** The ways in which commands reach the API: in this process over its database, or through a server. */
export const WORLDS: Readonly<Record<string, () => Promise<World>>> = {
  "over an embedded database": async () => {
    const purser = await openTestPurser();
    const send = async (request: Request) => await purser.app.fetch(request);
    const api = createApiClient({ baseUrl: "http://purser.invalid", send });
    const connection = { api, send, kind: "local", where: "memory", close: () => Promise.resolve() } as const;
    const run = runner({ PURSER_DB: ":memory:" }, () => Promise.resolve(connection), purser);
    const author = ["code", null, null] as const;
    return {
      purser,
      run,
      author,
      api: purser.api,
      [Symbol.asyncDispose]: () => purser[Symbol.asyncDispose](),
    };
  },
  "through a server": async () => {
    const purser = await openTestPurser();
    const { key } = await createKey(purser.core, {
      name: "tester",
      scopes: ["admin"],
      agentId: null,
      expiresAt: null,
    });
    const { url, shutdown } = await serve(purser.core, purser.app, { host: "127.0.0.1", port: 0 });
    return {
      purser,
      run: runner({ PURSER_SERVER: url, PURSER_API_KEY: key }, undefined, purser),
      author: ["key", "tester", "127.0.0.1"],
      async api(method, path, body, headers) {
        const response = await fetch(url + path, {
          method,
          headers: {
            authorization: `Bearer ${key}`,
            ...(body !== undefined && { "content-type": "application/json" }),
            ...headers as object,
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        const text = await response.text();
        return {
          status: response.status,
          headers: response.headers,
          body: text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text,
        };
      },
      async [Symbol.asyncDispose]() {
        await shutdown();
        await purser[Symbol.asyncDispose]();
      },
    };
  },
};

function runner(
  env: Record<string, string>,
  connect: Parameters<typeof main>[1]["connect"],
  { clock }: TestPurser,
): World["run"] {
  return async (line, code = 0) => {
    const terminal = memoryTerminal();
    const options = { terminal, env: { PURSER_CONFIG_JSON: "{}", ...env }, clock };
    const ended = await main(splitLine(line), { ...options, ...(connect && { connect }) });
    const { out, err } = terminal;
    if (ended !== code) throw new Error(`purser ${line} ended with ${ended}, not ${code}: ${out}${err}`);
    return { out, err };
  };
}
