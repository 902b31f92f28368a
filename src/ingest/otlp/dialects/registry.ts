import type { InstrumentationScope } from "../records.ts";
import { CODING_AGENTS } from "./coding_agents.ts";
import {
  AI_SDK,
  AI_SDK_RULES,
  GEN_AI,
  GEN_AI_RULES,
  OPENINFERENCE,
  OPENINFERENCE_RULES,
  TRACELOOP,
  TRACELOOP_CALL,
} from "./conventions.ts";
import type { Dialect, Fields, Rule } from "./dialect.ts";
import { FRAMEWORKS } from "./frameworks.ts";
import { INSTRUMENTATIONS } from "./instrumentations.ts";

/** Every known dialect; the first one whose scope matches reads a record. */
export const DIALECTS: readonly Dialect[] = [...CODING_AGENTS, ...FRAMEWORKS, ...INSTRUMENTATIONS];

const by = (fields: Fields, rules: readonly Rule[]) => rules.map((rule) => ({ ...rule, fields }));

/** Scopes that none knows are read by the conventions that they follow. */
export const CONVENTIONS: Dialect = {
  name: "conventions",
  seen: "semantic-conventions-genai, 2026-06",
  shownBy: "https://github.com/open-telemetry/semantic-conventions-genai",
  scope: /^/,
  rules: [
    ...by(GEN_AI, GEN_AI_RULES),
    ...by(OPENINFERENCE, OPENINFERENCE_RULES),
    ...by(AI_SDK, AI_SDK_RULES),
    ...by(TRACELOOP, [TRACELOOP_CALL]),
  ],
  fields: GEN_AI,
  texts: { "ai.response.providerMetadata": "json", "output.value": "json" },
  holes: [],
};

/** The attributes whose fields are read: of all others, long ones are contents. */
export const PARSED_ATTRIBUTES: ReadonlySet<string> = new Set(
  [...DIALECTS, CONVENTIONS].flatMap(({ texts = {} }) => Object.keys(texts)),
);

/** Returns the texts and the keys of a table, which all names of its attributes are among. */
const namesIn = (table: unknown): string[] =>
  typeof table === "object"
    ? Object.entries(table ?? {}).flatMap(([key, value]) => [key, ...namesIn(value)])
    : [String(table)];

/** The attributes of records that are read: all others are left out. */
export const READ_ATTRIBUTES: ReadonlySet<string> = new Set([
  ...namesIn([...DIALECTS, CONVENTIONS]),
  ..."error.type event.name gen_ai.conversation.id gen_ai.response.finish_reasons session.id success".split(
    " ",
  ),
  ..."logfire.span_type purser.call.id".split(" "),
]);

/** Purser's own spans. */
const OWN_SCOPE = /^purser$/;

/** The dialects of the scopes that were met, by name and version. */
const found = new Map<string, Dialect | undefined>();
const MAX_FOUND = 1_000;

/** Returns the dialect of a scope; undefined for Purser's own, whose calls are in the ledger. */
export function dialectOf(
  { name, version }: Pick<InstrumentationScope, "name" | "version">,
): Dialect | undefined {
  const key = `${name}@${version}`;
  if (found.has(key)) return found.get(key);
  const dialect = OWN_SCOPE.test(name)
    ? undefined
    : DIALECTS.find((one) => one.scope.test(name) && (one.version?.test(version) ?? true)) ?? CONVENTIONS;
  if (found.size >= MAX_FOUND) found.clear();
  found.set(key, dialect);
  return dialect;
}
