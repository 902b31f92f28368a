import type { Context } from "hono";
import { z } from "zod";
import { PurserError } from "../../kernel/errors.ts";
import { sha256Hex } from "../../kernel/encoding.ts";
import { matchesWeakly } from "./response_headers.ts";

/*
 * ETags and conditional requests (RFC 9110, sections 8.8.3 and 13). The ETag of an agent or a rule covers what a writer
 * could overwrite, its definition: not the usage, the value or the time of firing, which change by themselves.
 */

/** Returns the function that makes the strong ETag of a definition in wire form, of those of its fields that an author sets. */
export function etagBy<Field extends string>(fields: readonly Field[]) {
  return async (definition: { readonly [Name in Field]?: unknown }): Promise<string> => {
    const authored = Object.fromEntries(fields.map((field) => [field, definition[field]]));
    return `"${(await sha256Hex(JSON.stringify(authored))).slice(0, 32)}"`;
  };
}

/** The ETags of a header, or `*` for any. */
type EntityTags = "*" | readonly string[];

const TAG = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;

/** Reads the ETags of a header. Throws `invalid`. */
function readTags(name: string, text: string): EntityTags {
  if (text.trim() === "*") return "*";
  const tags = text.match(/(?:"[^"]*"|[^",])+/g)?.map((tag) => tag.trim()).filter((tag) => tag !== "") ?? [];
  if (tags.length > 0 && tags.every((tag) => TAG.test(tag))) return tags;
  throw new PurserError(
    "invalid",
    `Cannot read ${name}: send an ETag as it was received, with its quotes, or *`,
  );
}

/**
 * Returns the check of a request's preconditions, `If-Match` and `If-None-Match`; undefined where it has none. The check
 * gets the present definition, undefined where there is none, and throws `precondition_failed`.
 */
export function readPreconditions<Definition extends object>(
  c: Context,
  etag: (definition: Definition) => Promise<string>,
): ((current: Definition | undefined) => Promise<void>) | undefined {
  const [ifMatch, ifNoneMatch] = ["If-Match", "If-None-Match"].map((name) => {
    const text = c.req.header(name);
    return text === undefined ? undefined : { text, tags: readTags(name, text) };
  });
  if (!ifMatch && !ifNoneMatch) return undefined;
  const { method, path } = c.req;
  return async (current) => {
    const now = current && await etag(current);
    const refuse = (state: string) =>
      new PurserError("precondition_failed", `Cannot ${method} ${path}: ${state}; nothing was changed`, {
        details: { etag: now ?? null },
      });
    if (ifMatch) {
      if (now === undefined) throw refuse("it does not exist, and If-Match expects that it does");
      // Strong comparison: no weak tag matches.
      if (ifMatch.tags !== "*" && !ifMatch.tags.includes(now)) {
        throw refuse("it is not as If-Match expects; read it again and decide anew");
      }
    }
    if (ifNoneMatch && now !== undefined && matchesWeakly(ifNoneMatch.text, now)) {
      throw refuse(ifNoneMatch.tags === "*" ? "it exists already" : "it is as If-None-Match excludes");
    }
  };
}

/** The request header of routes that change a definition. */
export const IF_MATCH = {
  "if-match": z.string().optional().meta({
    description: "`ETag`s of which the definition must have one, compared strongly; or `*`. Else 412",
    example: '"3f2a9c0b7d514e6f8a1b2c3d4e5f6071"',
  }),
};

/** The request header of routes that add a definition. */
export const IF_NONE_MATCH = {
  "if-none-match": z.string().optional().meta({
    description: "`*`: only where there is no definition yet. Else 412",
    example: "*",
  }),
};
