import { statements as ledger } from "./m0022_ledger.ts";
import { statements as limits } from "./m0022_limits.ts";
import { statements as sightings } from "./m0023_sightings.ts";
import { statements as planWindows } from "./m0024_plan_windows.ts";
import { statements as keyTags } from "./m0025_key_tags.ts";
import { statements as audit } from "./m0026_audit.ts";
import { statements as priceRows } from "./m0032_price_rows.ts";
import { statements as subjects } from "./m0027_subjects.ts";
import { statements as trees } from "./m0028_trees.ts";
import { statements as calendars } from "./m0029_calendars.ts";
import { statements as tickets } from "./m0030_tickets.ts";
import { statements as ruleSubjects } from "./m0031_rule_subjects.ts";

/** One step of the schema. A released step is never edited: every database records its checksum. */
export interface Migration {
  version: number;
  name: string;
  /** The release that brought it. `tests/release_test.ts` holds the checksums of those that are in the changelog. */
  since: string;
  /** Committed together. */
  statements: readonly string[];
}

/**
 * Every step, in order. Those before 0.1.0 are one: it has the number after theirs, so that programs from before it refuse
 * a database of this one as newer. Plain modules, so that a compiled binary and the edge bundle include them.
 */
export const migrations: readonly Migration[] = [
  { version: 22, name: "release_0_1_0", since: "0.1.0", statements: [...ledger, ...limits] },
  { version: 23, name: "sightings", since: "0.2.0", statements: sightings },
  { version: 24, name: "plan_windows", since: "0.2.0", statements: planWindows },
  { version: 25, name: "key_tags", since: "0.2.0", statements: keyTags },
  { version: 26, name: "audit", since: "0.2.0", statements: audit },
  { version: 27, name: "subjects", since: "0.2.0", statements: subjects },
  { version: 28, name: "trees", since: "0.2.0", statements: trees },
  { version: 29, name: "calendars", since: "0.2.0", statements: calendars },
  { version: 30, name: "tickets", since: "0.2.0", statements: tickets },
  { version: 31, name: "rule_subjects", since: "0.2.0", statements: ruleSubjects },
  { version: 32, name: "price_rows", since: "0.2.0", statements: priceRows },
];
