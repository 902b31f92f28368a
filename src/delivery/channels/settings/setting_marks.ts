import type { ZodType } from "zod";

/** What a plugin's schema says of a setting by `.meta({…})`. */
export interface SettingMark {
  /**
   * `true`: the whole value is secret. `"url"`: its host may be shown, the rest is secret, as with incoming
   * webhooks, whose path is their password.
   */
  secret?: true | "url";
  /** Whether `{"file": "…"}` may stand for it though it is not secret. */
  fromFile?: true;
  /** Whether the schema has a place for a single value here; a text where a list belongs may be a secret. */
  isKnown: boolean;
}

/** The part of a zod schema that is looked at here; every kind of schema has some of it. */
interface Definition {
  type: string;
  innerType?: ZodType;
  element?: ZodType;
  valueType?: ZodType;
  catchall?: ZodType;
  shape?: Readonly<Record<string, ZodType>>;
  options?: readonly ZodType[];
  items?: readonly ZodType[];
  getter?: () => ZodType;
  in?: ZodType;
  out?: ZodType;
  left?: ZodType;
  right?: ZodType;
}

const definitionOf = (schema: ZodType) => schema._zod.def as unknown as Definition;

/**
 * Copies settings, with each value replaced by what `visit` makes of it; undefined leaves it, and goes on
 * with its parts. `visit` learns what the schema says of the value. A mark holds for all the parts, too.
 */
export function mapSettings(
  value: unknown,
  schema: ZodType | undefined,
  visit: (value: unknown, mark: SettingMark) => unknown,
): unknown {
  return map(value, schema ? [schema] : [], undefined);

  function map(value: unknown, schemas: readonly ZodType[], above: SettingMark["secret"]): unknown {
    const candidates = schemas.flatMap((schema) => alternatives(schema));
    const marks = candidates.map((schema) => (schema.meta() ?? {}) as Partial<SettingMark>);
    const secret = marks.some((mark) => mark.secret === true)
      ? true
      : marks.find((mark) => mark.secret)?.secret ?? above;
    const mark: SettingMark = {
      isKnown: candidates.some(takesSingleValue),
      ...(secret && { secret }),
      ...(marks.some(({ fromFile }) => fromFile) && { fromFile: true }),
    };
    const visited = visit(value, mark);
    if (visited !== undefined) return visited;
    if (Array.isArray(value)) {
      return value.map((item, index) => map(item, candidates.flatMap((s) => itemOf(s, index)), secret));
    }
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, part]) => [
        key,
        map(part, candidates.flatMap((candidate) => partOf(candidate, key)), secret),
      ]),
    );
  }
}

/** A schema with all that it is made of on the same level: what it wraps, unites or pipes. */
function alternatives(schema: ZodType): ZodType[] {
  const { type, innerType, options, in: from, out, left, right, getter } = definitionOf(schema);
  const inner = [
    innerType,
    from,
    out,
    left,
    right,
    ...(options ?? []),
    type === "lazy" ? getter?.() : undefined,
  ];
  return [schema, ...inner.flatMap((one) => one ? alternatives(one) : [])];
}

/** Whether a schema takes a text, a number or the like by itself. */
function takesSingleValue(schema: ZodType): boolean {
  const { type, innerType, options, in: from, left, element, valueType, shape, items } = definitionOf(schema);
  return type !== "lazy" &&
    [innerType, options, from, left, element, valueType, shape, items].every((part) => part === undefined);
}

function itemOf(schema: ZodType, index: number): ZodType[] {
  const { element, items } = definitionOf(schema);
  return [element, items?.[index]].filter((one) => one !== undefined);
}

function partOf(schema: ZodType, key: string): ZodType[] {
  const { shape, valueType, catchall } = definitionOf(schema);
  const own = shape && Object.hasOwn(shape, key) ? shape[key] : catchall;
  return [own, valueType].filter((one) => one !== undefined);
}
