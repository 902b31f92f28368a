/** A section of the view of a step. */
export interface Section {
  title: string;
  /** A text is shown as it is, other values as JSON. */
  value: unknown;
  tone?: "dim" | "error";
  /** True for details and repetitions of earlier steps, which plain output omits. */
  isDetail?: true;
}

/** The view of a step. Its texts are not escaped: the renderer escapes control characters. */
export interface StepView {
  /** A few words each, the most important first. */
  facts: string[];
  sections: Section[];
}

/** Returns the facts that are not empty. */
export function keepFacts(...facts: (string | undefined | false)[]): string[] {
  return facts.filter((fact): fact is string => typeof fact === "string" && fact !== "");
}

/** Returns a section, or none for an empty value. */
export function sectionOf(
  title: string,
  value: unknown,
  more: Pick<Section, "tone" | "isDetail"> = {},
): Section[] {
  const isEmpty = value === undefined || value === null || value === "" ||
    (typeof value === "object" && Object.keys(value).length === 0);
  return isEmpty ? [] : [{ title, value, ...more }];
}

/** Returns the text of a section's value. */
export function textOf(value: unknown, indent?: number): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, indent) ?? String(value);
}
