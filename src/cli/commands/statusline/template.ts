import { nearestName } from "../../../kernel/nearest_name.ts";

/** The names that a template may have, in braces. */
export const NAMES = ["session", "today", "budget", "plan", "model", "project"] as const;

/** The texts of the names; an empty one for what is not known. */
export type Values = Readonly<Record<typeof NAMES[number], string>>;

const IS_NAME = /\{([^{}]*)\}/g;
const isKnown = (name: string): name is keyof Values => (NAMES as readonly string[]).includes(name);

/** Returns the names in a template that are none, each with the nearest one. */
export function findUnknownNames(template: string): { name: string; near: string | undefined }[] {
  return [...template.matchAll(IS_NAME)].flatMap(([, name = ""]) =>
    isKnown(name) ? [] : [{ name, near: nearestName(name, NAMES) }]
  );
}

/** Between the parts of a template. */
const SEPARATOR = " · ";

/** Renders a template. A part without a value is left out; a name that is none stays as it is written. */
export function renderTemplate(template: string, values: Values): string {
  const parts = template.split(SEPARATOR).flatMap((part) => {
    const names = [...part.matchAll(IS_NAME)].map(([, name = ""]) => name).filter(isKnown);
    if (names.length > 0 && names.every((name) => values[name] === "")) return [];
    return [part.replaceAll(IS_NAME, (whole, name: string) => isKnown(name) ? values[name] : whole)];
  });
  return parts.join(SEPARATOR).replaceAll(/\s+/g, " ").trim();
}
