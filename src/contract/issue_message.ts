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

/** Messages that zod writes for a schema without a message of its own. */
const DEFAULT = /^(?:Invalid |Too (?:small|big): |Unrecognized )/;

const TYPES: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};

const UNITS: Readonly<Record<string, string>> = { string: "character", array: "item" };
const TIME_RULE = "must be an ISO 8601 time, such as 2026-11-21T09:30:00.000Z";

/** Returns an issue's message in plain words: the fault, and the expected form. It repeats no part of the value. */
export function plainMessage(issue: SchemaIssue): string {
  if (!DEFAULT.test(issue.message)) return issue.message;
  const expected = expectedOf(issue);
  return expected === undefined ? issue.message : [givenOf(issue) ?? [], expected].flat().join(", ");
}

function expectedOf(issue: SchemaIssue): string | undefined {
  const { code, values = [], minimum, maximum, inclusive = true } = issue;
  switch (code) {
    case "invalid_type":
      return TYPES[String(issue.expected)] && `must be ${TYPES[String(issue.expected)]}`;
    case "invalid_value":
      return `must be ${values.length > 1 ? "one of " : ""}${values.join(", ")}`;
    case "too_small":
      if (unitOf(issue) === undefined) return `must be ${inclusive ? "at least" : "greater than"} ${minimum}`;
      return minimum === 1 ? "must not be empty" : `must have at least ${unitOf(issue, minimum)}`;
    case "too_big":
      if (unitOf(issue) === undefined) return `must be ${inclusive ? "at most" : "less than"} ${maximum}`;
      return `must have at most ${unitOf(issue, maximum)}`;
    case "invalid_format":
      return issue.format === "datetime" ? TIME_RULE : undefined;
    case "invalid_union":
      return "has none of the possible forms";
  }
}

/** Returns a limit with its unit, such as `3 characters`, for a value with too many or too few; undefined for a number. */
function unitOf({ origin }: SchemaIssue, count?: unknown): string | undefined {
  const unit = UNITS[String(origin)];
  return unit && `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** Returns the kind of the refused value, if its kind is wrong. */
function givenOf(issue: SchemaIssue): string | undefined {
  const { code, expected, message, input, values = [] } = issue;
  let [, kind = ""] = /received (\w+)$/.exec(message) ?? [];
  if (
    code === "invalid_value" && "input" in issue && !values.some((value) => typeof value === typeof input)
  ) {
    kind = input === null ? "null" : Array.isArray(input) ? "array" : typeof input;
  }
  if (kind === "undefined" || ("input" in issue && input === undefined)) return "is missing";
  // Of a whole number, only its fraction is wrong.
  return TYPES[kind] && (kind !== "number" || expected !== "int") ? `is ${TYPES[kind]}` : undefined;
}
