import { type ReactNode, useState } from 'react';
import type { HostEntry } from '../../app/roll/schema.ts';
import { hostStatus } from '../../app/text/host-words.ts';
import { useActs } from '../state/context.tsx';
import { hostActs } from '../view/hostActs.ts';
import { hostFigure, hostShape, hostTooltip } from '../view/hostItems.ts';
import { Glyph } from './Glyph.tsx';
import type { Point } from './Grid.tsx';
import { Menu } from './Menu.tsx';
import { useNow } from './parts.tsx';

/** How often a countdown is looked at, in milliseconds: often enough that no second is skipped. */
export const TICK_MS = 250;

/** The present, renewed while a retry of this host is waited for: each face counts down by itself. */
export function useRetryClock({ ssh }: Pick<HostEntry, 'ssh'>): number {
  return useNow(ssh === null || ssh.retryAt === null ? null : TICK_MS);
}

/** A host's state as its shape. */
export function HostGlyph({ host }: { readonly host: Pick<HostEntry, 'state' | 'ssh'> }) {
  const { name, tone, turning } = hostShape(host);
  return <Glyph name={name} tone={tone} turning={turning} />;
}

interface LineProps {
  readonly name: string;
  readonly shape: ReactNode;
  readonly leaked: number;
  readonly figure: string;
  readonly tooltip: string;
  /** Said by a screen reader after the name. */
  readonly status?: string;
  readonly chosen: boolean;
  readonly onChoose: () => void;
  /** Opens the menu of the line at a point, where it has one. */
  readonly onMenu?: (point: Point) => void;
}

/** One line of the sidebar: shape, name, what is leaked, and the figure. */
export function SideLine(props: LineProps) {
  const { onMenu } = props;
  return (
    <button
      type="button"
      className="host"
      title={props.tooltip}
      aria-current={props.chosen ? 'page' : undefined}
      aria-haspopup={onMenu === undefined ? undefined : 'menu'}
      onClick={props.onChoose}
      onContextMenu={(event) => {
        if (onMenu === undefined) return;
        event.preventDefault();
        // From the keyboard it has no place of its own.
        const box = event.currentTarget.getBoundingClientRect();
        const keyed = event.clientX === 0 && event.clientY === 0;
        onMenu(keyed ? { x: box.left + 24, y: box.bottom } : { x: event.clientX, y: event.clientY });
      }}
    >
      <span className="host-state">{props.shape}</span>
      <span className="host-name clip">{props.name}</span>
      {props.status === undefined ? null : <span className="unseen">, {props.status}</span>}
      {props.leaked === 0 ? null : (
        <span className="host-leaked">
          <Glyph name="leaked" tone="leaked" />
          {props.leaked}
          <span className="unseen"> leaked</span>
        </span>
      )}
      <span className="host-figure clip">{props.figure}</span>
    </button>
  );
}

interface Props {
  readonly host: HostEntry;
  readonly servers: number;
  readonly leaked: number;
  readonly chosen: boolean;
  readonly onChoose: () => void;
}

/** A host in the sidebar, with its menu. */
export function HostLine({ host, servers, leaked, chosen, onChoose }: Props) {
  const acts = useActs();
  const [menu, setMenu] = useState<Point | null>(null);
  const now = useRetryClock(host);
  const items = hostActs(host);
  return (
    <>
      <SideLine
        name={host.name}
        shape={<HostGlyph host={host} />}
        leaked={leaked}
        figure={hostFigure(host, servers, now)}
        tooltip={hostTooltip(host, now)}
        // Without its countdown, which would be read out each second.
        status={hostStatus({ ...host, ssh: host.ssh === null ? null : { ...host.ssh, retryAt: null } }, now)}
        chosen={chosen}
        onChoose={onChoose}
        {...(items.length === 0 ? {} : { onMenu: setMenu })}
      />
      {menu === null ? null : (
        <Menu
          label={host.name}
          items={items}
          point={menu}
          onPick={(act) => acts.openHost(host, act)}
          onClose={() => setMenu(null)}
        />
      )}
    </>
  );
}
