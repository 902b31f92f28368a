import { request, RequestError } from "../../hooks/request.ts";

/**
 * Changes a resource, unless somebody else has changed the same fields since the page has read them: the answer to the
 * dialog was about the values that were shown. `form` has the API key, if the server requires it.
 */
export async function changeShown<Resource extends object>(
  path: string,
  shown: Resource,
  changes: Partial<Resource>,
  form?: FormData,
): Promise<Resource> {
  const { value, etag } = await request<Resource>(path);
  const fields = Object.keys(changes) as (keyof Resource)[];
  if (fields.some((field) => value[field] !== shown[field])) throw changedMeanwhile();
  try {
    const headers = etag === undefined ? undefined : { "if-match": etag };
    const apiKey = form && textOf(form, "api_key");
    return (await request<Resource>(path, { method: "PATCH", body: changes, headers, apiKey })).value;
  } catch (error) {
    throw error instanceof RequestError && error.status === 412 ? changedMeanwhile() : error;
  }
}

function changedMeanwhile(): RequestError {
  return new RequestError(
    412,
    "precondition_failed",
    "It was changed in the meantime: close this dialog and look at the present values",
  );
}

/** Returns the number of a field of a form, which the server checks. */
export function numberOf(form: FormData, name: string): number {
  return Number(form.get(name));
}

/** Returns the trimmed text of a field of a form; undefined where it is empty. */
export function textOf(form: FormData, name: string): string | undefined {
  return String(form.get(name) ?? "").trim() || undefined;
}
