import { type ReactNode, useEffect, useId, useLayoutEffect, useRef } from 'react';

interface Props {
  readonly title: string;
  readonly lead?: ReactNode;
  /** 600 for plans, 460 for questions. */
  readonly wide?: boolean;
  /** Something ends: announced as an alert. */
  readonly alert?: boolean;
  readonly onClose: () => void;
  /** Stands between title and the part that scrolls. */
  readonly top?: ReactNode;
  readonly children: ReactNode;
  /** Buttons; the one with `data-first` gets the focus. */
  readonly footer: ReactNode;
}

/** A modal question: Escape is Cancel, the safe answer has the focus, the middle scrolls. */
export function DialogShell({
  title,
  lead,
  wide = false,
  alert = false,
  onClose,
  top = null,
  children,
  footer,
}: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // A layout effect, because its end still finds the dialog in the page and can hand the focus back.
  useLayoutEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    element?.querySelector<HTMLElement>('[data-first]')?.focus();
    return () => {
      element?.close();
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, []);
  useEffect(() => {
    // A button that had the focus may be gone after its act began; the keyboard must not fall out of the dialog.
    const element = dialog.current;
    if (element !== null && !element.contains(document.activeElement)) {
      element.querySelector<HTMLElement>('[data-first]')?.focus();
    }
  });
  return (
    <dialog
      ref={dialog}
      className={wide ? 'dialog dialog-wide' : 'dialog'}
      role={alert ? 'alertdialog' : 'dialog'}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClose={(event) => {
        // The browser itself closes one that opened without the person's doing, and asks nobody.
        if (!event.currentTarget.open) onClose();
      }}
    >
      <header>
        <h1 id={titleId}>{title}</h1>
        {lead === undefined ? null : <p>{lead}</p>}
      </header>
      {top}
      <div className="dialog-middle">{children}</div>
      <footer>{footer}</footer>
    </dialog>
  );
}
