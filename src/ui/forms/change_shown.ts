import { request, RequestError } from "../hooks/request.ts";
import { textOfValue } from "./fields.ts";
import type { Resource } from "./resources.ts";

/** A resource as a page shows it: its id, its name, and its fields. */
export type Shown = object & { name: string };

/** Returns the address of one of a kind in the API. */
export function pathOf({ path, id }: Resource, shown: Shown): string {
  return `${path}/${encodeURIComponent(String(shown[id as keyof Shown]))}`;
}

/**
 * Changes a resource, or removes it without `changes`, unless somebody else has changed one of `fields` since the page has read
 * them: the answer to the dialog was about the values that were shown. `form` has the API key, if the server requires it.
 */
export async function changeShown<Of extends Shown>(
  resource: Resource,
  shown: Of,
  changes: Partial<Of> | undefined,
  form: FormData,
  fields: readonly string[] = Object.keys(changes ?? {}),
): Promise<Of> {
  const path = pathOf(resource, shown);
  const { value, etag } = await request<Of>(path);
  const [field] = fields.filter((name) => {
    const [now, before] = [value, shown].map((of) => JSON.stringify(of[name as keyof Of]));
    return now !== before;
  });
  if (field !== undefined) throw changedMeanwhile(resource, field, value[field as keyof Of]);
  try {
    const isPut = changes && resource.isWhole;
    return (await request<Of>(isPut ? resource.path : path, {
      method: isPut ? "PUT" : changes ? "PATCH" : "DELETE",
      body: changes,
      headers: etag === undefined ? undefined : { "if-match": etag },
      apiKey: textOf(form, "api_key"),
    })).value;
  } catch (error) {
    throw error instanceof RequestError && error.status === 412 ? changedMeanwhile(resource) : error;
  }
}

function changedMeanwhile({ fields }: Resource, name?: string, value?: unknown): RequestError {
  const field = fields.find((field) => field.name === name);
  const present = field ? textOfValue(field, value).replaceAll("\n", ", ") || "none" : String(value);
  return new RequestError(
    412,
    "precondition_failed",
    `It was changed in the meantime${
      name === undefined ? "" : `: ${field?.label ?? name} is ${present} now`
    }. Close this dialog and look at the present values`,
  );
}

/** Returns the trimmed text of a field of a form; undefined where it is empty. */
export function textOf(form: FormData, name: string): string | undefined {
  return String(form.get(name) ?? "").trim() || undefined;
}
