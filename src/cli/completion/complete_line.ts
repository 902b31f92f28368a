import type { Connection } from "../../client/mod.ts";
import { systemClock } from "../../kernel/clock.ts";
import { loadConfig } from "../../config/mod.ts";
import { silentLog } from "../../kernel/log.ts";
import { escapeText } from "../terminal/escape_text.ts";
import { EXIT } from "../exit_code.ts";
import type { MainOptions } from "../main.ts";
import { cutText } from "../terminal/text_width.ts";
import { type Cursor, type Offer, readCursor } from "./read_cursor.ts";

/** How long live values are waited for: somebody is looking at the cursor. */
const PATIENCE_MS = 900;

/** What a live value may consist of, so that no shell sees anything in it. */
const SAFE_VALUE = /^[A-Za-z0-9._:-]{1,128}$/;

const MAX_NOTE = 60;

/** What tells the script that paths may come here, which the shell knows best. */
const FILES = ":files";

/**
 * Answers a shell's question what may come at the end of these words: a line for each, with a tab and what it is.
 * Whatever goes wrong, it is quiet, says what it knows, and ends in about a second.
 */
export async function completeLine(words: readonly string[], options: MainOptions): Promise<number> {
  const cursor = readCursor(words);
  const { values, typed, lead } = cursor;
  const fixed = [...values.oneOf ?? [], ...values.some ?? []].map((value) => ({ value, note: "" }));
  const offers = [...cursor.words, ...fixed, ...await askLive(cursor, options)]
    .filter(({ value }) => value.startsWith(typed));
  const lines = offers.map(({ value, note }) => `${lead}${value}\t${cutText(escapeText(note), MAX_NOTE)}`);
  try {
    options.terminal.stdout.write(
      [...values.isFile ? [FILES] : [], ...lines].map((line) => `${line}\n`).join(""),
    );
  } catch {
    // The shell has stopped listening.
  }
  return EXIT.done;
}

async function askLive(cursor: Cursor, options: MainOptions): Promise<Offer[]> {
  const { live } = cursor.values;
  if (live === undefined) return [];
  const { clock = systemClock } = options;
  const over = new AbortController();
  const asked = (async () => {
    const { LIVE_VALUES } = await import("./live_values.ts");
    const connection = connectLate(cursor, options);
    try {
      return await LIVE_VALUES[live]({ line: cursor.line, env: options.env, connect: connection.get });
    } finally {
      await connection.close();
    }
  })().catch((): Offer[] => []);
  const offers = await Promise.race([asked, clock.sleep(PATIENCE_MS, over.signal).then((): Offer[] => [])]);
  over.abort();
  return offers.filter(({ value }) => SAFE_VALUE.test(value));
}

/** The way to the place that the line names, opened when something is asked of it. */
function connectLate({ line }: Cursor, { env, connect }: MainOptions) {
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
        const open = connect ?? (await import("../../client/mod.ts")).connect;
        return await open({ config, env, log: silentLog, isReadOnly: true, mustExist: true });
      })(),
    close: async () => await (await connection?.catch(() => undefined))?.close(),
  };
}
