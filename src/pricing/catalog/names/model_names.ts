import type { MatchClause, ModelPrices } from "../price_data.ts";

/** The names that a clause gives, in lower case. */
export interface ClauseNames {
  /** Whole names. */
  exact: string[];
  /** Names that the data also matches with something behind them. */
  stems: string[];
  /** Names that the data also matches with something before them. */
  inner: string[];
  /** The beginning of names, up to and into a date: `gpt-6-sol-`. */
  begun: string[];
}

/** Reads the names from the logic of a model: a beginning or a part of a name in the data is taken as a name of its own. */
export function namesOf(clause: MatchClause): ClauseNames {
  const names: ClauseNames = { exact: [], stems: [], inner: [], begun: [] };
  collect(clause, names);
  return names;
}

function collect(clause: MatchClause, names: ClauseNames): void {
  if ("equals" in clause) names.exact.push(clause.equals.toLowerCase());
  else if ("starts_with" in clause) names.stems.push(clause.starts_with.toLowerCase());
  else if ("contains" in clause) {
    names.stems.push(clause.contains.toLowerCase());
    names.inner.push(clause.contains.toLowerCase());
  } else if ("ends_with" in clause) {
    // "/us.moonshotai.kimi-k3" is the end of a path.
    const name = clause.ends_with.toLowerCase().replace(/^\//, "");
    names.exact.push(name);
    names.inner.push(name);
  } else if ("regex" in clause) collectRegex(clause.regex, names);
  else if ("or" in clause) { for (const one of clause.or) collect(one, names); }
  else {
    // Of several conditions at once, the beginning is the name; the others exclude names, which no alias is.
    for (const one of clause.and) if ("starts_with" in one) collect(one, names);
  }
}

const DATE_AT_END = /(?:-|@|\[-@\])(?:\\d\{8\}|\\d\{4\}-\\d\{2\}-\\d\{2\})\$$/;
const OPTIONAL_DATE_AT_END = /\(-\\d\{8\}\)\?\$$/;

/** Takes an expression for one literal name, or for its dated aliases; any other matches nothing. */
function collectRegex(source: string, names: ClauseNames): void {
  if (!source.startsWith("^") || !source.endsWith("$")) return;
  const hasDate = DATE_AT_END.test(source);
  const body = source.slice(1).replace(OPTIONAL_DATE_AT_END, "$").replace(DATE_AT_END, "$").slice(0, -1);
  const optional = /^\(([^()|]+)\)\?(.*)$/.exec(body);
  const bodies = optional ? [optional[2]!, optional[1]! + optional[2]!] : [body];
  for (const one of bodies) {
    const name = one.replace(/\\([^\w])/g, "$1").toLowerCase();
    const isLiteral = /^(?:[^\\.*+?^${}()|[\]]|\\[^\w])+$/.test(one);
    if (isLiteral) (hasDate ? names.begun : names.exact).push(hasDate ? `${name}-` : name);
  }
}

/** The models of one provider by name. */
export interface NameIndex {
  exact: ReadonlyMap<string, ModelPrices>;
  /** Names of `exact` with which others may begin. */
  stems: ReadonlySet<string>;
  /** Names of `exact` that may stand behind a region and a vendor. */
  inner: ReadonlySet<string>;
  begun: readonly { name: string; model: ModelPrices }[];
}

/** Indexes models; of several with one name, the exact names win, then the ids, then the order of the data. */
export function indexNames(models: readonly ModelPrices[]): NameIndex {
  const exact = new Map<string, ModelPrices>();
  const stems = new Set<string>();
  const inner = new Set<string>();
  const begun: { name: string; model: ModelPrices }[] = [];
  const read = models.map((model) => ({ model, names: namesOf(model.match) }));
  const add = (name: string, model: ModelPrices) => {
    if (!exact.has(name)) exact.set(name, model);
    return exact.get(name) === model;
  };
  for (const { model, names } of read) for (const name of names.exact) add(name, model);
  for (const { model } of read) add(model.id.toLowerCase(), model);
  for (const { model, names } of read) {
    for (const name of names.stems) {
      if (add(name, model)) stems.add(name);
      begun.push({ name, model });
    }
    for (const name of names.begun) begun.push({ name, model });
    for (const name of names.inner) inner.add(name);
  }
  return { exact, stems, inner, begun };
}
