import { withQuery } from "../config/mod.ts";
import type { GatewayContext } from "./context.ts";
import { type Family, familyOf } from "./targets.ts";
import { findUpstream } from "./upstreams.ts";

/** The parameters that keep a list short, and the headers that it needs. */
const REQUESTS: Readonly<Record<Family, { version: string; search: string; headers?: HeadersInit }>> = {
  openai: { version: "v1", search: "" },
  anthropic: { version: "v1", search: "?limit=1", headers: { "anthropic-version": "2023-06-01" } },
  google: { version: "v1beta", search: "?pageSize=1" },
};

/** The statuses by which each family refuses a key. */
const KEY_REFUSED: Readonly<Record<Family, readonly number[]>> = {
  openai: [401, 403],
  anthropic: [401, 403],
  google: [400, 401, 403],
};

/** The answer of a provider to a request for its models. */
export interface ModelsAnswer {
  /** The host that has answered, with its port. */
  host: string;
  status: number;
  /** True if a key was sent. */
  hasKey: boolean;
  isKeyRefused: boolean;
}

/**
 * Requests the list of a provider's models, which costs nothing, with the address and the key that its calls have.
 *
 * @throws {PurserError} `invalid` for settings that can't be used; any error where there is no answer
 */
export async function listModels(
  ctx: Pick<GatewayContext, "gateway" | "providerSources">,
  provider: string,
  signal: AbortSignal,
): Promise<ModelsAnswer> {
  const family = familyOf(provider);
  const { version, search, headers } = REQUESTS[family];
  const upstream = findUpstream(ctx, { provider, family, version, path: "models" });
  const { status, body } = await ctx.gateway.send(withQuery(upstream.url + search, upstream.query), {
    headers: { ...headers, ...upstream.headers },
    signal,
  });
  await body?.cancel();
  return {
    host: new URL(upstream.url).host,
    status,
    hasKey: upstream.hasKey,
    isKeyRefused: KEY_REFUSED[family].includes(status),
  };
}
