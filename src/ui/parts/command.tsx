import { escapeLines } from "../../kernel/text.ts";
import { useToast } from "./toast.tsx";

/** A text to copy as it is: a command, a message, or a key that is shown once. */
export function Command({ children, label = "Command" }: { children: string; label?: string }) {
  const toast = useToast();
  const copy = () =>
    navigator.clipboard.writeText(children).then(
      () => toast("Copied"),
      () => toast("Cannot copy it: select the text instead", "bad"),
    );
  return (
    <div class="copied">
      <pre
        class="command"
        tabIndex={0}
        role="region"
        aria-label={label}
      ><code>{escapeLines(children)}</code></pre>
      {/* Over plain HTTP, a browser lets pages of this machine alone write to the clipboard. */}
      {globalThis.isSecureContext && (
        <button type="button" class="small" aria-label={`Copy: ${label}`} onClick={copy}>Copy</button>
      )}
    </div>
  );
}
