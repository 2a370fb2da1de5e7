/** Is a process run by a service manager or in a container, as its cgroup and namespaces tell. Pure. */
import type { Look, ProcessInfo } from '../../hosts/host.ts';

const SHELLS_AND_SESSIONS =
  /^(?:org\.gnome\.Shell|gnome-shell|gnome-session|plasma-|xfce|xdg-desktop|dbus(?:-broker)?\.service|gdm3?\.|sddm\.|lightdm\.|display-manager\.|greetd\.)/u;
const TERMINALS =
  /(?:^|[-.@])(?:gnome-terminal(?:-server)?|konsole|yakuake|kitty|alacritty|wezterm(?:-gui)?|foot(?:-server)?|tmux|screen|xterm|tilix|terminator|ghostty|ptyxis)(?:[-@.].*)?\.service$/iu;

/**
 * Units that merely contain what people start by hand: the user manager, log-ins, cron, display managers, desktop
 * shells, terminals, and the `app-…` units that desktops wrap around every application (XDG names for systemd), unless
 * that application is an agent server itself.
 */
const NOT_A_SERVICE = [
  /^user@\d+\.service$/u,
  /^(?:ssh|sshd|ssh@.*|sshd@.*|getty@.*|serial-getty@.*|console-getty|login)\.service$/u,
  /^(?:cron|crond|anacron|atd|fcron)\.service$/u,
  SHELLS_AND_SESSIONS,
  TERMINALS,
  /^app-(?!.*(?:opencode|codex|kilo|t3code|claude)).*\.service$/u,
];

const CONTAINER = /(?:^|\/)(?:docker|libpod|crio|cri-containerd|lxc|kubepods|machine\.slice|buildkit)[-./]/u;

export interface ServiceFact {
  readonly state: 'yes' | 'no' | 'unknown';
  readonly fact: string;
  /** Unit or container as an owner's name; null when none. */
  readonly unit: string | null;
}

/**
 * The service that a cgroup belongs to in the sense of DESIGN section 2, else null. A service may divide its own group
 * further (systemd's `Delegate=`), so the nearest unit counts, not only the last part of the path.
 */
export function serviceUnit(cgroup: string): string | null {
  const unit = cgroup
    .split('/')
    .reverse()
    .find((part) => /\.(?:service|scope|slice)$/u.test(part));
  if (unit === undefined || !unit.endsWith('.service')) return null;
  return NOT_A_SERVICE.some((pattern) => pattern.test(unit)) ? null : unit;
}

/**
 * @param registered its own tool registered it as a daemon
 */
export function serviceFact(info: ProcessInfo, look: Look, registered: boolean): ServiceFact {
  if (info.cgroup !== null) {
    const unit = serviceUnit(info.cgroup);
    if (unit !== null) return { state: 'yes', fact: `it belongs to the unit ${unit}`, unit };
  }
  if (info.ownPidNamespace !== null && info.ownPidNamespace !== look.observer.pidNamespace) {
    return { state: 'yes', fact: 'it runs in a container (a PID namespace of its own)', unit: 'container' };
  }
  if (info.cgroup !== null && CONTAINER.test(info.cgroup) && !look.ownCgroupIsContainer) {
    return { state: 'yes', fact: 'it runs in a container', unit: 'container' };
  }
  if (registered) return { state: 'yes', fact: 'its own tool registered it as a daemon', unit: 'its own tool' };
  if (info.cgroup === null) return { state: 'unknown', fact: 'its cgroup could not be read', unit: null };
  return { state: 'no', fact: 'no unit, no container, not registered as a daemon', unit: null };
}
