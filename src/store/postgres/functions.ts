/** A function of SQL that the planner inlines. */
const define = (signature: string, returns: string, body: string, volatility = "IMMUTABLE") =>
  `CREATE OR REPLACE FUNCTION ${signature} RETURNS ${returns} LANGUAGE sql ${volatility} PARALLEL SAFE AS $$ ${body} $$;`;

const operator = (name: string, left: string, right: string, procedure: string) =>
  `DO $$ BEGIN CREATE OPERATOR ${name} (LEFTARG = ${left}, RIGHTARG = ${right}, FUNCTION = ${procedure});
EXCEPTION WHEN duplicate_function THEN NULL; END $$;`;

/*
 * Escapes in JSON that are no characters of a text in PostgreSQL, which reads no field of JSON that has one anywhere: NUL, and
 * half a surrogate pair. A backslash before them that isn't escaped itself makes them plain text.
 */
const [HIGH, LOW] = ["[dD][89abAB]", "[dD][c-fC-F]"].map((digits) => String.raw`\\u${digits}[0-9a-fA-F]{2}`);
const replaceEscapes = (text: string, escapes: string) =>
  String.raw`regexp_replace(${text}, '(?<!\\)((?:\\\\)*)${escapes}', '\1\\ufffd', 'g')`;
const READABLE = String.raw`CASE WHEN strpos($1, '\u') = 0 THEN $1 ELSE ${
  replaceEscapes(replaceEscapes("$1", String.raw`(?:\\u0000|${HIGH}(?!${LOW}))`), `(?<!${HIGH})${LOW}`)
} END`;

/**
 * The functions of SQLite that PostgreSQL lacks, as far as statements use them. Names of arguments are positions: `$1`. Two
 * differ from SQLite's: `json_each` has texts as keys and values, also of an array, and `->>` gives a text. Where JSON escapes
 * NUL or half a surrogate pair, both read U+FFFD.
 */
export const FUNCTIONS: readonly string[] = [
  define(
    "iif(boolean, anycompatible, anycompatible)",
    "anycompatible",
    "SELECT CASE WHEN $1 THEN $2 ELSE $3 END",
  ),
  // NULL if either is, unlike greatest() and least().
  define(
    "max(anycompatible, anycompatible)",
    "anycompatible",
    "SELECT CASE WHEN $1 >= $2 THEN $1 WHEN $1 < $2 THEN $2 END",
  ),
  define(
    "min(anycompatible, anycompatible)",
    "anycompatible",
    "SELECT CASE WHEN $1 <= $2 THEN $1 WHEN $1 > $2 THEN $2 END",
  ),
  define("instr(text, text)", "integer", "SELECT strpos($1, $2)"),
  define("substr(text, bigint)", "text", "SELECT substr($1, $2::integer)"),
  define("substr(text, bigint, bigint)", "text", "SELECT substr($1, $2::integer, $3::integer)"),
  define("hex(bytea)", "text", "SELECT upper(encode($1, 'hex'))"),
  define("hex(text)", "text", "SELECT upper(encode(convert_to($1, 'UTF8'), 'hex'))"),
  // At most 32 bytes.
  define(
    "randomblob(integer)",
    "bytea",
    "SELECT substring(sha256(uuid_send(gen_random_uuid())) FROM 1 FOR $1)",
    "VOLATILE",
  ),
  define("json_of(text)", "json", `SELECT (${READABLE})::json`),
  // Not in SQL, which would be inlined and then taken for 200 rows: a query by a few ids would read whole tables.
  `CREATE OR REPLACE FUNCTION json_each(text) RETURNS TABLE (key text, value text)
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE ROWS 10 AS $$
BEGIN
  IF json_typeof($1::json) = 'array' THEN
    RETURN QUERY SELECT (n - 1)::text, v FROM json_array_elements_text(json_of($1)) WITH ORDINALITY AS a (v, n);
  ELSIF json_typeof($1::json) = 'object' THEN
    RETURN QUERY SELECT k, v FROM json_each_text(json_of($1)) AS o (k, v);
  END IF;
END $$;`,
  // Of a time, the start of its month, or of one so many months later: `'-1 months'`.
  define(
    "unixepoch(bigint, text, text, text DEFAULT '0 months')",
    "bigint",
    "SELECT extract(epoch FROM date_trunc('month', to_timestamp($1) AT TIME ZONE 'UTC') + $4::interval)::bigint",
  ),
  define("json_field(text, text)", "text", "SELECT json_of($1) ->> $2"),
  define("json_item(text, integer)", "text", "SELECT json_of($1) ->> $2"),
  operator("->>", "text", "text", "json_field"),
  operator("->>", "text", "integer", "json_item"),
];
