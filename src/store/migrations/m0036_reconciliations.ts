import { INTEGER, TEXT, WITHOUT_ROWID } from "../dialect.ts";

/** Comparisons of bills with the ledger, and the months that are closed. */
export const reconciliations: readonly string[] = [
  // account: the provider's account, '' for all. mapping: the version of the source's table of names. limit_nano_usd: what may stay
  // unexplained. totals: JSON of what is shown besides the columns. input_hash: of the lines, the entries of the ledger and the rules, so that the same ones
  // are not compared twice. ledger_position: the last entry that was compared.
  `CREATE TABLE reconciliations (
  reconciliation_id ${TEXT} PRIMARY KEY NOT NULL,
  source ${TEXT} NOT NULL,
  account ${TEXT} NOT NULL,
  month ${TEXT} NOT NULL,
  mapping ${INTEGER} NOT NULL,
  input_hash ${TEXT} NOT NULL,
  ledger_position ${INTEGER} NOT NULL,
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
  level ${TEXT} NOT NULL,
  starts_at ${INTEGER} NOT NULL,
  counts ${TEXT} NOT NULL,
  entry_id ${TEXT},
  undo_id ${TEXT},
  PRIMARY KEY (reconciliation_id, call_id)
)${WITHOUT_ROWID}`,
  // state: soft_closed, closed or reopened; a month without a row is open. reconciliation_id: as it was closed. bill_nano_usd, ledger_nano_usd: the
  // totals of the month when it was closed. corrections: JSON, the changes of earlier months that it has taken, by month.
  `CREATE TABLE bill_periods (
  source ${TEXT} NOT NULL,
  account ${TEXT} NOT NULL,
  month ${TEXT} NOT NULL,
  state ${TEXT} NOT NULL,
  reconciliation_id ${TEXT},
  bill_nano_usd ${INTEGER} NOT NULL,
  ledger_nano_usd ${INTEGER} NOT NULL,
  corrections ${TEXT} NOT NULL,
  changed_at ${INTEGER} NOT NULL,
  changed_by ${TEXT},
  reason ${TEXT},
  PRIMARY KEY (source, account, month)
)${WITHOUT_ROWID}`,
  `CREATE INDEX bill_lines_by_response ON bill_lines (response_id) WHERE response_id IS NOT NULL`,
];
