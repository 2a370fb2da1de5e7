import type { NavigationTarget } from '../app/roll/channels.ts';
import type { Command } from '../app/roll/commands.ts';

/** What a click on a tray menu item does. */
export type TrayAct =
  | { readonly act: 'show'; readonly show: NavigationTarget }
  | { readonly act: 'run'; readonly command: Command }
  | { readonly act: 'open-url'; readonly server: string }
  | { readonly act: 'copy-url'; readonly server: string }
  | { readonly act: 'quit' };

/** One line of the tray menu. `label` is ready for the menu: cut to its limit, `&` doubled. */
export type TrayItem =
  | { readonly type: 'separator' }
  | { readonly type: 'text'; readonly label: string }
  | { readonly type: 'act'; readonly label: string; readonly enabled: boolean; readonly on: TrayAct }
  | { readonly type: 'menu'; readonly label: string; readonly items: readonly TrayItem[] };

/** The shape of the icon. Fault wins over leaks, since the count of leaks may then be incomplete. */
export type TrayState = 'fine' | 'leaks' | 'fault';

/** Everything the tray shows, derived from one roll and nothing else. */
export interface TrayModel {
  readonly state: TrayState;
  /** Also the accessible name. */
  readonly tooltip: string;
  /** How many servers are leaked; macOS shows it beside the icon. */
  readonly leaked: number;
  readonly items: readonly TrayItem[];
}

export const SEPARATOR: TrayItem = { type: 'separator' };

/** A place in the window, the servers' view unless `place` says otherwise. */
export function showing(place: Partial<NavigationTarget>): TrayAct {
  return { act: 'show', show: { view: 'servers', server: null, dialog: 'none', kind: null, ...place } };
}
