import { INTEGER, TEXT } from "../dialect.ts";
import { refuse } from "./m0022_ledger.ts";

/** The statements that were issued; none is ever changed. */
export const statements: readonly string[] = [
  // month: 'YYYY-MM'. by_tag: the key of the tag whose values are charged. up_to: the position of the newest entry of the ledger that it
  // includes. hash: SHA-256 of what it says besides its version. document: JSON, as it was issued.
  `CREATE TABLE statements (
  month ${TEXT} NOT NULL,
  by_tag ${TEXT} NOT NULL,
  version ${INTEGER} NOT NULL,
  markup ${TEXT} NOT NULL,
  shared ${TEXT} NOT NULL,
  up_to ${INTEGER} NOT NULL,
  created_at ${INTEGER} NOT NULL,
  hash ${TEXT} NOT NULL,
  document ${TEXT} NOT NULL,
  PRIMARY KEY (by_tag, month, version)
)`,
  ...refuse("statements", "issued statements are never changed"),
];
