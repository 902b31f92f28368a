import { quoteForShell } from "../../kernel/quote_for_shell.ts";

/** A field of a resource that its author sets, as a form shows it and as an option of its command. */
export interface Field {
  /** Its name in the API. */
  name: string;
  label: string;
  kind: keyof typeof KINDS;
  /** Said below it. */
  hint?: string;
  /** The values of `choice` and `several`. Of `choice`, '' is none. */
  choices?: readonly string[];
  isRequired?: true;
  /** Of a new one only: it can't be changed. */
  isFixed?: true;
  /** Stands under "More", as most people leave it as it is. */
  isRare?: true;
  /** Always has a value: that of the server, if it is left empty. */
  hasDefault?: true;
  /** The value of a new one that has no other. */
  initial?: unknown;
  /** The option of the command, with what undoes it; `agent_id` and `warn_at` have `--agent` and `--warn-at`. An argument has none. */
  option?: { name: string; undo?: string } | "argument";
}

/** A kind of fields: the text of a value in a form, and back. What isn't a value is left to the API, which says why. */
interface Kind {
  toText(value: never): string;
  toValue(text: string): unknown;
}

const lines = (text: string) => text.split("\n").map((line) => line.trim()).filter(Boolean);

const list: Kind = {
  toText: (values: readonly string[]) => values.join("\n"),
  toValue: (text) => text === "" ? null : lines(text),
};

export const KINDS = {
  text: { toText: String, toValue: (text) => text === "" ? null : text },
  choice: { toText: String, toValue: (text) => text === "" ? null : text },
  number: { toText: String, toValue: (text) => text === "" ? null : Number(text) },
  flag: { toText: (isSet: boolean) => isSet ? "true" : "", toValue: (text) => text !== "" },
  several: list,
  lines: list,
  /** `user=anna`, one a line. */
  tags: {
    toText: (tags: Readonly<Record<string, string>>) =>
      Object.entries(tags).map(([key, value]) => `${key}=${value}`).join("\n"),
    toValue: (text) =>
      Object.fromEntries(
        lines(text).map((line) => {
          const [key, ...rest] = line.split("=");
          return [key!.trim(), rest.join("=").trim()];
        }),
      ),
  },
  /** `80%, 100%`. */
  shares: {
    toText: (shares: readonly number[]) =>
      shares.map((share) => `${Number((share * 100).toFixed(6))}%`).join(", "),
    toValue: (text) =>
      text === ""
        ? []
        : text.split(",").map((part) =>
          part.trim().endsWith("%") ? Number((parseFloat(part) / 100).toFixed(8)) : Number(part)
        ),
  },
  date: { toText: String, toValue: (text) => text === "" ? null : text },
  /** A day, which begins at midnight UTC. */
  day: {
    toText: (time: string) => time.slice(0, 10),
    toValue: (text) => text === "" ? null : `${text}T00:00:00.000Z`,
  },
} as const satisfies Record<string, Kind>;

/** Returns the text of a value of a field; '' of none. */
export function textOfValue({ kind }: Field, value: unknown): string {
  return value == null ? "" : (KINDS[kind] as Kind).toText(value as never);
}

/** Returns the value of the text of a field. */
export function valueOfText({ kind }: Field, text: string): unknown {
  return KINDS[kind].toValue(text);
}

/** Returns the text of a field in a form that was filled in. */
export function textIn({ name }: Field, form: FormData): string {
  return form.getAll(name).join("\n").trim();
}

/** Returns the fields of a form that were filled in, with their texts. */
export function filledIn(fields: readonly Field[], form: FormData): { field: Field; text: string }[] {
  return fields.map((field) => ({ field, text: textIn(field, form) })).filter(({ text }) => text !== "");
}

/** Returns the words of a command that give a field its text, in place of one before. */
function wordsOf(field: Field, text: string, before = ""): string[] {
  if (field.option === "argument") return [];
  const usual = field.name.replace(/_id$/, "").replaceAll("_", "-");
  const { name, undo } = field.option ?? { name: usual, undo: undefined };
  const option = `--${name}`;
  switch (field.kind) {
    case "flag":
      return [text === "" ? `--${undo}` : option];
    case "tags":
    case "lines":
    case "several": {
      // What undoes a tag takes its key; where nothing does, the option replaces all of them.
      const [kept, given] = [lines(before), lines(text)];
      const keys = Object.keys(KINDS.tags.toValue(text) as object);
      const gone = undo ? kept.map((line) => line.split("=")[0]!).filter((key) => !keys.includes(key)) : [];
      const added = undo ? given.filter((line) => !kept.includes(line)) : given;
      return [
        ...added.flatMap((line) => [option, line]),
        ...gone.flatMap((key) => [`--${undo}`, key]),
        ...!undo && given.length === 0 ? [option, "none"] : [],
      ];
    }
    case "shares":
      return [option, text.replaceAll(/\s/g, "") || "none"];
    default:
      return [option, text || "none"];
  }
}

/** The command of a resource: `purser budgets add`, or `set`, with its argument. */
export function commandOf(
  group: string,
  verb: string,
  argument: string | undefined,
  changed: readonly { field: Field; text: string; before?: string }[],
): string {
  const options = changed.flatMap(({ field, text, before }) => wordsOf(field, text, before));
  return ["purser", group, verb, ...argument === undefined ? [] : [argument], ...options].map(quoteForShell)
    .join(
      " ",
    );
}
