import { messageOf, PurserError, STATUS } from "../kernel/errors.ts";
import { escapeLines } from "./terminal/escape_text.ts";
import { createStyle } from "./terminal/style.ts";
import type { Output } from "./terminal/terminal.ts";
import { UsageError } from "./parse/usage_error.ts";

/** Writes an error to standard error: one sentence and a hint, or the problem document as JSON. */
export function reportError(error: unknown, stderr: Output, isJson: boolean): void {
  if (isJson) return stderr.write(JSON.stringify(problemOf(error)) + "\n");
  const style = createStyle(stderr.hasColour);
  const sentence = error instanceof PurserError ? error.message : `Internal error: ${messageOf(error)}`;
  stderr.write(`${style.red("error:")} ${escapeLines(sentence)}\n`);
  const hint = hintFor(error);
  if (hint) stderr.write(style.dim(escapeLines(hint)) + "\n");
}

function hintFor(error: unknown): string | undefined {
  if (error instanceof UsageError) {
    return error.command === undefined
      ? undefined
      : `See purser ${error.command ? `${error.command} ` : ""}--help`;
  }
  if (error instanceof PurserError && error.code === "unauthorized") {
    return "Give a key with --api-key, PURSER_API_KEY or the api_key_file of a profile; " +
      "to create one, run purser keys create on the server's own database";
  }
  // Only for refusals by the API: `purser serve` reports other errors of this code.
  if (error instanceof PurserError && error.code === "forbidden" && "problem" in error) {
    return "Give another key with --api-key or PURSER_API_KEY; purser keys list shows the scopes of each";
  }
  const { session_id } = problemOf(error);
  if (typeof session_id !== "string") return undefined;
  return `The session keeps all steps up to this point: purser sessions show ${session_id}`;
}

/** Returns the API's problem document, or one of the same form for other errors. */
function problemOf(error: unknown): Record<string, unknown> {
  if (!(error instanceof PurserError)) {
    const detail = `Internal error: ${messageOf(error)}`;
    return {
      type: "about:blank",
      title: "Internal error",
      status: STATUS.internal,
      detail,
      code: "internal",
    };
  }
  if ("problem" in error) return error.problem as Record<string, unknown>;
  const { code, message, details, extensions } = error;
  const title = error instanceof UsageError ? "Bad usage" : "Error";
  const problem = { type: "about:blank", title, status: STATUS[code], detail: message, code };
  return { ...problem, ...(details && { details }), ...extensions };
}
