import { INTEGER, TEXT } from "../dialect.ts";

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
  // state: staged until its import is done, then current, then replaced by a revision or by nothing, by the import in replaced_by. natural_key, content: hashes of the fields of
  // NATURAL_KEY, and of the others. month: the period that it belongs to, 'YYYY-MM': that of its start, or a later one where that was closed. quantity, amount, list_amount: decimal texts.
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
  `CREATE INDEX bill_lines_by_month ON bill_lines (source, month) WHERE state = 'current'`,
  `CREATE INDEX bill_lines_by_key ON bill_lines (source, account, natural_key)`,
  `CREATE INDEX bill_lines_of_import ON bill_lines (import_id)`,
  `CREATE INDEX bill_lines_replaced_by ON bill_lines (replaced_by) WHERE replaced_by IS NOT NULL`,
];
