/** What the tray shows for a roll. Pure: the same roll gives the same model. */

import type { Alert, Roll } from '../app/roll/schema.ts';
import { endedBy } from '../app/text/ended-words.ts';
import {
  faultAlerts,
  formatBytes,
  leakedThings,
  leakedTotals,
  plural,
  reapLabelWithGain,
  rollHeadline,
  serverLabel,
  withoutHost,
} from '../app/text/words.ts';
import { LOCAL, quitLabel } from './quit-words.ts';
import { type Fault, hostFaults, hostItem } from './tray-hosts.ts';
import { SEPARATOR, showing, type TrayItem, type TrayModel, type TrayState } from './tray-model.ts';
import { firstThatFits, menuLabel } from './tray-text.ts';

function alertFault(roll: Roll, alert: Alert): Fault {
  const ended = endedBy(roll, alert.ended);
  if (ended !== null) {
    const name = withoutHost(ended.label);
    return {
      line: alert.title,
      label: firstThatFits(`Start ${name} again`, 'Start it again'),
      on: { act: 'run', command: { command: 'start-again', nonce: ended.nonce } },
    };
  }
  if (alert.act === 'retry-hooks') {
    const on = { act: 'run', command: { command: 'retry-hooks' } } as const;
    return { line: alert.title, label: 'Run session-end hooks again', on };
  }
  const server = roll.servers.find((one) => one.id === alert.servers[0]);
  if (server !== undefined) {
    return { line: alert.title, label: `Show ${serverLabel(server)}…`, on: showing({ server: server.id }) };
  }
  if (alert.act === 'start-guard') {
    return { line: alert.title, label: 'Start the guard', on: { act: 'run', command: { command: 'start-guard' } } };
  }
  if (alert.act === 'show-records') {
    return { line: alert.title, label: 'Show stale records…', on: showing({ view: 'records' }) };
  }
  return { line: alert.title, label: 'Show what happened…', on: showing({ view: 'timeline' }) };
}

/** Faults of hosts and of everything else, hosts first and each once. */
function allFaults(roll: Roll): readonly Fault[] {
  const hosts = hostFaults(roll);
  const told = faultAlerts(roll).filter((alert) => !hosts.some(({ host }) => alert.title.startsWith(`${host} `)));
  return [...hosts, ...told.map((alert) => alertFault(roll, alert))];
}

/** The one action for what is leaked, and the way to see it first. */
function reapItems(roll: Roll, withReview: boolean): readonly TrayItem[] {
  const totals = leakedTotals(roll);
  const count = totals.servers + totals.leftovers;
  if (count === 0) return [];
  const running = roll.tasks.find((task) => task.act === 'reap' && task.state === 'running');
  if (running !== undefined) {
    const gone = running.rows.filter((row) => row.outcome === 'gone').length;
    return [{ type: 'text', label: menuLabel(`Reaping, ${gone} of ${running.rows.length} gone`) }];
  }
  const frees = formatBytes(totals.memoryBytes).text;
  const label = firstThatFits(
    reapLabelWithGain(totals),
    `Reap ${leakedThings(totals, '')}, frees ${frees}`,
    `Reap all ${count} leaked, frees ${frees}`,
  );
  const plan = showing({ dialog: 'plan-leaked' });
  // With `reap.ask: always` the one click asks, too, and then its title says so.
  const asks = roll.settings.reapAsk === 'always';
  const items: TrayItem[] = [
    {
      type: 'act',
      label: menuLabel(asks ? `Reap ${leakedThings(totals, 'leaked')}…` : label),
      enabled: true,
      on: asks ? plan : { act: 'run', command: { command: 'reap', targets: 'leaked', confirmed: false, force: false } },
    },
  ];
  if (withReview && !asks) items.push({ type: 'act', label: 'Review…', enabled: true, on: plan });
  return items;
}

function startItem(roll: Roll): TrayItem {
  const items: TrayItem[] = roll.startable.map((one) =>
    one.available
      ? {
          type: 'act',
          label: menuLabel(`${one.kind}…`),
          enabled: true,
          on: showing({ dialog: 'start', kind: one.kind }),
        }
      : { type: 'text', label: menuLabel(`${one.kind}, not found`) },
  );
  return items.length === 0 ? { type: 'text', label: 'Start server' } : { type: 'menu', label: 'Start server', items };
}

function endItems(roll: Roll): readonly TrayItem[] {
  const supervised = roll.servers.filter((server) => server.host === LOCAL && server.supervised !== null);
  if (supervised.length === 0) return [];
  const stoppable = supervised.filter((server) => server.stop.allowed !== 'no');
  const label = menuLabel(`Stop ${plural(supervised.length, 'local server')}…`);
  return [{ type: 'act', label, enabled: stoppable.length > 0, on: showing({ dialog: 'stop-all' }) }];
}

/** The tray for `roll`, by the rules of the tray's own page: state, cost, the one action, hosts, start and end. */
export function trayModel(roll: Roll): TrayModel {
  const faults = allFaults(roll);
  const calm = rollHeadline({ ...roll, alerts: roll.alerts.filter((alert) => alert.level !== 'fault') });
  const totals = leakedTotals(roll);
  const leaked = roll.servers.filter((server) => server.standing === 'leaked').length;
  const leaks = leaked > 0 || totals.leftovers > 0;
  const state: TrayState = faults.length > 0 ? 'fault' : leaks ? 'leaks' : 'fine';
  const fault = faults[0];
  const first = fault === undefined ? calm.first : faults.length === 1 ? fault.line : plural(faults.length, 'fault');
  const second = fault === undefined || !leaks ? calm.second : calm.first;

  const items: TrayItem[] = [{ type: 'text', label: menuLabel(first) }];
  if (second !== '') items.push({ type: 'text', label: menuLabel(second) });
  items.push(SEPARATOR);
  if (fault !== undefined) {
    items.push(
      faults.length === 1
        ? { type: 'act', label: menuLabel(fault.label), enabled: true, on: fault.on }
        : { type: 'act', label: `Show ${plural(faults.length, 'fault')}…`, enabled: true, on: showing({}) },
    );
  }
  items.push(...reapItems(roll, fault === undefined));
  items.push({ type: 'act', label: 'Open Rollcall', enabled: true, on: showing({}) });
  items.push(SEPARATOR, ...roll.hosts.map((host) => hostItem(roll, host)));
  items.push(SEPARATOR, startItem(roll), ...endItems(roll));
  items.push(SEPARATOR);
  items.push({ type: 'act', label: 'Settings…', enabled: true, on: showing({ view: 'settings' }) });
  items.push({ type: 'act', label: menuLabel(quitLabel(roll)), enabled: true, on: { act: 'quit' } });
  return { state, tooltip: `Rollcall: ${first}`, leaked, items };
}
