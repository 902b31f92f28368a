import { type ComponentChildren, createContext } from "preact";
import { useCallback, useContext, useEffect, useId, useRef, useState } from "preact/hooks";
import { escapeText } from "../../kernel/text.ts";
import { refreshAll } from "../hooks/data.ts";
import { RequestError } from "../hooks/request.ts";
import { useRoute } from "../hooks/route.ts";
import type { Tone } from "./card.tsx";
import { Command } from "./command.tsx";
import { useToast } from "./toast.tsx";

/** An action with a dialog that confirms it. */
export interface Action {
  /** The text of the button, and of the one that confirms: "Disable rule". */
  label: string;
  /** The consequences, in a sentence or two. */
  explanation: ComponentChildren;
  /** Fields that the action needs, such as an amount, with what was wrong about them. `run` gets their values by name. */
  fields?: ComponentChildren | ((issues: FieldIssues) => ComponentChildren);
  /** The command that does the same, with the values of the fields. */
  command?(fields: FormData): string | undefined;
  isDangerous?: boolean;
  /** It has many fields. */
  isWide?: boolean;
  /** It asks for the API key from the start. */
  needsKey?: boolean;
  /** Said instead if the button is gone before the action is confirmed: "The run has ended." */
  gone?: string;
  /**
   * Does it. Returns what it did: "Disabled the rule Day". Where the server asks for the API key again, it is done once more,
   * with the key as the field `api_key`.
   */
  run(fields: FormData): Promise<string | Done>;
}

/** The result of an action. */
export interface Done {
  text: string;
  tone?: Tone;
  /** Stays in the dialog until it is closed, such as a key that is shown once. */
  shown?: ComponentChildren;
}

/** The faults that the API has found, by the name of the field. */
export type FieldIssues = Readonly<Record<string, string>>;

/** Reads the issues of an error: `tags.user` and `warn_at[0]` are of the fields `tags` and `warn_at`. */
function issuesOf(error: unknown): FieldIssues {
  const issues = error instanceof RequestError && error.details.issues as { path: string; message: string }[];
  return Object.fromEntries((issues || []).map(({ path, message }) => {
    const [field = "", ...rest] = path.split(/(?=[.[])/);
    return [field, [rest.join("").replace(/^\./, ""), message].filter(Boolean).join(" ")];
  }));
}

/** The action of an open dialog with its button, and whether the button is gone. */
interface Asked {
  action: Action;
  button: object;
  isGone?: boolean;
}

type Ask = (change: (asked: Asked | undefined) => Asked | undefined) => void;

const DialogContext = createContext<Ask>(() => {});

/** A button that asks once in a dialog, does its action, says what it did, and refreshes the view. */
export function ActionButton(action: Action) {
  const ask = useContext(DialogContext);
  const button = useRef(null);
  useEffect(
    () => () => ask((asked) => asked?.button === button ? { ...asked, isGone: true } : asked),
    [],
  );
  return (
    <button
      type="button"
      class={action.isDangerous ? "small danger" : "small"}
      onClick={() => ask(() => ({ action, button }))}
    >
      {action.label}
    </button>
  );
}

/** The place of the dialog of all buttons: it stays when the button goes, as with a row of a list that is refreshed. */
export function Dialogs({ children }: { children: ComponentChildren }) {
  const [asked, setAsked] = useState<Asked>();
  const page = useRoute().parts.join("/");
  const remove = useCallback(() => setAsked(undefined), []);
  useEffect(remove, [page]);
  return (
    <DialogContext.Provider value={setAsked}>
      {children}
      {asked && <Dialog {...asked} remove={remove} />}
    </DialogContext.Provider>
  );
}

function Dialog({ action, isGone, remove }: Asked & { remove(): void }) {
  const {
    label,
    explanation,
    fields,
    command,
    isDangerous,
    isWide,
    gone = "It is not listed any more.",
    run,
  } = action;
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const [issues, setIssues] = useState<FieldIssues>({});
  const [needsKey, setNeedsKey] = useState(action.needsKey);
  const [line, setLine] = useState<string>();
  const [shown, setShown] = useState<ComponentChildren>();
  const dialog = useRef<HTMLDialogElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const title = useId();
  const toast = useToast();
  const readLine = () => setLine(command?.(new FormData(form.current!)));
  useEffect(() => {
    dialog.current!.showModal();
    readLine();
  }, []);
  useEffect(() => {
    for (const part of form.current!.querySelectorAll<HTMLElement>("[aria-invalid]")) {
      part.closest("details")?.setAttribute("open", "");
    }
    form.current!.querySelector<HTMLElement>("[aria-invalid]")?.focus();
  }, [issues]);
  // The browser then gives the focus back to the button.
  const close = () => dialog.current?.close();
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isBusy || shown) return;
    setBusy(true);
    try {
      const result = await run(new FormData(form.current!));
      const done = typeof result === "string" ? { text: result } : result;
      if (done.shown) setShown(done.shown);
      else close();
      setError(undefined);
      toast(escapeText(done.text), done.tone);
      refreshAll();
    } catch (error) {
      setNeedsKey((needed) => needed || error instanceof RequestError && error.details.step_up === "api_key");
      const found = issuesOf(error);
      setIssues(found);
      setError(
        !(error instanceof RequestError)
          ? "Cannot do it: the page has a fault; reload it"
          : isBesideFields(form.current!, found)
          ? "Cannot save it: see the marked fields"
          : error.message,
      );
      // What the page shows is no longer what there is.
      if (error instanceof RequestError && error.status === 412) refreshAll();
    } finally {
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} class={isWide ? "wide" : undefined} aria-labelledby={title} onClose={remove}>
      <form ref={form} onSubmit={submit} onInput={readLine}>
        <h2 id={title}>{label}</h2>
        {isGone ? <p role="status">{gone}</p> : shown ?? (
          <>
            <div class="dialog-text">{explanation}</div>
            {typeof fields === "function" ? fields(issues) : fields}
            {needsKey && (
              <label>
                Your API key
                <input
                  name="api_key"
                  type="password"
                  autocomplete="off"
                  placeholder="psr_…"
                  required
                />
              </label>
            )}
            {line !== undefined && (
              <details class="as-command">
                <summary>As a command</summary>
                <Command>{line}</Command>
              </details>
            )}
          </>
        )}
        {error && <p class="field-error" role="alert">{escapeText(error)}</p>}
        <div class="dialog-buttons">
          <button type="button" onClick={close}>{isGone || shown ? "Close" : "Cancel"}</button>
          {!isGone && !shown && (
            <button type="submit" class={isDangerous ? "danger primary" : "primary"} disabled={isBusy}>
              {label}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}

/** Returns whether each of some issues stands beside a field of the form. */
function isBesideFields(form: HTMLFormElement, issues: FieldIssues): boolean {
  const fields = Array.from(
    form.querySelectorAll<HTMLElement>("[data-field]"),
    ({ dataset }) => dataset.field,
  );
  const named = Object.keys(issues);
  return named.length > 0 && named.every((name) => fields.includes(name));
}
