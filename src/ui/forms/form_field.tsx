import { useId } from "preact/hooks";
import { escapeText } from "../../kernel/text.ts";
import type { FieldIssues } from "../parts/confirm.tsx";
import type { Field } from "./fields.ts";

/** Returns what shows the fields of an action, each with the text that it has at first. */
export function formFields(fields: readonly Field[], textOf: (field: Field) => string = () => "") {
  return (issues: FieldIssues) =>
    fields.map((field) => (
      <FormField key={field.name} field={field} text={textOf(field)} issue={issues[field.name]} />
    ));
}

/** A field of a form with its text, and with what the API says is wrong about it. */
export function FormField({ field, text, issue }: { field: Field; text: string; issue: string | undefined }) {
  const id = useId();
  const { name, label, kind, hint, choices = [], isRequired } = field;
  const described = [hint && `${id}-hint`, issue && `${id}-issue`].filter(Boolean).join(" ") || undefined;
  const common = {
    id,
    name,
    "aria-invalid": issue ? true : undefined,
    "aria-describedby": described,
  };
  const box = (value: string, isChecked: boolean, of = {}) => (
    <input {...of} type="checkbox" name={name} value={value} defaultChecked={isChecked} />
  );
  const control = () => {
    switch (kind) {
      case "flag":
        return box("true", text !== "", common);
      case "choice":
        return (
          <select {...common}>
            {choices.map((one) => (
              <option key={one} value={one} selected={one === text}>{one || "any"}</option>
            ))}
          </select>
        );
      case "tags":
      case "lines":
        return <textarea {...common} rows={2} spellcheck={false} defaultValue={text} />;
      default:
        return (
          <input
            {...common}
            type={kind === "number" ? "number" : kind === "day" || kind === "date" ? "date" : "text"}
            step={kind === "number" ? "any" : undefined}
            required={isRequired}
            autocomplete="off"
            spellcheck={false}
            list={choices.length > 0 ? `${id}-list` : undefined}
            defaultValue={text}
          />
        );
    }
  };
  const notes = (
    <>
      {hint && <p id={`${id}-hint`} class="field-hint">{hint}</p>}
      {issue && <p id={`${id}-issue`} class="field-error">{escapeText(issue)}</p>}
    </>
  );
  if (kind === "several") {
    const set = text.split("\n");
    return (
      <fieldset class="form-field" data-field={name} aria-describedby={described}>
        <legend>{label}</legend>
        {choices.map((one) => <label key={one} class="check">{box(one, set.includes(one))} {one}</label>)}
        {notes}
      </fieldset>
    );
  }
  return (
    <div class={kind === "flag" ? "form-field check" : "form-field"} data-field={name}>
      <label for={id}>{label}</label>
      {control()}
      {choices.length > 0 && kind === "text" && (
        <datalist id={`${id}-list`}>{choices.map((one) => <option key={one} value={one} />)}</datalist>
      )}
      {notes}
    </div>
  );
}
