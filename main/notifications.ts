import { Notification } from 'electron';
import type { NavigationTarget } from '../app/roll/channels.ts';
import type { Roll } from '../app/roll/schema.ts';
import { bodyText, GATHER_MS, type Notice, NotificationCenter, PROMPT_MS } from './notices.ts';

/** Shows notifications for what is new in each roll. */
export class Notifications {
  readonly #desk = new NotificationCenter();
  readonly #onClick: (show: NavigationTarget) => void;
  readonly #roll: () => Roll;
  readonly #gatherMs: number;
  /** Held, or a shown notification could be collected before it is clicked. */
  readonly #shown = new Set<Notification>();
  #timer: NodeJS.Timeout | null = null;
  /** When the timer is due, and when something was told last; monotonic milliseconds. */
  #due = 0;
  #toldAt = Number.NEGATIVE_INFINITY;

  /**
   * @param roll the roll at the moment of telling
   * @param gatherMs how long news are gathered into one notification, in milliseconds
   */
  constructor(roll: () => Roll, onClick: (show: NavigationTarget) => void, gatherMs: number = GATHER_MS) {
    this.#roll = roll;
    this.#onClick = onClick;
    this.#gatherMs = gatherMs;
  }

  /** Takes in a new roll. @param seen a window shows it, where questions open by themselves */
  rollChanged(roll: Roll, seen: boolean): void {
    if (!this.#desk.take(roll, seen)) return;
    const now = performance.now();
    const soon = this.#desk.urgent && now - this.#toldAt >= this.#gatherMs;
    this.#tellAt(now + (soon ? Math.min(PROMPT_MS, this.#gatherMs) : this.#gatherMs));
  }

  #tellAt(due: number): void {
    if (this.#timer !== null) {
      if (this.#due <= due) return;
      clearTimeout(this.#timer);
    }
    this.#due = due;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      const notice = this.#desk.flush(this.#roll());
      if (notice === null) return;
      this.#toldAt = performance.now();
      this.show(notice);
    }, due - performance.now());
  }

  /** Whether this desktop shows any at all. */
  get supported(): boolean {
    return Notification.isSupported();
  }

  show(notice: Notice): void {
    if (!this.supported) return;
    const { button } = notice;
    const shown = new Notification({
      title: notice.title,
      body: bodyText(notice.body, process.platform),
      // Electron has buttons on macOS only.
      ...(button === undefined ? {} : { actions: [{ type: 'button' as const, text: button.text }] }),
    });
    const forget = (): void => {
      this.#shown.delete(shown);
    };
    shown.on('click', () => {
      forget();
      this.#onClick(notice.show);
    });
    shown.on('action', () => {
      forget();
      this.#onClick(button?.show ?? notice.show);
    });
    shown.on('close', forget);
    // No notification service on this desktop: tray and window say the same.
    shown.on('failed', forget);
    this.#shown.add(shown);
    shown.show();
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const shown of this.#shown) shown.close();
    this.#shown.clear();
  }
}
