import { Notification } from 'electron';
import type { Show } from '../app/roll/channels.ts';
import type { Roll } from '../app/roll/schema.ts';
import { bodyText, GATHER_MS, type Notice, NoticeDesk } from './notices.ts';

/** Shows notifications for what is new in each roll. */
export class Notifications {
  readonly #desk = new NoticeDesk();
  readonly #onClick: (show: Show) => void;
  readonly #roll: () => Roll;
  readonly #gatherMs: number;
  /** Held, or a shown notification could be collected before it is clicked. */
  readonly #shown = new Set<Notification>();
  #timer: NodeJS.Timeout | null = null;

  /**
   * @param roll the roll at the moment of telling
   * @param gatherMs how long news are gathered into one notification, in milliseconds
   */
  constructor(roll: () => Roll, onClick: (show: Show) => void, gatherMs: number = GATHER_MS) {
    this.#roll = roll;
    this.#onClick = onClick;
    this.#gatherMs = gatherMs;
  }

  /** Takes in a new roll. */
  rollChanged(roll: Roll): void {
    if (!this.#desk.take(roll) || this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      const notice = this.#desk.flush(this.#roll());
      if (notice !== null) this.show(notice);
    }, this.#gatherMs);
  }

  show(notice: Notice): void {
    if (!Notification.isSupported()) return;
    const shown = new Notification({ title: notice.title, body: bodyText(notice.body, process.platform) });
    const forget = (): void => {
      this.#shown.delete(shown);
    };
    shown.on('click', () => {
      forget();
      this.#onClick(notice.show);
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
