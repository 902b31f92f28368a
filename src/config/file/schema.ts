import { SEVERITIES } from "../../contract/values.ts";
import { z } from "zod";
import { LOG_LEVELS } from "../../kernel/log.ts";
import { PriceOverride, PriceOverrides } from "../../contract/price_override.ts";
import { BUILT_IN_PROVIDERS } from "../built_in_providers.ts";
import { Channels } from "./channel_schema.ts";
import { Profile, Profiles } from "../profiles/profile_schema.ts";

const providerName = z.string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, "takes letters, digits, _ and -, at most 64")
  .refine(
    (name) => !(BUILT_IN_PROVIDERS as readonly string[]).includes(name),
    "is the name of a built-in provider; choose another one",
  );

function describeUrl(issue: { input?: unknown }): string | undefined {
  return typeof issue.input === "string" ? "must be an http:// or https:// URL" : undefined;
}

const Provider = z.strictObject({
  base_url: z.url({ protocol: /^https?$/, error: describeUrl }),
  api_key: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
});

const Anomalies = z.strictObject({ notify_from: z.enum(SEVERITIES).optional() });

const network = z.union([z.cidrv4(), z.cidrv6()], { error: "must be a network such as 10.0.0.0/8" });

/** `purser.json` as it is written. Every key is optional; an unknown one is refused. */
export const ConfigFile = z.strictObject({
  $schema: z.string(),
  environment: z.string().min(1),
  db: z.string().min(1),
  db_token: z.string().min(1),
  durability: z.enum(["full", "normal"]),
  server: z.string().min(1),
  api_key: z.string().min(1),
  api_key_file: z.string().min(1),
  profiles: Profiles,
  host: z.string().min(1),
  port: z.int().min(0).max(65_535),
  log_level: z.enum(LOG_LEVELS),
  remote_timeout_ms: z.int().positive().max(600_000),
  max_body_bytes: z.int().positive(),
  max_snapshot_bytes: z.int().positive(),
  providers: z.record(providerName, Provider),
  prices: PriceOverrides,
  tools: z.array(z.string().min(1)),
  channels: Channels,
  plugins: z.array(z.string().min(1)),
  allow_private_networks: z.array(network),
  anomalies: Anomalies,
}).partial().superRefine((file, { addIssue }) => {
  if (file.api_key === undefined || file.api_key_file === undefined) return;
  const message = "stands beside api_key; take one of them out";
  addIssue({ code: "custom", path: ["api_key_file"], message });
});
export type ConfigFile = z.infer<typeof ConfigFile>;

/** The keys that an object at this path of the file may have, for a "did you mean". */
export function keysKnownAt(path: readonly PropertyKey[]): string[] {
  if (path.length === 0) return Object.keys(ConfigFile.shape);
  if (path.length === 2 && path[0] === "providers") return Object.keys(Provider.shape);
  if (path.length === 2 && path[0] === "prices") return Object.keys(PriceOverride.shape);
  if (path.length === 2 && path[0] === "profiles") return Object.keys(Profile.shape);
  if (path.length === 1 && path[0] === "anomalies") return Object.keys(Anomalies.shape);
  return [];
}
