import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { escapeText } from "../../kernel/text.ts";
import { refreshAll } from "../hooks/data.ts";
import { RequestError } from "../hooks/request.ts";
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
  /** Does it. Returns what it did: "Disabled the rule Day". */
  run(fields: FormData): Promise<string>;
}

/** A button that asks once in a dialog, does its action, says what it did, and refreshes the view. */
export function ActionButton({ label, explanation, fields, isDangerous = false, run }: Action) {
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  const toast = useToast();
  useEffect(() => {
    if (isOpen && !dialog.current?.open) dialog.current?.showModal();
  }, [isOpen]);
  const close = () => {
    dialog.current?.close();
    setOpen(false);
    setError(undefined);
  };
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
      setError(
        error instanceof RequestError ? error.message : "Cannot do it: the page has a fault; reload it",
      );
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" class={isDangerous ? "small danger" : "small"} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && (
        <dialog ref={dialog} aria-labelledby={title} onClose={close} onCancel={close}>
          <form onSubmit={submit}>
            <h2 id={title}>{label}</h2>
            <div class="dialog-text">{explanation}</div>
            {fields}
            {error && <p class="field-error" role="alert">{escapeText(error)}</p>}
            <div class="dialog-buttons">
              <button type="button" onClick={close}>Cancel</button>
              <button type="submit" class={isDangerous ? "danger primary" : "primary"} disabled={isBusy}>
                {label}
              </button>
            </div>
          </form>
        </dialog>
      )}
    </>
  );
}
