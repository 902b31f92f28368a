import type { Environment } from "../../../config/mod.ts";
import { GATEWAY_CLIENTS } from "../env/gateway_clients.ts";
import { OTLP_PROGRAMS } from "../env/otlp_programs.ts";
import { type Client, KEY } from "../env/print_client.ts";

/** A provider, the client of the gateway by which a command calls it, and the variables with its own key and address. */
const PROVIDERS = {
  openai: { client: "openai", keys: ["OPENAI_API_KEY"], url: "OPENAI_BASE_URL", version: "" },
  anthropic: { client: "anthropic", keys: ["ANTHROPIC_API_KEY"], url: "ANTHROPIC_BASE_URL", version: "/v1" },
  google: {
    client: "gemini",
    keys: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"],
    url: "GOOGLE_GEMINI_BASE_URL",
    version: "/v1beta",
  },
} as const;

export type CapturedProvider = keyof typeof PROVIDERS;
export const CAPTURED_PROVIDERS = Object.keys(PROVIDERS) as CapturedProvider[];

/** Returns the providers whose keys are in an environment. */
export function providersIn(env: Environment): CapturedProvider[] {
  return CAPTURED_PROVIDERS.filter((name) => keyIn(env, name) !== undefined);
}

/** Returns the key of a provider in an environment. */
export const keyIn = (env: Environment, name: CapturedProvider) =>
  PROVIDERS[name].keys.map((variable) => env[variable]?.trim()).find(Boolean);

/**
 * Returns the environment of a server for a command: the providers' keys and addresses that the command would have used. Clients
 * leave the version of an address out, where the server's own variables have it.
 */
export function serverEnvironment(env: Environment): Environment {
  const { version, url } = PROVIDERS.google;
  const withVersion = (text: string | undefined, version: string) => {
    const base = text?.trim().replace(/\/+$/, "");
    return !base ? undefined : /\/v\d\w*$/.test(base) ? base : base + version;
  };
  return {
    ...env,
    ANTHROPIC_BASE_URL: withVersion(env.ANTHROPIC_BASE_URL, PROVIDERS.anthropic.version),
    GOOGLE_GENERATIVE_AI_API_KEY: keyIn(env, "google"),
    GOOGLE_GENERATIVE_AI_BASE_URL: env.GOOGLE_GENERATIVE_AI_BASE_URL || withVersion(env[url], version),
  };
}

/** The coding agents with a telemetry of their own; the variables of others are those of any program. */
const EXPORTING = ["claude-code", "gemini", "node"];

const isCodex = (program: string) => /^codex(\.\w+)?$/.test(program);

/** Returns the environment of a command whose calls go to a server: through its gateway, and as telemetry. */
export function commandEnvironment(
  env: Environment,
  { url, key, providers, program }: {
    url: string;
    key: string;
    providers: readonly CapturedProvider[];
    program: string;
  },
): Record<string, string> {
  const clients = providers.flatMap((name) => {
    // Claude Code asks before it uses a key that it doesn't know, but takes a token.
    if (name === "anthropic" && /^claude(\.\w+)?$/.test(program)) return "claude-code";
    return name === "openai" && isCodex(program) ? [PROVIDERS[name].client, "codex"] : PROVIDERS[name].client;
  });
  // Programs read other variables than the client does, such as Vercel's AI SDK: with the user's own key, their calls would go past
  // the gateway and the budget, unseen.
  const keys = providers.flatMap((name) => PROVIDERS[name].keys.filter((key) => env[key]));
  const variables = {
    ...Object.fromEntries(keys.map((name) => [name, KEY])),
    ...variablesOf(OTLP_PROGRAMS, EXPORTING, url),
    ...variablesOf(GATEWAY_CLIENTS, clients, url),
  };
  const set = Object.entries({ ...env, ...variables }).flatMap(([name, value]) =>
    value == null ? [] : [[name, variables[name] === undefined ? value : value.replaceAll(KEY, key)]]
  );
  return Object.fromEntries(set);
}

/**
 * Returns the arguments by which a program is pointed to the server, where it reads no variables: those of Codex, before its own. They
 * replace lines of its config file for this run.
 */
export function argumentsFor(
  program: string,
  { url, providers }: { url: string; providers: readonly CapturedProvider[] },
): string[] {
  if (!isCodex(program)) return [];
  const clients = [...providers.includes("openai") ? [GATEWAY_CLIENTS] : [], OTLP_PROGRAMS];
  const texts = clients.map((list) => list.find(({ name }) => name === "codex")!.file!.text(url));
  return texts.flatMap((text) => {
    let table = "";
    return text.split("\n").flatMap((line) => {
      table = /^\[(.+)\]$/.exec(line)?.[1]?.concat(".") ?? table;
      const [, name, value] = /^(\w+) = (.+)$/.exec(line) ?? [];
      return name === undefined ? [] : ["-c", `${table}${name}=${value}`];
    });
  });
}

/** Of a variable that several set, the last one counts. */
function variablesOf(clients: readonly Client[], names: readonly string[], url: string) {
  return Object.assign(
    {},
    ...names.map((name) => clients.find((one) => one.name === name)!.variables(url)),
  ) as Record<string, string | null>;
}
