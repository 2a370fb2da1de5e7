import { type ReactNode, useEffect, useId, useRef } from 'react';

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
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    element?.querySelector<HTMLElement>('[data-first]')?.focus();
    // Closing hands the focus back to where it was.
    return () => element?.close();
  }, []);
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
