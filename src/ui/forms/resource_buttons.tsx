import type { ComponentChildren } from "preact";
import type { UnknownName } from "../../contract/budgets/budget_state.ts";
import { withNameField } from "../../contract/costs/dimensions.ts";
import { request, RequestError } from "../hooks/request.ts";
import { useAccess } from "../hooks/session.ts";
import { ActionButton, type Done, type FieldIssues } from "../parts/confirm.tsx";
import { Text } from "../parts/text.tsx";
import { changeShown, type Shown, textOf } from "./change_shown.ts";
import { commandOf, type Field, textIn, textOfValue, valueOfText } from "./fields.ts";
import { formFields } from "./form_field.tsx";
import type { Resource } from "./resources.ts";

/* The buttons of what people write: to add one, to change it, to disable it, and to remove it. A key without the scope admin has none. */

const NEW = {};

/** The present text of a field. Of an API key its name, where an answer has it beside its id. */
function textBefore(field: Field, of: object): string {
  const [value, name] = withNameField(field.name).map((each) => of[each as keyof typeof of] as unknown);
  return name as string || textOfValue(field, of === NEW ? field.initial : value);
}

/** The fields of a form whose text isn't the one before; of a new one those too that have no default in the API. */
function changesIn(fields: readonly Field[], of: object, form: FormData) {
  return fields.map((field) => ({ field, text: textIn(field, form), before: textBefore(field, of) }))
    .filter(({ field, text, before }) =>
      (text !== before && !(text === "" && field.hasDefault)) || (of === NEW && field.isRequired)
    );
}

/** The fields of a request, and of the command that does the same: those that change, or all of one that is replaced as a whole. */
function givenIn({ fields, isWhole }: Resource, of: object, form: FormData) {
  if (!isWhole) return changesIn(of === NEW ? fields : fields.filter(({ isFixed }) => !isFixed), of, form);
  return fields.map((field) => {
    const text = of !== NEW && field.isFixed ? textBefore(field, of) : textIn(field, form);
    return { field, text, before: "" };
  }).filter(({ text }) => text !== "");
}

/** The command that does the same. Of one that is replaced as a whole, it may have fields that the form has not: then there is none. */
function commandFor(resource: Resource, of: object, form: FormData): string | undefined {
  const { group, isWhole, fields } = resource;
  const given = givenIn(resource, of, form);
  if (isWhole) {
    if (Object.keys(of).some((name) => /_per_/.test(name) && !fields.some((field) => field.name === name))) {
      return;
    }
    const texts = new Map(given.map(({ field, text }) => [field.name, text]));
    return commandOf(group, "set", isWhole.map((name) => texts.get(name) ?? "").join(":"), given);
  }
  if (of !== NEW) return commandOf(group, "set", (of as Shown).name, given);
  const hasArgument = fields.some(({ option }) => option === "argument");
  return commandOf(group, "add", hasArgument ? textOf(form, "name") ?? "NAME" : undefined, given);
}

/** The fields of one that is replaced as a whole which the form has not, and that stay. */
const keptOf = ({ isWhole, fields }: Resource, of: object) =>
  Object.fromEntries(
    Object.entries(isWhole ? of : NEW).filter(([name]) =>
      /_per_/.test(name) && !fields.some((field) => field.name === name)
    ),
  );

const bodyOf = (changes: ReturnType<typeof changesIn>) =>
  Object.fromEntries(changes.map(({ field, text }) => [field.name, valueOfText(field, text)]));

function Fields({ fields, of, issues }: { fields: readonly Field[]; of: object; issues: FieldIssues }) {
  const shown = (isRare: boolean) =>
    formFields(
      fields.filter((field) => (field.isRare ?? false) === isRare),
      (field) => textBefore(field, of),
    )(issues);
  const rare = shown(true);
  return (
    <>
      <div class="form-fields">{shown(false)}</div>
      {rare.length > 0 && (
        <details class="more-fields">
          <summary>More</summary>
          <div class="form-fields">{rare}</div>
        </details>
      )}
    </>
  );
}

/** Says that something was done, and warns of a name of which there is nothing here. */
function doneWith(text: string, unknown: UnknownName | undefined): Done {
  if (unknown === undefined) return { text };
  const { kind, id, nearest } = unknown;
  const meant = nearest === null ? "" : `; did you mean ${nearest}?`;
  return { text: `${text}. No calls yet of ${kind} ${id}${meant}`, tone: "warning" };
}

/** Adds one. `more` is shown with what was added, such as a key that is shown once. */
export function AddButton({ resource, explanation, result }: {
  resource: Resource;
  explanation: ComponentChildren;
  result?: (added: never) => ComponentChildren;
}) {
  const { may, session } = useAccess();
  if (!may("admin")) return null;
  const { noun, fields, path } = resource;
  return (
    <ActionButton
      label={`Add ${noun}`}
      isWide
      needsKey={resource.needsKey && session.access === "signed_in"}
      explanation={explanation}
      fields={(issues) => <Fields fields={fields} of={NEW} issues={issues} />}
      command={(form) => commandFor(resource, NEW, form)}
      run={async (form) => {
        const { value } = await request<Shown & { unknown?: UnknownName }>(path, {
          method: resource.isWhole ? "PUT" : "POST",
          body: bodyOf(givenIn(resource, NEW, form)),
          apiKey: textOf(form, "api_key"),
        });
        return {
          ...doneWith(`Added the ${noun} ${value.name}`, value.unknown),
          shown: result?.(value as never),
        };
      }}
    />
  );
}

/** Changes one, unless it was changed meanwhile. */
export function EditButton<Of extends Shown>({ resource, of }: { resource: Resource; of: Of }) {
  const { may, session } = useAccess();
  if (!may("admin")) return null;
  const { noun } = resource;
  const fields = resource.fields.filter(({ isFixed }) => !isFixed);
  return (
    <ActionButton
      label="Edit"
      isWide
      needsKey={resource.needsKey && session.access === "signed_in"}
      explanation={<Name resource={resource} of={of} />}
      fields={(issues) => <Fields fields={fields} of={of} issues={issues} />}
      command={(form) => commandFor(resource, of, form)}
      run={async (form) => {
        const changes = { ...keptOf(resource, of), ...bodyOf(givenIn(resource, of, form)) } as Partial<Of>;
        if (changesIn(fields, of, form).length === 0) {
          throw new RequestError(0, "invalid", "Cannot save it: nothing is different");
        }
        const changed = await changeShown(resource, of, changes, form, fields.map(({ name }) => name));
        return doneWith(
          `Changed the ${noun} ${changed.name}`,
          (changed as { unknown?: UnknownName }).unknown,
        );
      }}
    />
  );
}

/** Disables one, or enables it again. */
export function EnableButton<Of extends Shown & { enabled: boolean }>({ resource, of }: {
  resource: Resource;
  of: Of;
}) {
  if (!useAccess().may("admin")) return null;
  const { noun, states, group } = resource;
  const verb = of.enabled ? "Disable" : "Enable";
  return (
    <ActionButton
      label={verb}
      isDangerous={of.enabled && states!.isDangerous}
      explanation={
        <p>
          <Name resource={resource} of={of} /> {of.enabled ? states!.disabled : states!.enabled}
        </p>
      }
      command={() => commandOf(group, verb.toLowerCase(), of.name, [])}
      run={async (form) => {
        await changeShown(resource, of, { enabled: !of.enabled } as Partial<Of>, form);
        return `${verb}d the ${noun} ${of.name}`;
      }}
    />
  );
}

/** Removes one for good. */
export function RemoveButton({ resource, of, note, onRemoved }: {
  resource: Resource;
  of: Shown;
  note?: ComponentChildren;
  onRemoved?: () => void;
}) {
  if (!useAccess().may("admin")) return null;
  const { noun, removal, group, fields } = resource;
  return (
    <ActionButton
      label={removal.label}
      isDangerous
      explanation={
        <>
          <p>
            <Name resource={resource} of={of} /> {removal.consequence}
          </p>
          {note}
        </>
      }
      command={(form) => {
        if (!resource.isWhole) return commandOf(group, "remove", of.name, []);
        const which = givenIn(resource, of, form).filter(({ field }) => field.isFixed);
        const argument = resource.isWhole.map((name) => of[name as keyof Shown]).join(":");
        return commandOf(group, "unset", argument, which);
      }}
      run={async (form) => {
        await changeShown(resource, of, undefined, form, fields.map(({ name }) => name));
        onRemoved?.();
        return `${removal.done} the ${noun} ${of.name}`;
      }}
    />
  );
}

function Name({ resource: { noun }, of }: { resource: Resource; of: Shown }) {
  return (
    <>
      The {noun}{" "}
      <strong>
        <Text>{of.name}</Text>
      </strong>
    </>
  );
}
