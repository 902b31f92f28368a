/** One value of a family; integers and decimal texts are printed unchanged, so that money stays exact. */
export interface Sample {
  labels?: Readonly<Record<string, string>>;
  value: bigint | number | string;
}

/** A metric family of Prometheus: all samples of one name. */
export interface Family {
  name: string;
  type: "counter" | "gauge";
  help: string;
  samples: readonly Sample[];
}

/** The media type of `renderFamilies`. */
export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Renders families in Prometheus' text format 0.0.4.
 *
 * Format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */
export function renderFamilies(families: readonly Family[]): string {
  return families.map(({ name, type, help, samples }) => {
    const head = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
    return head + samples.map((sample) => `${name}${renderLabels(sample.labels)} ${sample.value}\n`).join("");
  }).join("");
}

function renderLabels(labels: Sample["labels"] = {}): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escapeValue(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapeValue(text: string): string {
  return escapeHelp(text.toWellFormed()).replaceAll('"', '\\"');
}
