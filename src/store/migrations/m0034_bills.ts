import { INTEGER, TEXT, WITHOUT_ROWID } from "../dialect.ts";
import { refuse } from "./m0022_ledger.ts";

/* The steps of bills, exports and statements. */

/** The lines of providers' bills, and the imports that have read them. */
export const bills: readonly string[] = [
  // status: in_progress, done or failed. account: the provider's account, '' where the source doesn't tell it. from_at, to_at: the
  // window that was asked for; query_hash: of the whole query, so that the token of a page is only used for it. sha256: of a file. unknown: JSON, the parts that were not understood, with their number.
  `CREATE TABLE bill_imports (
  import_id ${TEXT} PRIMARY KEY NOT NULL,
  source ${TEXT} NOT NULL,
  account ${TEXT} NOT NULL,
  status ${TEXT} NOT NULL,
  from_at ${INTEGER} NOT NULL,
  to_at ${INTEGER} NOT NULL,
  query_hash ${TEXT} NOT NULL,
  page ${TEXT},
  sha256 ${TEXT},
  refreshed_at ${INTEGER},
  lines ${INTEGER} NOT NULL,
  new_lines ${INTEGER} NOT NULL,
  revised_lines ${INTEGER} NOT NULL,
  unknown ${TEXT} NOT NULL,
  error ${TEXT},
  created_at ${INTEGER} NOT NULL,
  ended_at ${INTEGER}
)`,
  `CREATE INDEX bill_imports_of_source ON bill_imports (source, created_at)`,
  // state: staged until its import is done, then current, then replaced by a revision or by nothing, by the import in replaced_by. A line that is replaced after its
  // month was closed is closed instead: it still counts there, and a reversal, which is the same line with the opposite sign, counts in the next open month. natural_key, content: hashes of the fields that
  // tell lines apart, and of those of CONTENT. month: the period that it belongs to, 'YYYY-MM': that of its start, or a later one where that was closed. quantity, amount, list_amount: decimal texts.
  // amount_nano_usd: of amount, rounded half to even; null in another currency.
  `CREATE TABLE bill_lines (
  position ${INTEGER} PRIMARY KEY NOT NULL,
  source ${TEXT} NOT NULL,
  account ${TEXT} NOT NULL,
  import_id ${TEXT} NOT NULL,
  state ${TEXT} NOT NULL,
  natural_key ${TEXT} NOT NULL,
  content ${TEXT} NOT NULL,
  revision ${INTEGER} NOT NULL,
  replaced_by ${TEXT},
  month ${TEXT} NOT NULL,
  series ${TEXT} NOT NULL,
  category ${TEXT} NOT NULL,
  starts_at ${INTEGER} NOT NULL,
  ends_at ${INTEGER} NOT NULL,
  response_id ${TEXT},
  model ${TEXT},
  part ${TEXT},
  sku ${TEXT},
  credential ${TEXT},
  project ${TEXT},
  actor ${TEXT},
  service_tier ${TEXT},
  region ${TEXT},
  speed ${TEXT},
  context ${TEXT},
  is_batch ${INTEGER},
  other ${TEXT},
  quantity ${TEXT},
  unit ${TEXT},
  amount ${TEXT},
  list_amount ${TEXT},
  amount_nano_usd ${INTEGER},
  list_nano_usd ${INTEGER},
  currency ${TEXT},
  is_equivalent ${INTEGER} NOT NULL
)`,
  `CREATE INDEX bill_lines_by_time ON bill_lines (source, starts_at) WHERE state = 'current'`,
  `CREATE INDEX bill_lines_by_month ON bill_lines (month, source) WHERE state IN ('current', 'closed', 'reversal')`,
  `CREATE INDEX bill_lines_by_key ON bill_lines (source, account, natural_key)`,
  `CREATE INDEX bill_lines_of_import ON bill_lines (import_id)`,
  `CREATE INDEX bill_lines_replaced_by ON bill_lines (replaced_by) WHERE replaced_by IS NOT NULL`,
];

/** The credentials and accounts that paid for calls, so that they can be joined with the bills of providers. */
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
  `CREATE INDEX calls_unpriced ON calls (at) WHERE unpriced <> 0`,
  `DROP INDEX calls_by_request`,
  "CREATE INDEX calls_by_request ON calls (((at / 86400000)), substr(request_id, (length(request_id) - 11))) " +
  "WHERE request_id IS NOT NULL AND (source IN ('log', 'otlp'))",
];

/** Comparisons of bills with the ledger, and the months that are closed. */
export const reconciliations: readonly string[] = [
  // account: the provider's account, '' for all. mapping: the version of the source's table of names. limit_nano_usd: what may stay
  // unexplained. totals: JSON of what is shown besides the columns, as it is shown. input_hash: of the lines, the entries of the ledger and the rules, so that the same ones
  // are not compared twice. ledger_position: the last entry that was compared. lines_state: the same as long as the lines of the month are.
  `CREATE TABLE reconciliations (
  reconciliation_id ${TEXT} PRIMARY KEY NOT NULL,
  source ${TEXT} NOT NULL,
  account ${TEXT} NOT NULL,
  month ${TEXT} NOT NULL,
  mapping ${INTEGER} NOT NULL,
  input_hash ${TEXT} NOT NULL,
  ledger_position ${INTEGER} NOT NULL,
  lines_state ${TEXT} NOT NULL,
  bill_nano_usd ${INTEGER} NOT NULL,
  ledger_nano_usd ${INTEGER} NOT NULL,
  unexplained_nano_usd ${INTEGER} NOT NULL,
  limit_nano_usd ${INTEGER} NOT NULL,
  totals ${TEXT} NOT NULL,
  created_at ${INTEGER} NOT NULL
)`,
  `CREATE INDEX reconciliations_latest ON reconciliations (created_at DESC, reconciliation_id DESC)`,
  `CREATE INDEX reconciliations_of_month ON reconciliations (source, account, month, created_at)`,
  // A difference with its cause, of a part of a day. dimensions: JSON. quantity: in millionths, as text.
  `CREATE TABLE reconciliation_variances (
  reconciliation_id ${TEXT} NOT NULL,
  nth ${INTEGER} NOT NULL,
  cause ${TEXT} NOT NULL,
  from_at ${INTEGER} NOT NULL,
  to_at ${INTEGER} NOT NULL,
  dimensions ${TEXT} NOT NULL,
  part ${TEXT} NOT NULL,
  level ${TEXT} NOT NULL,
  quantity ${TEXT} NOT NULL,
  amount_nano_usd ${INTEGER} NOT NULL,
  cells ${INTEGER} NOT NULL,
  evidence ${TEXT} NOT NULL,
  PRIMARY KEY (reconciliation_id, nth)
)${WITHOUT_ROWID}`,
  // The calls that a bill proves to be other than they were booked. counts: JSON by part. entry_id: of the entry that corrects it, and undo_id of
  // that which takes the correction back.
  `CREATE TABLE bill_corrections (
  reconciliation_id ${TEXT} NOT NULL,
  call_id ${TEXT} NOT NULL,
  counts ${TEXT} NOT NULL,
  entry_id ${TEXT},
  undo_id ${TEXT},
  PRIMARY KEY (reconciliation_id, call_id)
)${WITHOUT_ROWID}`,
  // state: soft_closed, closed or reopened; a month without a row is open. reconciliation_id: as it was closed. bill_nano_usd, ledger_nano_usd: the
  // totals of the month when it was closed. providers: JSON, those whose calls it was compared with; null for all. corrections: JSON, the changes of earlier months that it has taken, by month.
  `CREATE TABLE bill_periods (
  source ${TEXT} NOT NULL,
  account ${TEXT} NOT NULL,
  month ${TEXT} NOT NULL,
  state ${TEXT} NOT NULL,
  reconciliation_id ${TEXT},
  bill_nano_usd ${INTEGER} NOT NULL,
  ledger_nano_usd ${INTEGER} NOT NULL,
  providers ${TEXT},
  corrections ${TEXT} NOT NULL,
  changed_at ${INTEGER} NOT NULL,
  changed_by ${TEXT},
  reason ${TEXT},
  PRIMARY KEY (source, account, month)
)${WITHOUT_ROWID}`,
  `CREATE INDEX bill_lines_by_response ON bill_lines (response_id) WHERE response_id IS NOT NULL`,
];

/** The statements that were issued; none is ever changed. */
export const statements: readonly string[] = [
  // month: 'YYYY-MM'. by_tag: the key of the tag whose values are charged. document: JSON, as it was issued.
  `CREATE TABLE statements (
  month ${TEXT} NOT NULL,
  by_tag ${TEXT} NOT NULL,
  version ${INTEGER} NOT NULL,
  document ${TEXT} NOT NULL,
  PRIMARY KEY (by_tag, month, version)
)`,
  ...refuse("statements", "issued statements are never changed"),
];
