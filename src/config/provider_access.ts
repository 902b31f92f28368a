import { PurserError } from "../kernel/errors.ts";
import { CONNECTION_HEADERS } from "../kernel/header_fields.ts";
import { isLoopback } from "../kernel/loopback_host.ts";
import type { StatesCost } from "../contract/costs/stated_costs.ts";
import type { ProviderSettings } from "./config.ts";
import type { Environment } from "./environment.ts";

/** The address and the credentials of a model provider. */
export interface ProviderAccess {
  /** The base URL of its API, with the version and without a slash at its end: `https://api.openai.com/v1`. */
  baseUrl: string;
  /** The query of its base URL, to add to each request: `api-version=preview`. Empty without one. */
  query: string;
  apiKey?: string;
  /** Headers to add to each request. */
  headers: Readonly<Record<string, string>>;
}

/** The variables and the default address of each built-in provider. */
const BUILT_IN: Readonly<Record<string, { key: string; url: string; defaultUrl: string }>> = {
  openai: {
    key: "OPENAI_API_KEY",
    url: "OPENAI_BASE_URL",
    defaultUrl: "https://api.openai.com/v1",
  },
  anthropic: {
    key: "ANTHROPIC_API_KEY",
    url: "ANTHROPIC_BASE_URL",
    defaultUrl: "https://api.anthropic.com/v1",
  },
  google: {
    key: "GOOGLE_GENERATIVE_AI_API_KEY",
    // The AI SDK has no variable for the base URL; this one follows the name of the key.
    url: "GOOGLE_GENERATIVE_AI_BASE_URL",
    defaultUrl: "https://generativelanguage.googleapis.com/v1beta",
  },
};

/** The settings that name providers. */
export interface ProviderSources {
  /** OpenAI-compatible servers by name. */
  providers: Readonly<Record<string, ProviderSettings>>;
  /** Keys and base URLs of the built-in providers. */
  env: Environment;
}

/**
 * Returns the address and credentials of a provider; `what` is used with it, as in `the model openai:gpt-6-luna`.
 *
 * @throws {PurserError} `invalid`, naming the variable, for a missing or malformed key and for a base URL that isn't a URL
 */
export function readProviderAccess(
  provider: string,
  what: string,
  { providers, env }: ProviderSources,
): ProviderAccess {
  const builtIn = Object.hasOwn(BUILT_IN, provider) ? BUILT_IN[provider] : undefined;
  if (builtIn) {
    return {
      ...splitUrl(readBaseUrl(env, builtIn.url, builtIn.defaultUrl)),
      apiKey: readKey(env, builtIn.key, what),
      headers: {},
    };
  }
  const { baseUrl, apiKey, headers = {} } = providers[provider]!;
  return { ...splitUrl(baseUrl), apiKey, headers };
}

/** Names of headers and parameters whose values are credentials. */
const OF_CREDENTIALS = /auth|key|token|secret|passw|credential|cookie|signature/i;

/** Returns the credentials that requests to a provider have. Throws as `readProviderAccess()` does. */
export function credentialsOf(provider: string, sources: ProviderSources): string[] {
  const { baseUrl, apiKey, headers, query } = readProviderAccess(
    provider,
    `the provider ${provider}`,
    sources,
  );
  const named = [...Object.entries(headers), ...new URLSearchParams(query)];
  return [
    apiKey ?? "",
    new URL(baseUrl).password,
    ...named.flatMap(([name, value]) => OF_CREDENTIALS.test(name) ? value : []),
    // Servers that need no key get one that others know: a word such as `placeholder`, or their own name.
  ].filter((value) => !/^[a-z]{0,19}$/i.test(value) && !provider.includes(value));
}

/** Returns the setting that a provider's credential comes from: the variable of a built-in one, or the name in the config. */
export const settingOfKey = (provider: string): string =>
  Object.hasOwn(BUILT_IN, provider) ? BUILT_IN[provider]!.key : provider;

/** Returns whether a header's value is a credential, by its name. */
export const isOfCredential = (name: string): boolean =>
  OF_CREDENTIALS.test(name) && !/idempotency/i.test(name);

function splitUrl(url: string): Pick<ProviderAccess, "baseUrl" | "query"> {
  if (!/[?#]/.test(url)) return { baseUrl: url.replace(/\/+$/, ""), query: "" };
  const [base = "", query = ""] = url.replace(/#.*/, "").split(/\?(.*)/);
  return { baseUrl: base.replace(/\/+$/, ""), query };
}

/** Returns the address of a request with the query of its provider's base URL. */
export function withQuery(address: string, query: string): string {
  return query === "" ? address : `${address}${address.includes("?") ? "&" : "?"}${query}`;
}

/** The headers of a client with its credentials, of its browser and of the way that its request came, and Purser's own. */
const OF_THE_CLIENT =
  /^(?:authorization|x-api-key|x-goog-api-key|cookie|forwarded|via|x-real-ip|(?:accept|content)-encoding|(?:x-)?purser-.*|x-forwarded-.*|sec-.*)$/;

/** Returns whether the gateway may pass a header of its clients on, if the config names it; in lower case. */
export function mayPassHeader(name: string): boolean {
  return !CONNECTION_HEADERS.has(name) && !OF_THE_CLIENT.test(name);
}

/** Returns the addresses of all providers, and which form of a bill the config declares for them. */
export function billedProviders(
  { providers, env }: ProviderSources,
): Record<string, { baseUrl?: string; statesCost?: StatesCost }> {
  const builtIn = Object.entries(BUILT_IN).map(([name, { url }]) => [name, { baseUrl: env[url]?.trim() }]);
  return { ...Object.fromEntries(builtIn), ...providers };
}

/** Returns the built-in providers that have a key in an environment. */
export function providersWithKeys(env: Environment): string[] {
  return Object.keys(BUILT_IN).filter((name) => env[BUILT_IN[name]!.key]?.trim());
}

/** The address that a server listens on. */
export interface ListenAddress {
  host: string;
  port: number;
  /** The names and addresses of the machine, at which a server for all of its addresses answers. */
  names?: readonly string[];
}

/** Completes the address of a server, which may be that of all addresses of its machine. */
export async function withNames(address: ListenAddress): Promise<ListenAddress> {
  return ANY_ADDRESS.includes(bare(address.host)) ? { ...address, names: await namesOfMachine() } : address;
}

/**
 * Returns the setting that makes a server its own provider: `OPENAI_BASE_URL`, or `providers.local.base_url`. Such variables
 * are for the clients of the gateway, and are easily set for the server too. Undefined if there is none.
 */
export function findOwnAddress(
  address: ListenAddress,
  { providers, env }: ProviderSources,
): { provider: string; setting: string; remedy: string } | undefined {
  const isOwn = (text: string | undefined) => text !== undefined && isSameServer(text.trim(), address);
  const builtIn = Object.entries(BUILT_IN).find(([, { url }]) => isOwn(env[url]));
  if (builtIn) {
    const [provider, { url }] = builtIn;
    return {
      provider,
      setting: url,
      remedy: "unset it in the environment of the server: it is for its clients",
    };
  }
  const configured = Object.entries(providers).find(([, { baseUrl }]) => isOwn(baseUrl));
  return configured && {
    provider: configured[0],
    setting: `providers.${configured[0]}.base_url`,
    remedy: "set it to the provider's own address",
  };
}

/** The addresses that a server binds to for all of its machine's. */
const ANY_ADDRESS = ["0.0.0.0", "::"];

function isSameServer(text: string, { host, port, names = [] }: ListenAddress): boolean {
  const url = URL.parse(text);
  if (url === null) return false;
  const defaultPort = url.protocol === "https:" ? 443 : 80;
  if (Number(url.port || defaultPort) !== port) return false;
  const [theirs, own] = [bare(url.hostname), bare(host)];
  // A connection to the address of all is one to this machine.
  const isHere = isLoopback(theirs) || ANY_ADDRESS.includes(theirs);
  const isOfMachine = ANY_ADDRESS.includes(own) && (isHere || names.some((name) => bare(name) === theirs));
  return theirs === own || isOfMachine || (isHere && isLoopback(own));
}

/** Returns a host as it is compared: without brackets, and an IPv4 address in IPv6 form as IPv4. */
function bare(host: string): string {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(name);
  if (!mapped) return name;
  const [high, low] = mapped.slice(1).map((group) => parseInt(group, 16)) as [number, number];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** Returns the name and the addresses of this machine; an empty list if they may not be read. */
async function namesOfMachine(): Promise<string[]> {
  try {
    const { hostname, networkInterfaces } = await import("node:os");
    const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
    return [hostname(), ...addresses.map(({ address }) => address)];
  } catch {
    return [];
  }
}

function readKey(env: Environment, variable: string, what: string): string {
  const key = env[variable]?.trim();
  if (key && !/^[\x21-\x7e]+$/.test(key)) {
    throw new PurserError(
      "invalid",
      `Cannot use ${what}: ${variable} holds blanks or characters that no key has`,
    );
  }
  if (key) return key;
  throw new PurserError(
    "invalid",
    `Cannot use ${what}: ${variable} is not set; set it in the environment of Purser`,
  );
}

function readBaseUrl(env: Environment, variable: string, fallback: string): string {
  const text = env[variable]?.trim();
  if (!text) return fallback;
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new PurserError("invalid", `Cannot use ${variable}: it must be an http:// or https:// URL`);
}
