/** A part of what a step shows. */
export interface Section {
  title: string;
  /** A text as it is, anything else as JSON. */
  value: unknown;
  tone?: "dim" | "error";
  /** It repeats what the steps before show, or goes into detail: plain output leaves it out. */
  isDetail?: true;
}

/** What a step shows, as it came: whoever renders it writes out what a terminal would obey. */
export interface StepView {
  /** A few words each, the most telling first. */
  facts: string[];
  sections: Section[];
}

/** Leaves out what there is nothing to say of. */
export function keepFacts(...facts: (string | undefined | false)[]): string[] {
  return facts.filter((fact): fact is string => typeof fact === "string" && fact !== "");
}

/** A section where there is something to show. */
export function sectionOf(
  title: string,
  value: unknown,
  more: Pick<Section, "tone" | "isDetail"> = {},
): Section[] {
  const isEmpty = value === undefined || value === null || value === "" ||
    (typeof value === "object" && Object.keys(value).length === 0);
  return isEmpty ? [] : [{ title, value, ...more }];
}

/** The text of a section's value. */
export function textOf(value: unknown, indent?: number): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, indent) ?? String(value);
}
