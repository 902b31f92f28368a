import type { Connection } from "../client/mod.ts";
import { SUBJECT_TAGS, tagKeyOf, type Tags } from "../contract/tags/tags.ts";
import { type Dimension, nameIn } from "../contract/costs/dimensions.ts";
import { systemClock } from "../kernel/clock.ts";
import { loadConfig, openProfiles } from "../config/mod.ts";
import { silentLog } from "../kernel/log.ts";
import { escapeText } from "./terminal/escape_text.ts";
import type { CommandSpec, LiveValue, OptionSpec, Values } from "./command.ts";
import { EXIT } from "./exit_code.ts";
import type { MainOptions } from "./mod.ts";
import { idInPath } from "./parse/command_id.ts";
import { describeRule } from "./render/describe_rule.ts";
import { formatCost } from "./render/format_cost.ts";
import { countOf, formatTime } from "./render/format_values.ts";
import { cutText } from "./terminal/text_width.ts";
import { COMMON_OPTIONS, loadAllCommands, loadCommands } from "./command_table.ts";
import { allOptions, findCommand, optionName } from "./parse/parse_command_line.ts";
import { openConnection } from "./run_command.ts";

/** The timeout of live values: the user is waiting at the prompt. */
const TIMEOUT_MS = 900;

/** Live values without characters that a shell would interpret. */
const SAFE_VALUE = /^[A-Za-z0-9._:-][A-Za-z0-9._:=-]{0,141}$/;

const MAX_DESCRIPTION = 60;

/** The line that asks the script to complete paths, which the shell does itself. */
const FILES = ":files";

/**
 * Prints the completions of the last word, one a line, each with a tab and a description. Errors are silent: it prints
 * the candidates that it has found, within about a second.
 */
export async function completeLine(words: readonly string[], options: MainOptions): Promise<number> {
  const isName = (words.length === 1 || words[0] === "help") && !words.some((word) => word.startsWith("-"));
  const own = isName ? (await import("./listed_commands.ts")).LISTED_COMMANDS : await loadCommands(words[0]);
  const cursor = readCursor(words, own.length > 0 ? own : await loadAllCommands());
  const { values, typed, lead } = cursor;
  const fixed = [...values.oneOf ?? [], ...values.some ?? []].map((value) => ({ value, description: "" }));
  const offers = [...cursor.words, ...fixed, ...await readLive(cursor, options)]
    .filter(({ value }) => value.startsWith(typed));
  const lines = offers.map(({ value, description }) =>
    `${lead}${value}\t${cutText(escapeText(description), MAX_DESCRIPTION)}`
  );
  try {
    options.terminal.stdout.write(
      [...values.isFile ? [FILES] : [], ...lines].map((line) => `${line}\n`).join(""),
    );
  } catch {
    // The shell has closed the pipe.
  }
  return EXIT.done;
}

async function readLive(cursor: Cursor, options: MainOptions): Promise<Offer[]> {
  const { live } = cursor.values;
  if (live === undefined) return [];
  const { clock = systemClock } = options;
  const done = new AbortController();
  const read = (async () => {
    const connection = connectLazily(cursor, options);
    try {
      const readValues = LIVE_VALUES[live] ?? ((ctx: LiveContext) => readUsed(ctx, live as Dimension));
      return await readValues({
        line: cursor.line,
        typed: cursor.typed,
        env: options.env,
        connect: connection.get,
      });
    } finally {
      await connection.close();
    }
  })().catch((): Offer[] => []);
  const offers = await Promise.race([read, clock.sleep(TIMEOUT_MS, done.signal).then((): Offer[] => [])]);
  done.abort();
  return offers.filter(({ value }) => SAFE_VALUE.test(value));
}

/** Returns the connection that the line selects; it is opened by the first call of `get`. */
function connectLazily({ line }: Cursor, { env, connect }: MainOptions) {
  let connection: Promise<Connection> | undefined;
  return {
    get: () =>
      connection ??= (async () => {
        const option = (name: string) => line.options.get(name);
        const config = await loadConfig({
          env,
          options: {
            configPath: option("config"),
            dbUrl: option("db"),
            server: option("server"),
            apiKey: option("api-key"),
            profile: option("profile"),
          },
        });
        return await openConnection(connect, {
          config,
          env,
          log: silentLog,
          isReadOnly: true,
        });
      })(),
    close: async () => await (await connection?.catch(() => undefined))?.close(),
  };
}

/** The context of reading live values. */
interface LiveContext {
  line: TypedLine;
  /** The part of the value before the cursor. */
  typed: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Connects to the server or database that the line selects. */
  connect(): Promise<Connection>;
}

/** The maximum number of values that are offered: typing more of the name narrows them down. */
const LIMIT = "200";

/** Reads each kind of live value; of a dimension that has no entry those of calls. A new kind is an entry here and its name in `LiveValue`. */
const LIVE_VALUES: Readonly<Partial<Record<LiveValue, (ctx: LiveContext) => Promise<Offer[]>>>> = {
  agent: async ({ connect }) => {
    const agents = await (await (await connect()).api.agents.$get({ query: {} })).json();
    return agents.map(({ agent_id, model }) => ({ value: agent_id, description: model }));
  },
  session: async ({ line, connect }) => {
    const { api } = await connect();
    const agent = agentOf(line);
    const query = { limit: LIMIT };
    const answer = agent === undefined
      ? await api.sessions.$get({ query })
      : await api.agents[":agent_id"].sessions.$get({ param: { agent_id: idInPath(agent) }, query });
    return (await answer.json()).map(({ session_id, agent_id, status, updated_at }) => ({
      value: session_id,
      description: `${agent_id}, ${status}, ${updated_at.slice(0, 16).replace("T", " ")}`,
    }));
  },
  rule: async ({ typed, connect }) => {
    const rules = await (await (await connect()).api.alerts.rules.$get({ query: {} })).json();
    const names = rules.map(({ name }) => name);
    return rules.map((rule) => {
      const { rule_id, name, enabled } = rule;
      const isUsable = SAFE_VALUE.test(name) && names.indexOf(name) === names.lastIndexOf(name);
      return isUsable && !typed.startsWith("rule_") && !name.startsWith("rule_")
        ? { value: name, description: describeRule(rule) }
        : { value: rule_id, description: enabled ? name : `${name}, disabled` };
    });
  },
  alert: async ({ connect }) => {
    const { api } = await connect();
    const alerts = await (await api.alerts.history.$get({ query: { limit: LIMIT } })).json();
    return alerts.map(({ alert_id, rule_name, triggered_at }) => ({
      value: alert_id,
      description: `${formatTime(triggered_at)} ${rule_name}`,
    }));
  },
  budget: async ({ connect }) => {
    const { api } = await connect();
    const budgets = await (await api.budgets.$get({ query: { limit: LIMIT } })).json();
    const isUnique = (name: string) => budgets.filter((budget) => budget.name === name).length === 1;
    return budgets.map(({ budget_id, name, limit_usd, per }) => {
      const isShort = SAFE_VALUE.test(name) && isUnique(name);
      return {
        value: isShort ? name : budget_id,
        description: `${isShort ? "" : `${name}, `}${formatCost(limit_usd)} per ${per}`,
      };
    });
  },
  channel: async ({ connect }) => {
    const channels = await (await (await connect()).api.channels.$get({ query: {} })).json();
    return channels.map(({ name, kind }) => ({ value: name, description: kind }));
  },
  key: async ({ connect }) => {
    const { api } = await connect();
    const keys = (await (await api["key-names"].$get({ query: { limit: LIMIT } })).json())
      .filter(({ status }) => status === "active");
    const isUnique = (name: string) => keys.filter((key) => key.name === name).length === 1;
    return keys.map(({ key_id, name }) =>
      SAFE_VALUE.test(name) && isUnique(name) && !name.startsWith("key_")
        ? { value: name, description: key_id }
        : { value: key_id, description: name }
    );
  },
  model: async ({ line, connect }) => {
    const [models, agents] = await Promise.all([
      readUsed({ connect }, "model"),
      connect().then(async ({ api }) => await (await api.agents.$get({ query: {} })).json()),
    ]);
    const used = models.map(({ value, description }) => ({
      value: line.options.has("provider") ? value.slice(value.indexOf(":") + 1) : value,
      description,
    }));
    const named = agents.map(({ agent_id, model }) => ({ value: model, description: agent_id }));
    return [...used, ...named.filter(({ value }) => !used.some((one) => one.value === value))];
  },
  /** The names of tags, then the values of one: `user=`, `user=anna`. */
  tag: async ({ typed, connect }) => {
    const name = typed.slice(0, Math.max(0, typed.indexOf("=")));
    const { api } = await connect();
    // Only an administrator sees the tags of keys.
    const ofKeys: Tags[] = await api.keys.$get({ query: { status: "active", limit: LIMIT } })
      .then(async (answer) => (await answer.json()).map(({ tags }) => tags)).catch(() => []);
    const offer = (values: Iterable<string>) =>
      [...new Set(values)].map((value) => ({ value, description: "" }));
    if (name === "") {
      const used = await (await api.costs["tag-keys"].$get({ query: { limit: LIMIT } })).json();
      const names = [...SUBJECT_TAGS, ...ofKeys.flatMap(Object.keys), ...used.map(({ tag_key }) => tag_key)];
      return offer(names.map((each) => `${each}=`));
    }
    const group = `tag:${name}` as const;
    if (tagKeyOf(group) === undefined) return [];
    const rows = await (await api.costs.$get({ query: { group_by: group, limit: LIMIT } })).json();
    return offer(
      [...rows.map(({ tag_value }) => tag_value), ...ofKeys.map((tags) => tags[name])]
        .flatMap((value) => value == null ? [] : `${name}=${value}`),
    );
  },
  profile: async ({ line, env }) => {
    const profiles = await openProfiles({ env, configPath: line.options.get("config") });
    return (await profiles.list()).map(({ name, server, db }) => ({
      value: name,
      description: server ?? db ?? "",
    }));
  },
};

/** Reads the values of a dimension that calls have, the most expensive first. */
async function readUsed({ connect }: Pick<LiveContext, "connect">, name: Dimension): Promise<Offer[]> {
  const { api } = await connect();
  const rows = await (await api.costs.$get({ query: { group_by: name, limit: LIMIT } })).json();
  return rows.map((row) => ({
    value: nameIn(row, name) ?? "",
    description: countOf(row.model_calls, "call"),
  }));
}

/** Returns the agent that the line names, if any. */
function agentOf({ command, args, options }: TypedLine): string | undefined {
  const index = command?.args.findIndex(({ values }) => values?.live === "agent") ?? -1;
  return options.get("agent") ?? args[index];
}

/** The possible completions at the cursor. */
interface Cursor {
  /** The part of the word that is typed already. */
  typed: string;
  /** The part of the word before the value: `--by=`. */
  lead: string;
  /** The possible values. */
  values: Values;
  /** The possible commands and options. */
  words: readonly Offer[];
  /** The line before the cursor. */
  line: TypedLine;
}

/** A completion and its description. */
interface Offer {
  value: string;
  description: string;
}

/** A partial command line; it may be invalid. */
interface TypedLine {
  command: CommandSpec | undefined;
  /** The arguments after the command's own words. */
  args: readonly string[];
  /** The last value of each option. */
  options: ReadonlyMap<string, string>;
}

/** Returns the completions of the last word, which may be empty. */
export function readCursor(words: readonly string[], commands: readonly CommandSpec[]): Cursor {
  const typed = words.at(-1) ?? "";
  const { positionals, options, waiting, isClosed } = readBefore(words.slice(0, -1), commands);
  const command = positionals[0] === "help" ? undefined : findCommand(positionals, commands);
  const args = command ? positionals.slice(command.name.split(" ").length) : [];
  const cursor: Cursor = { typed, lead: "", values: {}, words: [], line: { command, args, options } };
  if (waiting) return { ...cursor, values: waiting.values ?? {} };

  const assigned = isClosed ? null : /^--([^=]+)=(.*)$/s.exec(typed);
  if (assigned) {
    const [, name, value] = assigned as unknown as [string, string, string];
    const spec = specOf(name, command, commands);
    return { ...cursor, lead: `--${name}=`, typed: value, values: spec?.values ?? {} };
  }
  if (typed.startsWith("-") && !isClosed) return { ...cursor, words: optionsOf(command, options) };
  if (!command) return { ...cursor, words: nextWords(positionals, commands) };
  const last = command.args.at(-1);
  const next = command.args[args.length] ?? (last?.isRepeated ? last : undefined);
  if (next) return { ...cursor, values: next.values ?? {} };
  // After the last argument, options are offered, and the words of longer commands: `cost explain`.
  return { ...cursor, words: [...nextWords(positionals, commands), ...optionsOf(command, options)] };
}

function readBefore(words: readonly string[], commands: readonly CommandSpec[]) {
  const positionals: string[] = [];
  const options = new Map<string, string>();
  let waiting: OptionSpec | undefined;
  let waitingName = "";
  let isClosed = false;
  for (const word of words) {
    const option = isClosed ? null : /^--([^=]+)(?:=(.*))?$/s.exec(word);
    if (waiting) {
      options.set(waitingName, word);
      waiting = undefined;
    } else if (word === "--" && !isClosed) isClosed = true;
    else if (option) {
      const [, name, value] = option as unknown as [string, string, string | undefined];
      const spec = specOf(name, findCommand(positionals, commands), commands);
      if (value === undefined && spec?.type === "string") {
        waiting = spec;
        waitingName = name;
      } else options.set(name, value ?? "");
    } else if (isClosed || !word.startsWith("-") || word === "-") positionals.push(word);
  }
  return { positionals, options, waiting, isClosed };
}

/** Returns an option of a command, else one of that name of any command. */
function specOf(given: string, command: CommandSpec | undefined, commands: readonly CommandSpec[]) {
  const name = optionName(given);
  const options = command && Object.hasOwn(command.options, name) ? command.options : allOptions(commands);
  return Object.hasOwn(options, name) ? options[name] : undefined;
}

/** Returns the options of a command, its own first. A flag that is given is not offered again. */
function optionsOf(command: CommandSpec | undefined, given: ReadonlyMap<string, string>): Offer[] {
  const known = {
    ...command?.options,
    ...COMMON_OPTIONS,
    ...(command ? {} : { version: allOptions([]).version! }),
  };
  return Object.entries(known)
    .filter(([name, { type, deprecated }]) => !deprecated && (type === "string" || !given.has(name)))
    .map(([name, { summary }]) => ({ value: `--${name}`, description: summary }));
}

/** Returns the next word of the commands that begin with these words. */
function nextWords(words: readonly string[], commands: readonly CommandSpec[]): Offer[] {
  const isHelp = words[0] === "help";
  const begun = isHelp ? words.slice(1) : words;
  const offers = new Map<string, string>();
  for (const { name, summary, deprecated } of commands) {
    if (deprecated) continue;
    const parts = name.split(" ");
    const next = parts[begun.length];
    if (next === undefined || begun.some((word, index) => word !== parts[index])) continue;
    const isGroup = parts.length > begun.length + 1;
    offers.set(next, isGroup ? verbsOf(parts.slice(0, begun.length + 1).join(" "), commands) : summary);
  }
  if (words.length === 0) offers.set("help", "Show help");
  return [...offers].map(([value, description]) => ({ value, description }));
}

/** Lists the verbs of a group: `list, show, set, remove`. */
function verbsOf(group: string, commands: readonly CommandSpec[]): string {
  return commands.filter(({ name, deprecated }) => name.startsWith(`${group} `) && !deprecated)
    .map(({ name }) => name.slice(group.length + 1)).join(", ");
}
