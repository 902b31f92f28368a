/** The part of `parse-prometheus-text-format` that is used; the package has no types. */
export default function parse(
  text: string,
): {
  name: string;
  help: string;
  type: string;
  metrics: { value: string; labels?: Record<string, string> }[];
}[];
