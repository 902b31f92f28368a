import type { Logic } from "./migrate.ts";

/** A trigger of each row. */
export interface RowTrigger {
  name: string;
  /** Such as `AFTER INSERT ON alerts`; not a deletion. */
  event: string;
  /** The condition under which it acts; default: always. */
  when?: string;
  /** The statements, each with its semicolon; or `skip`, by which the row is not written. */
  body: string;
}

/** The body of a trigger that leaves out the row. */
export const SKIP_ROW = "skip";

/** Returns a trigger for each engine. In PostgreSQL its statements are in a function of the same name. */
export function rowTrigger({ name, event, when, body }: RowTrigger): Logic[] {
  const isSkip = body === SKIP_ROW;
  const statements = isSkip ? "RETURN NULL;" : body;
  return [
    {
      name,
      engine: "sqlite",
      sql: `CREATE TRIGGER ${name} ${event}${when === undefined ? "" : `\nWHEN ${when}`}
BEGIN
  ${isSkip ? "SELECT RAISE(IGNORE);" : body}
END`,
    },
    {
      name,
      engine: "postgres",
      sql: [
        `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $trigger$
BEGIN
  ${when === undefined ? statements : `IF ${when} THEN\n  ${statements}\n  END IF;`}
  RETURN NEW;
END $trigger$`,
        `CREATE TRIGGER ${name} ${event} FOR EACH ROW EXECUTE FUNCTION ${name}()`,
      ],
    },
  ];
}
