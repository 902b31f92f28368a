/** An issue as zod has it. */
export interface SchemaIssue {
  code?: string | undefined;
  path: readonly PropertyKey[];
  message: string;
  keys?: readonly PropertyKey[];
  expected?: unknown;
  values?: readonly unknown[];
  origin?: unknown;
  format?: unknown;
  minimum?: unknown;
  maximum?: unknown;
  inclusive?: boolean | undefined;
  /** The refused value, if it is reported. */
  input?: unknown;
}

/** Messages that zod writes where a schema has none of its own. */
const DEFAULT = /^(?:Invalid |Too (?:small|big): |Unrecognized )/;

const TYPES: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  bigint: "a whole number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  set: "a list",
  object: "an object",
  record: "an object",
  map: "an object",
  null: "null",
};

const FORMATS: Readonly<Record<string, string>> = {
  datetime: "must be an ISO 8601 time, such as 2026-11-21T09:30:00.000Z",
  date: "must be a date, such as 2026-11-21",
  url: "must be a URL",
  email: "must be a mail address",
};

/** Returns an issue's message in plain words: what is wrong, and what is expected. It has no part of the value. */
export function plainMessage(issue: SchemaIssue): string {
  if (!DEFAULT.test(issue.message)) return issue.message;
  const expected = expectedOf(issue);
  if (expected === undefined) return issue.message;
  const given = givenOf(issue);
  return given === undefined ? expected : `${given}, ${expected}`;
}

function expectedOf(issue: SchemaIssue): string | undefined {
  const { code, values = [], minimum, maximum, inclusive = true } = issue;
  const texts = values.map(String);
  switch (code) {
    case "invalid_type":
      return TYPES[String(issue.expected)] && `must be ${TYPES[String(issue.expected)]}`;
    case "invalid_value":
      return `must be ${texts.length > 1 ? "one of " : ""}${texts.join(", ")}`;
    case "too_small":
      if (unitOf(issue) === undefined) return `must be ${inclusive ? "at least" : "greater than"} ${minimum}`;
      return minimum === 1 ? "must not be empty" : `must have at least ${unitOf(issue, minimum)}`;
    case "too_big":
      if (unitOf(issue) === undefined) return `must be ${inclusive ? "at most" : "less than"} ${maximum}`;
      return `must have at most ${unitOf(issue, maximum)}`;
    case "invalid_format":
      return FORMATS[String(issue.format)];
    case "invalid_union":
      return "has none of the possible forms";
  }
}

/** Returns a number of what a value has too many or too few of; undefined of a number itself. */
function unitOf({ origin }: SchemaIssue, count?: unknown): string | undefined {
  const unit = origin === "string"
    ? "character"
    : origin === "array" || origin === "set"
    ? "item"
    : undefined;
  return unit && `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** Returns the kind of a value that none of the allowed ones has. */
function kindBeside(input: unknown, values: readonly unknown[]): string | undefined {
  if (values.some((value) => typeof value === typeof input)) return undefined;
  const kind = input === null ? "null" : Array.isArray(input) ? "array" : typeof input;
  return TYPES[kind] && `is ${TYPES[kind]}`;
}

/** Returns the kind of the refused value, where that is what is wrong. */
function givenOf(issue: SchemaIssue): string | undefined {
  if ("input" in issue && issue.input === undefined) return "is missing";
  if (issue.code === "invalid_value" && "input" in issue) return kindBeside(issue.input, issue.values ?? []);
  const [, received] = /received (\w+)$/.exec(issue.message) ?? [];
  if (received === "undefined") return "is missing";
  // Only its fraction or its size is wrong.
  if (received === undefined || (received === "number" && issue.expected === "int")) return undefined;
  return TYPES[received] && `is ${TYPES[received]}`;
}
