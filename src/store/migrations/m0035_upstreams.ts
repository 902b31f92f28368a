import { INTEGER, TEXT } from "../dialect.ts";

/** What calls were paid with, so that they can be joined with the bills of providers. */
export const upstreams: readonly string[] = [
  // upstream_id: the first 52 bits of a hash of (provider, credential, key_hash, account, project). credential: the variable or the
  // provider of the config that the key came from, or 'client'. key_hash: 64 bits in hex, see docs/security.md. key_id: the provider's id
  // of the key, as its bills name it; a person has set it.
  `CREATE TABLE upstreams (
  upstream_id ${INTEGER} PRIMARY KEY NOT NULL,
  provider ${TEXT} NOT NULL,
  credential ${TEXT},
  key_hash ${TEXT},
  account ${TEXT},
  project ${TEXT},
  key_id ${TEXT}
)`,
  `ALTER TABLE calls ADD COLUMN upstream_id ${INTEGER}`,
  // Calls of the gateway, runs and meters now have the id of their request, too: an entry here for each would slow their bookings.
  // They are found by their counts, among which it decides.
  `DROP INDEX calls_by_request`,
  "CREATE INDEX calls_by_request ON calls (((at / 86400000)), substr(request_id, (length(request_id) - 11))) " +
  "WHERE request_id IS NOT NULL AND (source IN ('log', 'otlp'))",
];
