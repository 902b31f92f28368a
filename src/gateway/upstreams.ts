import { type Credential, credentialOf, hashCredential } from "../config/credentials/mod.ts";
import { isOfCredential, type ProviderSources, readProviderAccess } from "../config/mod.ts";
import { idsIn, type Upstream as PaidWith } from "../ledger/mod.ts";
import type { GatewayContext } from "./context.ts";
import { has, type HeaderNames, namesOf } from "./headers.ts";
import type { Family, Target } from "./targets.ts";

/** A provider behind the gateway. */
export interface Upstream {
  /** The address of a request, without its query. */
  url: string;
  /** The query of its base URL. */
  query: string;
  /** The provider's key and the headers of the config. */
  headers: Record<string, string>;
  hasKey: boolean;
  credential: Credential;
  /** The headers of clients that the config adds to those that pass. */
  passedHeaders: HeaderNames | undefined;
  /** The treatment of a stream whose client has left: `abort` stops the provider's meter, `drain` reads it to its end. */
  onDisconnect: "abort" | "drain";
}

/**
 * The providers that stop generating, and charging, when a stream is aborted. Others are read to the end, so that their
 * usage is known.
 */
export const ABORTING = new Set(["openai", "anthropic", "azure", "xai", "deepseek", "openrouter"]);

/**
 * Returns the provider of a target. Its settings, which don't change, are read once.
 *
 * @throws {PurserError} `invalid` without a key for it
 */
export function findUpstream(
  { gateway: { upstreams: known }, providerSources }: Pick<GatewayContext, "gateway" | "providerSources">,
  { provider, family, version, path }: Target,
): Upstream {
  const api = `${family}/${version}/${provider}`;
  let found = known.get(api);
  if (!found) known.set(api, found = readUpstream({ provider, family, version }, providerSources));
  return { ...found, url: `${found.url}/${path}` };
}

/** Returns a provider, with its base URL. */
function readUpstream(
  { provider, family, version }: Omit<Target, "path">,
  sources: ProviderSources,
): Upstream {
  const { baseUrl, query, apiKey, headers } = readProviderAccess(
    provider,
    `the provider ${provider}`,
    sources,
  );
  const { passHeaders, onDisconnect } = sources.providers[provider] ?? {};
  return {
    // Google's has the version in its address; the others have one version only.
    url: family === "google" ? baseUrl.replace(/\/v1(alpha|beta)?$/, `/${version}`) : baseUrl,
    query,
    headers: { ...headers, ...(apiKey !== undefined && credentials(family, apiKey)) },
    hasKey: apiKey !== undefined,
    credential: credentialOf(provider, sources),
    passedHeaders: passHeaders && namesOf(passHeaders.join(" ").toLowerCase()),
    onDisconnect: onDisconnect ?? (ABORTING.has(provider) ? "abort" : "drain"),
  };
}

/** Returns the upstream that pays for a request, by its headers: a client may have sent a key that the config passes on. */
export function paidWith(
  { credential, passedHeaders }: Upstream,
  sent: Readonly<Record<string, string>>,
): PaidWith {
  const { account, project } = idsIn({ get: (name) => sent[name] ?? null });
  const name = credential.keyHash === undefined && passedHeaders
    ? Object.keys(sent).find((name) => isOfCredential(name) && has(passedHeaders, name))
    : undefined;
  const own = name === undefined
    ? credential
    : { credential: "client", keyHash: hashCredential(sent[name]!) };
  return { ...own, account, project };
}

function credentials(family: Family, apiKey: string): Record<string, string> {
  switch (family) {
    case "openai":
      return { authorization: `Bearer ${apiKey}` };
    case "anthropic":
      return { "x-api-key": apiKey };
    case "google":
      return { "x-goog-api-key": apiKey };
  }
}
