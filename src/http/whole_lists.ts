import type { Context } from "hono";
import { messageOf } from "../kernel/errors.ts";
import { encodeInTurns, inTurns, paced, type Turns } from "../kernel/turns.ts";
import type { Core } from "../service/mod.ts";
import { createCsv, CSV_TYPE } from "./middleware/csv.ts";
import { type ApiEnv, leaseOf } from "./middleware/principal.ts";
import { streamChunks } from "./middleware/streams.ts";

/** The most entries and bytes that are read at once; a single entry may have more. */
export const WHOLE_PAGE = { entries: 500, bytes: 256 * 1024 } as const;

/** Entries of a list, and the position of those that follow; undefined at its end. */
export interface ListPart<Entry, Position> {
  entries: Entry[];
  next: Position | undefined;
}

/**
 * Answers with a list that is returned whole where its client sets no limit: by `c.json()` where it is short, and else page by page,
 * as fast as the client reads, since it may have any length. `read` returns the entries from a position on.
 */
export async function answerWhole<Entry extends object, Position>(
  c: Context<ApiEnv>,
  core: Pick<Core, "turns" | "log">,
  read: (from: Position | undefined) => Promise<ListPart<Entry, Position>>,
): Promise<Entry[] | Response> {
  const first = await read(undefined);
  if (first.next === undefined) return first.entries;
  const csv = createCsv(c);
  // The columns that are optional are those that an entry has, so that it is read twice.
  if (csv) await eachPage(read, ({ entries }) => csv.see(entries));
  const write = csv?.line ?? JSON.stringify;
  /** Reads the texts of a page, and keeps nothing else of it. */
  const readTexts = async (from: Position | undefined) => {
    const { entries, next } = await read(from);
    return { texts: await encode(core.turns, entries, write), next };
  };
  const pages = async function* () {
    for (let from: Position | undefined = undefined;;) {
      const page: { texts: string[]; next: Position | undefined } = await readTexts(from);
      if (page.texts.length > 0) yield page.texts;
      if (page.next === undefined) return;
      from = page.next;
    }
  };
  const pieces = async function* () {
    yield csv ? csv.header() : "[";
    let separator = "";
    for await (const page of paced(pages(), leaseOf(c)?.answer)) {
      yield separator;
      yield page.length === 1 ? page[0]! : page.join(csv ? "" : ",");
      if (!csv) separator = ",";
    }
    if (!csv) yield "]";
  };
  const body = streamChunks(encodeInTurns(pieces(), core.turns), {
    onError: (error) => core.log.error("A list broke off", { reason: messageOf(error) }),
  });
  return c.body(body, 200, { "content-type": csv ? CSV_TYPE : "application/json" });
}

async function eachPage<Entry, Position>(
  read: (from: Position | undefined) => Promise<ListPart<Entry, Position>>,
  use: (page: ListPart<Entry, Position>) => void,
): Promise<void> {
  for (let from: Position | undefined = undefined;;) {
    const page: ListPart<Entry, Position> = await read(from);
    use(page);
    if (page.next === undefined) return;
    from = page.next;
  }
}

/** Writes the entries of a page, in turn with other long work. */
function encode<Entry>(turns: Turns, entries: Entry[], write: (entry: Entry) => string): Promise<string[]> {
  return inTurns(turns, encodeEach(entries, write));
}

function* encodeEach<Entry>(entries: Entry[], write: (entry: Entry) => string): Generator<number, string[]> {
  const texts: string[] = [];
  for (const entry of entries) {
    const text = write(entry);
    texts.push(text);
    yield text.length;
  }
  return texts;
}
