import { type ComponentChildren, createContext } from "preact";
import { useCallback, useContext, useEffect, useId, useRef, useState } from "preact/hooks";
import { escapeText } from "../../kernel/text.ts";
import { refreshAll } from "../hooks/data.ts";
import { RequestError } from "../hooks/request.ts";
import { useRoute } from "../hooks/route.ts";
import { useToast } from "./toast.tsx";

/** An action with a dialog that confirms it. */
export interface Action {
  /** The text of the button, and of the one that confirms: "Disable rule". */
  label: string;
  /** The consequences, in a sentence or two. */
  explanation: ComponentChildren;
  /** Fields that the action needs, such as an amount. `run` gets their values by name. */
  fields?: ComponentChildren;
  isDangerous?: boolean;
  /** Said instead if the button is gone before the action is confirmed: "The run has ended." */
  gone?: string;
  /**
   * Does it. Returns what it did: "Disabled the rule Day". Where the server asks for the API key again, it is done once more,
   * with the key as the field `api_key`.
   */
  run(fields: FormData): Promise<string>;
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
  const { label, explanation, fields, isDangerous, gone = "It is not listed any more.", run } = action;
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const [needsKey, setNeedsKey] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  const toast = useToast();
  useEffect(() => dialog.current!.showModal(), []);
  // The browser then gives the focus back to the button.
  const close = () => dialog.current?.close();
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    try {
      const done = await run(new FormData(event.target as HTMLFormElement));
      close();
      toast(escapeText(done));
      refreshAll();
    } catch (error) {
      setNeedsKey((needed) => needed || error instanceof RequestError && error.details.step_up === "api_key");
      setError(
        error instanceof RequestError ? error.message : "Cannot do it: the page has a fault; reload it",
      );
    } finally {
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby={title} onClose={remove}>
      <form onSubmit={submit}>
        <h2 id={title}>{label}</h2>
        {isGone ? <p role="status">{gone}</p> : (
          <>
            <div class="dialog-text">{explanation}</div>
            {fields}
            {needsKey && (
              <label>
                API key
                <input
                  name="api_key"
                  type="password"
                  autocomplete="off"
                  placeholder="psr_…"
                  required
                />
              </label>
            )}
          </>
        )}
        {error && <p class="field-error" role="alert">{escapeText(error)}</p>}
        <div class="dialog-buttons">
          <button type="button" onClick={close}>{isGone ? "Close" : "Cancel"}</button>
          {!isGone && (
            <button type="submit" class={isDangerous ? "danger primary" : "primary"} disabled={isBusy}>
              {label}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}
