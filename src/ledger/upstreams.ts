import { createHash } from "node:crypto";
import type { SqlValue, Statement } from "../store/mod.ts";
import type { ModelCall } from "./model_call.ts";

/**
 * What a call was paid with, as far as it is known: with its provider, this is how the provider's bill and the ledger name the same
 * calls. It never has a key.
 */
export interface Upstream {
  /** The variable or the provider of the config that the key came from, or `client` for a key that a client has sent. */
  credential?: string | undefined;
  /** See `hashCredential()`. */
  keyHash?: string | undefined;
  /** The provider's id of the account, such as an organization. */
  account?: string | undefined;
  /** The provider's name of a project within it. */
  project?: string | undefined;
}

const COLUMNS = ["upstream_id", "provider", "credential", "key_hash", "account", "project"];
const INSERT = `INSERT INTO upstreams (${COLUMNS.join(", ")})
SELECT ${
  COLUMNS.map((column) => `v.${column}`).join(", ")
} FROM each_row v WHERE true ON CONFLICT DO NOTHING`;

/** The ids of the upstreams of this process, by their fields. They are few, unless a witness makes them up. */
const ids = new Map<string, number>();
const MAX_IDS = 10_000;

/** Returns the id of what a call was paid with, which is the same in each process; null if nothing is known of it. */
export function upstreamIdOf(
  { provider, upstream, upstreamId }: Pick<ModelCall, "provider" | "upstream" | "upstreamId">,
): number | null {
  if (!upstream) return upstreamId ?? null;
  const { credential = "", keyHash = "", account = "", project = "" } = upstream;
  if (credential === "" && account === "" && project === "") return null;
  const text = `${provider}\0${credential}\0${keyHash}\0${account}\0${project}`;
  let id = ids.get(text);
  if (id === undefined) {
    id = parseInt(createHash("sha256").update(text).digest("hex").slice(0, 13), 16);
    if (ids.size >= MAX_IDS) ids.clear();
    ids.set(text, id);
  }
  return id;
}

/** Returns the statement that stores what calls were paid with, unless `known` has it, and the ids. */
export function recordUpstreams(
  calls: readonly Pick<ModelCall, "provider" | "upstream">[],
  known: ReadonlySet<number>,
): { statements: Statement[]; upstreamIds: number[] } {
  const fresh = new Map<number, SqlValue[]>();
  for (const { provider, upstream } of calls) {
    const id = upstream ? upstreamIdOf({ provider, upstream }) : null;
    if (id === null || known.has(id)) continue;
    const { credential, keyHash, account, project } = upstream!;
    fresh.set(id, [id, provider, credential ?? null, keyHash ?? null, account ?? null, project ?? null]);
  }
  if (fresh.size === 0) return { statements: [], upstreamIds: [] };
  const each = { columns: COLUMNS, integers: ["upstream_id"], rows: [...fresh.values()] };
  return { statements: [{ sql: INSERT, each }], upstreamIds: [...fresh.keys()] };
}
