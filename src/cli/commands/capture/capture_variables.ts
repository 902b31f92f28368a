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
  const clients = providers.map((name) =>
    // Claude Code asks before it uses a key that it doesn't know, but takes a token.
    name === "anthropic" && /^claude(\.\w+)?$/.test(program) ? "claude-code" : PROVIDERS[name].client
  );
  const variables = {
    ...variablesOf(OTLP_PROGRAMS, EXPORTING, url),
    ...variablesOf(GATEWAY_CLIENTS, clients, url),
  };
  const set = Object.entries({ ...env, ...variables }).flatMap(([name, value]) =>
    value == null ? [] : [[name, variables[name] === undefined ? value : value.replaceAll(KEY, key)]]
  );
  return Object.fromEntries(set);
}

/** Of a variable that several set, the last one counts. */
function variablesOf(clients: readonly Client[], names: readonly string[], url: string) {
  return Object.assign(
    {},
    ...names.map((name) => clients.find((one) => one.name === name)!.variables(url)),
  ) as Record<string, string | null>;
}
