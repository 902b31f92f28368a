import { type ComponentChildren, createContext } from "preact";
import { useCallback, useContext, useRef, useState } from "preact/hooks";
import { after } from "../hooks/clock.ts";
import type { Tone } from "./card.tsx";

type Toast = (text: string, tone?: Tone) => void;

const ToastContext = createContext<Toast>(() => {});

/** Returns a function that shows a message for some seconds, and announces it: what an action did. */
export function useToast(): Toast {
  return useContext(ToastContext);
}

const SHOWN_MS = 8_000;

/** The place of messages, one live region for the whole page. */
export function Toasts({ children }: { children: ComponentChildren }) {
  const [shown, setShown] = useState<{ text: string; tone: Tone } | undefined>();
  const cancel = useRef<(() => void) | undefined>(undefined);
  const toast = useCallback<Toast>((text, tone = "good") => {
    cancel.current?.();
    setShown({ text, tone });
    cancel.current = after(SHOWN_MS, () => setShown(undefined));
  }, []);
  return (
    <ToastContext.Provider value={toast}>
      {children}
      <div class="toasts" role="status" aria-live="polite">
        {shown && <p class={`toast ${shown.tone}`}>{shown.text}</p>}
      </div>
    </ToastContext.Provider>
  );
}
