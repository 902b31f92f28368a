/** A place in the config file as its author would write it: `prices[0].model`. */
export function formatPath(path: readonly PropertyKey[]): string {
  const text = path.map((step) => typeof step === "number" ? `[${step}]` : `.${String(step)}`).join("");
  return text.replace(/^\./, "") || "the whole file";
}
