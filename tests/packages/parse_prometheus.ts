import parse from "npm:parse-prometheus-text-format@1.1.1";

/** The part of it that is used; the package has no types. */
export default parse as (text: string) => {
  name: string;
  help: string;
  type: string;
  metrics: { value: string; labels?: Record<string, string> }[];
}[];
