import { z } from "@hono/zod-openapi";
import { Count, Label, Time } from "../parts.ts";

/** The wire schemas of upstreams: the credentials and the accounts at providers that pay for calls. */

export const UpstreamId = z.string().regex(/^ups_[0-9a-f]{13}$/, "must be an id of GET /upstreams").openapi({
  example: "ups_04b1c9e2d3a47",
});

const Text = z.string().nullable();

export const Upstream = z.object({
  upstream_id: UpstreamId,
  provider: z.string().openapi({ example: "openai" }),
  credential: Text.openapi({
    description:
      "The variable or the provider of the config that the key came from; `client` where a client has sent it. Null where that is not known",
    example: "OPENAI_API_KEY",
  }),
  key_hash: Text.openapi({
    description: "64 bits of a hash of the key, by which two keys differ; null without a key",
  }),
  account: Text.openapi({ description: "The provider's id of the account; null where it isn't known" }),
  project: Text.openapi({ description: "The provider's name of the project; null where it isn't known" }),
  key_id: Text.openapi({
    description: "The provider's id of the key, as its bills name it; null until it is set",
    example: "apikey_01Rj2N8SVvo6BePZj99NhmiT",
  }),
}).openapi("Upstream");
export type Upstream = z.infer<typeof Upstream>;

export const ListedUpstream = z.object({
  ...Upstream.shape,
  model_calls: Count.openapi({ description: "Number of its calls since `from`" }),
  last_used_at: Time.nullable().openapi({ description: "Its last call since `from`; null without any" }),
}).openapi("ListedUpstream");
export type ListedUpstream = z.infer<typeof ListedUpstream>;

export const UpstreamBody = z.strictObject({
  key_id: Label.nullable().openapi({
    description: "The provider's id of the key; null removes it",
    example: "apikey_01Rj2N8SVvo6BePZj99NhmiT",
  }),
}).openapi("UpstreamBody");
