import { toSqlite } from "../dialect.ts";
import { statements as ledger } from "./m0022_ledger.ts";
import { statements as limits } from "./m0022_limits.ts";
import { bills, reconciliations, statements, upstreams } from "./m0034_bills.ts";
import {
  alertStates,
  audit,
  calendars,
  keyTags,
  planWindows,
  priceRows,
  ruleSubjects,
  sightings,
  subjects,
  tickets,
  trees,
} from "./since_0_1_0.ts";

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
 * Every step, in order, in the SQL of both engines; `postgresMigrations` adds the triggers of PostgreSQL. Those before 0.1.0
 * are one: it has the number after theirs, so that programs from before it refuse a database of this one as newer. Plain
 * modules, so that a compiled binary and the edge bundle include them.
 */
export const steps: readonly Migration[] = [
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
  { version: 33, name: "alert_states", since: "0.2.0", statements: alertStates },
  { version: 34, name: "bills", since: "0.2.0", statements: bills },
  { version: 35, name: "upstreams", since: "0.2.0", statements: upstreams },
  { version: 36, name: "reconciliations", since: "0.2.0", statements: reconciliations },
  { version: 37, name: "statements", since: "0.2.0", statements },
];

/** The steps in SQLite, in files and on servers. */
export const migrations: readonly Migration[] = steps.map((step) => ({
  ...step,
  statements: step.statements.map(toSqlite),
}));
