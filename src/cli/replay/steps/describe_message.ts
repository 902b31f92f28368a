import { isRecord, readText } from "./payload_fields.ts";
import { keepFacts, type Section, sectionOf, type StepView } from "../screen/step_view.ts";

/** What a message of a session tells: its role, and each part of its content. */
export function describeMessage({ role, content }: Record<string, unknown>): StepView {
  const parts = Array.isArray(content) ? content : [content];
  return { facts: keepFacts(readText(role)), sections: parts.flatMap(describePart) };
}

/** The parts of the AI SDK's messages; another one is shown as it is. */
function describePart(part: unknown): Section[] {
  if (typeof part === "string") return sectionOf("Text", part);
  if (!isRecord(part)) return sectionOf("Content", part);
  const tool = readText(part.toolName) ?? "a tool";
  switch (part.type) {
    case "text":
      return sectionOf("Text", part.text);
    case "reasoning":
      return sectionOf("Reasoning", part.text, { tone: "dim" });
    case "tool-call":
      return [{ title: `Call of ${tool}`, value: part.input ?? null }];
    case "tool-result":
      return [describeResult(tool, part.output)];
    default:
      return sectionOf("Content", part);
  }
}

function describeResult(tool: string, output: unknown): Section {
  const { type, value } = isRecord(output) ? output : { type: undefined, value: undefined };
  const isError = typeof type === "string" && type.startsWith("error");
  return {
    title: `Result of ${tool}`,
    value: value === undefined ? output ?? null : value,
    ...(isError && { tone: "error" as const }),
  };
}
