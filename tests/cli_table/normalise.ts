/** The outcome of one command line. */
export interface Outcome {
  code: number;
  out: string;
  err: string;
}

/** Replaces what must differ between two runs of the same story, and nothing else. */
export interface Normaliser {
  (text: string): string;
}

/**
 * Ids become numbers in the order of their appearance, so that a wrong id still shows; times and ports become
 * their names, the folder of the sandbox `.`.
 */
export function createNormaliser(folder: string): Normaliser {
  const ids = new Map<string, string>();
  const numberOf = (id: string, kind: string) => {
    if (!ids.has(id)) ids.set(id, `${kind}_${String(ids.size + 1).padStart(26, "0")}`);
    return ids.get(id)!;
  };
  return (text) =>
    text
      .replaceAll(folder, ".")
      .replaceAll(/\bpsr_[0-9a-z]{26}_[0-9a-z]{39}\b/g, "<key>")
      .replaceAll(/\b([a-z]+)_[0-9a-z]{26}\b/g, numberOf)
      .replaceAll(/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "<time>")
      .replaceAll(/\b20\d\d-\d\d-\d\d( \d\d:\d\d(:\d\d(\.\d{3})?)?)?\b/g, "<day>")
      .replaceAll(/\b\d\d:\d\d:\d\d\b/g, "<hour>")
      .replaceAll(/"(duration_ms|elapsed_ms|since_previous_ms)":\d+/g, '"$1":0')
      .replaceAll(/"usd_per_hour":[\d.e-]+/g, '"usd_per_hour":0')
      .replaceAll(/"reaches_at":"<time>"/g, '"reaches_at":null')
      .replaceAll(/\$\S+ an hour/g, "<pace>")
      .replaceAll(/at this rate ends at <day> UTC \(<pace>\)/g, "<pace>")
      .replaceAll(/^.*: <pace>\n/gm, "")
      .replaceAll(/ *\+?\b\d+(\.\d+)? (ms|s)\b/g, " <span>")
      // The header of a column of spans is as wide as the longest of them.
      .replaceAll(/ +TIME\b/g, " TIME")
      .replaceAll(/\b[0-9a-f]{64}\b/g, "<hash>")
      .replaceAll(/\b127\.0\.0\.1:\d+/g, "<address>");
}

/** Log lines go to the standard error of the process that does the work: this one, or the server. */
const LOG_LINE = /^\{"level":.*\}\n/gm;

/** The outcome of a row as it must be in all sandboxes. */
export function normaliseOutcome(
  { code, out, err }: Outcome,
  normalise: Normaliser,
  varying: RegExp | undefined,
): Outcome {
  const plain = (text: string) => {
    const same = normalise(text);
    return varying ? same.replaceAll(varying, "<place>") : same;
  };
  return { code, out: plain(out), err: plain(err.replaceAll(LOG_LINE, "")) };
}
