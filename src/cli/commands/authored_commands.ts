import type { Connection } from "../../client/mod.ts";
import { PAGE_SIZES } from "../../contract/limits.ts";
import { AUDIT_KINDS } from "../../contract/values.ts";
import type { UnknownName } from "../../contract/budgets/budget_state.ts";
import { PurserError } from "../../kernel/errors.ts";
import { nearestName } from "../../kernel/nearest_name.ts";
import { withoutUndefined } from "../../kernel/records.ts";
import {
  arg,
  type ArgSpec,
  type Command,
  type CommandContext,
  flag,
  option,
  type OptionSpec,
} from "../command.ts";
import { readId } from "../parse/command_id.ts";
import type { Options } from "../parse/options.ts";
import { UsageError } from "../parse/usage_error.ts";
import { describeUnknown } from "../render/describe_budget.ts";
import { type Answer, printAnswer } from "../render/print_answer.ts";
import { escapeText } from "../terminal/escape_text.ts";

/*
 * The commands of what people write and name: alert rules, budgets, API keys and agents. A verb means the same for each: list,
 * show, add, set, enable, disable, remove.
 */

export type Api = Connection["api"];

/** `purser audit` */
export const audit: Command = {
  name: "audit",
  args: [],
  summary: "List who has changed limits, rules, keys and prices",
  detail:
    "Newest first. An entry is written together with its change, and is kept for good. BY is the API key, or the user and the host of a command on a local database, or code: a program or its config. WHEN is as in purser cost. --json has the address of the client, and all fields before and after.",
  options: {
    subject: option("NAME", "Only changes of what has this name or id"),
    by: option("NAME", "Only changes by this API key, user@host, or code"),
    kind: option("KIND", "Only changes of these", { oneOf: AUDIT_KINDS }),
    since: option("WHEN", "Only changes since WHEN", { some: ["24h", "today", "yesterday", "week"] }),
    until: option("WHEN", "Only changes before WHEN"),
    limit: option("N", `Maximum number of changes, 1 to ${PAGE_SIZES.audit.max} (default 20)`),
  },
  examples: [
    ["purser audit --since week", ""],
    ["purser audit --subject Day", "Of one budget"],
    ["purser audit --by anna --kind budget --json", "With the fields before and after"],
  ],
  isReadOnly: true,
  run: async (ctx) => await (await import("./audit/list_audit.ts")).listAudit(ctx),
};

/** `purser apply FILE` */
export const apply: Command = {
  name: "apply",
  args: [arg("FILE", { isFile: true })],
  summary: "Change limits, keys and agents to those of a file",
  detail:
    "FILE is JSON with comments: keys, agents, budgets, rules and prices, each a list with the fields of the API, which are identified by their names, and prices by model, tier and day. It shows what would change and asks, then changes all of it or nothing. " +
    "A field that is left out has its default, and what FILE doesn't name stays. --prune also removes what an earlier file of the same label has created: of label in FILE, else of its name. " +
    "The text of a new key is printed once. With --dry-run, the exit code is 6 if something would change.",
  options: {
    "dry-run": flag("Show what would change, without writing"),
    prune: flag("Remove what an earlier file of this label has created, and FILE doesn't name"),
    yes: flag("Don't ask"),
    "show-keys": flag("With --json, print the text of new keys too"),
  },
  examples: [
    ["purser apply team.json --dry-run", ""],
    ["purser apply team.json --prune --yes", "For example after each merge to main"],
  ],
  run: async (ctx) => await (await import("./apply/apply_file.ts")).applyFile(ctx),
};

/** Rules, budgets, keys or agents, as their commands know them. */
export interface Kind {
  /** The first word of its commands: `alerts`. */
  group: string;
  /** In messages: `rule`; with its article where its name is looked up: `an alert rule`. */
  noun: string;
  one: string;
  arg: ArgSpec;
  /** Returns whether a text is an id; anything else is looked up as a name. */
  isId(text: string): boolean;
  /** Lists those that have a name, or all where none has it: the name may be misspelled. */
  listNamed(api: Api, name: string): Promise<readonly { id: string; name: string }[]>;
  remove(api: Api, id: string): Promise<unknown>;
}

/** The number of ids that the refusal of an ambiguous name lists. */
const MAX_LISTED = 10;

/**
 * Returns the id of what a command has as its argument: its id, or its name where no other has it.
 *
 * @throws {PurserError} `not_found`, with the nearest name
 * @throws {UsageError} where several have the name
 */
export async function findId(ctx: CommandContext, kind: Kind): Promise<string> {
  const text = ctx.args[0]!;
  if (kind.isId(text)) return readId(ctx);
  const { api } = await ctx.connect();
  const all = text.trim() === "" ? [] : await kind.listNamed(api, text);
  const ids = all.filter(({ name }) => name === text).map(({ id }) => id);
  if (ids.length === 1) return ids[0]!;
  if (ids.length > 1) {
    const more = ids.length > MAX_LISTED ? ` and ${ids.length - MAX_LISTED} more` : "";
    throw new UsageError(
      `Cannot use the name ${
        JSON.stringify(text)
      }: ${ids.length} ${kind.noun}s have it; give the id of one: ` +
        escapeText(ids.slice(0, MAX_LISTED).join(", ")) + more,
      ctx.options.command,
    );
  }
  const near = nearestName(text, all.map(({ name }) => name));
  throw new PurserError(
    "not_found",
    `Cannot find ${kind.one} named ${JSON.stringify(text)}; ${
      near === undefined ? `purser ${kind.group} list shows all` : `did you mean ${JSON.stringify(near)}?`
    }`,
  );
}

/** Sends a request about what the argument names; an id that is not found is refused with the nearest name, or with the list. */
export async function withNearest<Result>(
  ctx: CommandContext,
  kind: Kind,
  send: (api: Api, id: string) => Promise<Result>,
): Promise<Result> {
  const id = await findId(ctx, kind);
  const { api } = await ctx.connect();
  try {
    return await send(api, id);
  } catch (error) {
    const named = await nameNearest(ctx, kind, error);
    if (named !== error || ctx.isJson || !(error instanceof PurserError) || error.code !== "not_found") {
      throw named;
    }
    throw new PurserError("not_found", `${escapeText(error.message)}; purser ${kind.group} list shows all`, {
      cause: error,
    });
  }
}

/** Returns the error of an id that is not found with the nearest name, and any other error as it is. */
export async function nameNearest(ctx: CommandContext, kind: Kind, error: unknown): Promise<unknown> {
  if (ctx.isJson || !(error instanceof PurserError) || error.code !== "not_found") return error;
  const { api } = await ctx.connect();
  const id = ctx.args[0]!;
  // The key of a command that runs agents may not list them.
  const names = (await kind.listNamed(api, id).catch(() => [])).map(({ name }) => name);
  const near = names.includes(id) ? undefined : nearestName(id, names);
  if (near === undefined) return error;
  return new PurserError("not_found", `${escapeText(error.message)}; did you mean ${near}?`, {
    cause: error,
  });
}

/** The texts of a command's own help. */
type Texts = Pick<Command, "examples" | "detail">;
type RemovalTexts = Texts & { summary: string; done: string };

/** `remove`. The API's response has no body, so `--json` prints nothing. */
export function removeCommand(
  kind: Kind,
  { done, ...texts }: RemovalTexts,
): Command {
  return {
    name: `${kind.group} remove`,
    args: [kind.arg],
    options: {},
    needsDatabase: true,
    run: async (ctx) => {
      const id = await withNearest(ctx, kind, async (api, id) => {
        await kind.remove(api, id);
        return id;
      });
      if (!ctx.isJson) ctx.print(`Removed ${kind.noun} ${id}; ${done}`);
    },
    ...texts,
  };
}

/** A kind whose fields are options of `add` and `set`, and that can be disabled. */
export interface EditableKind<Item extends { name: string; enabled: boolean }, Input> extends Kind {
  fields: Readonly<Record<string, OptionSpec>>;
  /** Further options of `set`, such as those that undo one. */
  undo?: Readonly<Record<string, OptionSpec>>;
  /** The options that `add` needs, by those that are given. */
  required(options: Options): readonly string[];
  /** Options to name where none is given. */
  suchAs: string;
  /** Reads the fields that are given. Throws a `UsageError` that names the option. */
  readFields(options: Options, now: number): Partial<Input>;
  add(api: Api, input: Input): Promise<Answer<Item>>;
  change(api: Api, id: string, changes: Partial<Input>): Promise<Answer<Item>>;
  idOf(item: Item): string;
  describe(item: Item): string;
}

type AnyItem = { name: string; enabled: boolean; unknown?: UnknownName | undefined };

/** The commands that change what is of a kind: add, set, enable, disable and remove. */
export function editCommands<Item extends AnyItem, Input>(
  kind: EditableKind<Item, Input>,
  texts: Record<"add" | "set" | "enable" | "disable", Texts> & { remove: RemovalTexts },
): Command[] {
  const { group, noun, one, fields, suchAs } = kind;

  /** Prints what was done, and warns of a name that is probably misspelled. */
  async function print(ctx: CommandContext, verb: string, answer: Answer<Item>): Promise<void> {
    let unknown: string | undefined;
    await printAnswer(ctx, answer, (item) => {
      unknown = describeUnknown(item);
      return escapeText(`${verb} ${noun} ${kind.idOf(item)} ${item.name}: ${kind.describe(item)}`);
    });
    if (unknown) ctx.warn(escapeText(unknown));
  }

  function switchTo(enabled: boolean): Command {
    const verb = enabled ? "Enable" : "Disable";
    return {
      name: `${group} ${verb.toLowerCase()}`,
      args: [kind.arg],
      summary: `${verb} ${one}`,
      options: {},
      needsDatabase: true,
      run: async (ctx) => {
        const id = await findId(ctx, kind);
        const { api } = await ctx.connect();
        const answer = await kind.change(api, id, { enabled } as unknown as Partial<Input>);
        await printAnswer(
          ctx,
          answer,
          (item) => escapeText(`${verb}d ${noun} ${kind.idOf(item)} ${item.name}`),
        );
      },
      ...texts[enabled ? "enable" : "disable"],
    };
  }

  return [
    {
      name: `${group} add`,
      args: [],
      summary: `Add ${one}`,
      options: { ...fields, disabled: flag(`Add the ${noun} disabled`) },
      run: async (ctx) => {
        const missing = kind.required(ctx.options).filter((name) => !ctx.options.has(name)).map((name) =>
          `--${name}`
        );
        if (missing.length > 0) {
          throw new UsageError(`Cannot add a ${noun} without ${missing.join(", ")}`, ctx.options.command);
        }
        const input = withoutUndefined(kind.readFields(ctx.options, ctx.clock.now())) as Input;
        const { api } = await ctx.connect();
        await print(ctx, "Added", await kind.add(api, input));
      },
      ...texts.add,
    },
    {
      name: `${group} set`,
      args: [kind.arg],
      summary: `Change ${one}`,
      options: {
        ...fields,
        ...kind.undo,
        enabled: flag(`Enable the ${noun}`),
        disabled: flag(`Disable the ${noun}`),
      },
      needsDatabase: true,
      run: async (ctx) => {
        const changes = withoutUndefined(kind.readFields(ctx.options, ctx.clock.now())) as Partial<Input>;
        if (Object.keys(changes).length === 0) {
          throw new UsageError(
            `Cannot change a ${noun} without an option, such as ${suchAs}`,
            ctx.options.command,
          );
        }
        const id = await findId(ctx, kind);
        const { api } = await ctx.connect();
        await print(ctx, "Changed", await kind.change(api, id, changes));
      },
      ...texts.set,
    },
    switchTo(true),
    switchTo(false),
    removeCommand(kind, texts.remove),
  ];
}

/** A command under a name that it had before. */
export function earlierName(name: string, command: Command): Command {
  return { ...command, name, deprecated: `purser ${command.name}` };
}
