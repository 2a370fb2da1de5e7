import type { ReactElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Roll } from '../../app/roll/schema.ts';
import { fakeBridge } from '../preview/bridge.ts';
import { DENIED, hostsRoll, question, sshEntry, sshHost, stepsTo } from '../preview/hosts.ts';
import { exampleRoll, HOME, TAKEN_AT } from '../preview/rolls.ts';
import { createActs } from '../state/actions.ts';
import { RollcallContext } from '../state/context.tsx';
import { createWindowStore, type HostSteps } from '../state/store.ts';
import { DisconnectDialog } from './DisconnectDialog.tsx';
import { HostFormDialog, nameProblem } from './HostFormDialog.tsx';
import { matching } from './HostPicker.tsx';
import { HostStepsDialog, phaseOf } from './HostStepsDialog.tsx';
import { Questions } from './Questions.tsx';
import { RemoveHostDialog } from './RemoveHostDialog.tsx';
import { StartDialog, startHosts } from './StartDialog.tsx';
import { stepsOf } from './StepList.tsx';

beforeEach(() => {
  vi.useFakeTimers({ now: TAKEN_AT });
});
afterEach(() => {
  vi.useRealTimers();
});

function drawn(roll: Roll, element: ReactElement, host: string | null = null): string {
  const store = createWindowStore();
  store.setState({ roll, host });
  // What is drawn without a page shows a store's first state.
  Object.assign(store, { getInitialState: store.getState });
  return renderToStaticMarkup(
    <RollcallContext value={{ store, acts: createActs(store, fakeBridge(roll)) }}>{element}</RollcallContext>,
  );
}

const words = (html: string): string => html.replace(/<[^>]+>/gu, ' ').replace(/\s+/gu, ' ');
const buttons = (html: string): (string | undefined)[] =>
  [...html.matchAll(/<button[^>]*>([^<]*)<\/button>/gu)].map(([, label]) => label);
/** The one that has the focus. */
const focused = (html: string): string | undefined =>
  /<(?:button|input)[^>]*data-first="true"[^>]*>([^<]*)/u.exec(html)?.[0];

const steps = (over: Partial<HostSteps> = {}): HostSteps => ({
  type: 'host-steps',
  host: 'web-eu',
  answer: null,
  form: null,
  purpose: 'show',
  ...over,
});

describe('adding a host', () => {
  test('what is typed narrows the hosts, those that begin with it first', () => {
    const { offered } = hostsRoll();
    expect(matching(offered, 'WEB').map(({ alias }) => alias)).toEqual([
      'web-eu',
      'web-us',
      'webhooks',
      'old-web',
      'ssh://web-old.example.net:2222',
    ]);
    expect(matching(offered, 'nothing')).toEqual([]);
    expect(matching(offered, '')).toHaveLength(offered.length);
  });

  test('a name that is taken is refused in a sentence, one of a host that is not saved is free', () => {
    const roll = hostsRoll();
    expect(nameProblem(roll, 'web-eu', null)).toBe('There is a host web-eu already. Choose another name.');
    expect(nameProblem(roll, 'local', null)).toContain('the name of this machine');
    expect(nameProblem(roll, 'web-eu', 'web-eu')).toBeNull();
    expect(nameProblem(roll, 'myself', null)).toBeNull();
    expect(nameProblem(roll, '', null)).toBeNull();
  });

  test('the field has the focus; an edit offers to save, a new host to connect', () => {
    const roll = hostsRoll();
    const adding = drawn(roll, <HostFormDialog roll={roll} form={null} />);
    expect(buttons(adding)).toEqual(['Test', 'Cancel', 'Connect']);
    expect(focused(adding)).toContain('role="combobox"');
    const form = { name: 'lab', alias: 'pi-lab', connect: 'when-asked' as const, was: 'lab' };
    const edit = drawn(roll, <HostFormDialog roll={roll} form={form} />);
    expect(words(edit)).toContain('Edit lab');
    expect(buttons(edit)).toEqual(['Test', 'Cancel', 'Save']);
    expect(edit).not.toContain('checked=""');
  });
});

describe('the steps', () => {
  test('each is there with what came of it; after a failure what never began is left out', () => {
    expect(stepsOf({ steps: stepsTo('host-key', 'running'), failure: null }).map(({ state }) => state)).toEqual([
      ...Array.from({ length: 3 }, () => 'done'),
      'running',
      ...Array.from({ length: 4 }, () => 'waiting'),
    ]);
    expect(stepsOf({ steps: [], failure: null })).toHaveLength(8);
    expect(stepsOf({ steps: stepsTo('authentication', 'failed'), failure: DENIED }).at(-1)).toMatchObject({
      step: 'authentication',
      state: 'failed',
    });
  });

  test('D5 a failed one has its sentence and its remedy beside it, and the raw output only behind a link', () => {
    const roll = hostsRoll();
    const html = drawn(roll, <HostStepsDialog steps={steps()} roll={roll} />);
    expect(words(html)).toContain('web-eu refused the sign-in');
    expect(words(html)).toContain(`Sign in : failed ${DENIED.message} ${DENIED.remedy}`);
    expect(html).not.toContain('debug1');
    expect(buttons(html)).toEqual(['Show ssh output', 'Close', 'Try again']);
  });

  test('D5 a changed key is a refusal with no way to accept it; the safe answer has the focus', () => {
    const roll = hostsRoll();
    const html = drawn(roll, <HostStepsDialog steps={steps({ host: 'build-02' })} roll={roll} />);
    expect(html).toContain('role="alertdialog"');
    expect(words(html)).toContain('The key of build-02 has changed');
    expect(buttons(html)).toEqual(['Show ssh output', 'Copy command', 'Close']);
    expect(focused(html)).toContain('Close');
  });

  test('an attempt stands where its own answer says, an older one where the roll says', async () => {
    const roll = hostsRoll();
    const web = roll.hosts.find(({ name }) => name === 'web-eu') ?? null;
    const asked = steps({ answer: new Promise(() => undefined) });
    expect(phaseOf(asked, null, web)).toBe('running');
    expect(phaseOf(asked, { ok: true, message: '', server: null, results: [] }, web)).toBe('done');
    expect(phaseOf(steps(), null, web)).toBe('failed');
    expect(phaseOf(steps(), null, roll.hosts.find(({ name }) => name === 'web-us') ?? null)).toBe('running');
  });

  test('a refusal before any step is told below', () => {
    const bare = sshHost('nowhere', 'failed', {
      ssh: sshEntry('nowhere', { steps: [], failure: { ...DENIED, step: 'alias', message: 'It is no name.' } }),
    });
    const roll = { ...hostsRoll(), hosts: [bare] };
    const html = drawn(roll, <HostStepsDialog steps={steps({ host: 'nowhere' })} roll={roll} />);
    expect(words(html)).toContain(`It is no name. ${DENIED.remedy}`);
  });
});

describe('what ssh asks', () => {
  const asked = (...questions: Roll['questions']): string => drawn(hostsRoll(), <Questions questions={questions} />);

  test('D5 an unknown key shows its fingerprint, and Cancel has the focus', () => {
    const html = asked(question('host-key'));
    expect(html).toContain('role="alertdialog"');
    expect(words(html)).toContain('Is this the key of web-asia?');
    expect(words(html)).toContain('ED25519 SHA256:q7Zt 0sYh Lw3B 9nVf RkE5 uXa2 mGdC 8pJr T4iO y6HS vNc');
    expect(buttons(html)).toEqual(['Show what ssh says', 'Cancel', 'Trust and connect']);
    expect(focused(html)).toContain('Cancel');
    expect(words(html)).toContain('1 min 53 s left');
  });

  test.each([
    ['password', 'Password for web-asia'],
    ['passphrase', 'Passphrase for id_ed25519'],
    ['code', 'One-time code for web-asia'],
  ] as const)('D5 a %s is masked, has its time, and says when one was wrong', (type, title) => {
    const html = asked(question(type));
    expect(words(html)).toContain(title);
    expect(focused(html)).toMatch(/type="password"/u);
    expect(buttons(html)).toEqual(['Cancel', 'Continue']);
    expect(words(html)).toContain('1 min 53 s left');
    expect(html).not.toContain('field-problem');
    expect(words(asked(question(type, { attempt: 2 })))).toContain('Attempt 2.');
  });

  test('a server’s words are shown as the server’s, and only those about a key as ssh’s', () => {
    const text = 'ssh asks: the passphrase of your key';
    for (const type of ['password', 'code'] as const) {
      const shown = words(asked(question(type, { text })));
      expect(shown).toContain(`web-asia asks: ${text}`);
      expect(shown.match(/ssh asks:/gu)).toHaveLength(1);
    }
    const key = 'Enter passphrase for /home/me/.ssh/id_ed25519:';
    expect(words(asked(question('passphrase', { text: key })))).toContain(`ssh asks: ${key}`);
  });

  test('they come one after the other, and no answer asks nothing', () => {
    const html = asked(question('password'), question('code', { host: 'web-us' }));
    expect(html.match(/<dialog/gu)).toHaveLength(1);
    expect(words(html)).toContain('1 more follows');
    expect(asked()).toBe('');
  });

  test('a confirmation has ssh’s words, and No has the focus', () => {
    const html = asked(question('confirm'));
    expect(words(html)).toContain('Allow use of key id_ed25519?');
    expect(focused(html)).toContain('No');
  });
});

describe('leaving a host', () => {
  const roll = exampleRoll();
  const there = roll.servers.filter(({ host }) => host === 'build-01');

  test('disconnect and stop lists what stops; what is busy must be ticked first', () => {
    const servers = there.filter(({ supervised }) => supervised !== null);
    const html = drawn(roll, <DisconnectDialog host="build-01" servers={servers} />);
    expect(words(html)).toContain('Disconnect build-01 and stop 1 server?');
    expect(words(html)).toContain('512 MB freed, 1 busy.');
    expect(html).toMatch(/<button[^>]*disabled=""[^>]*>Disconnect and stop 1 server</u);
    expect(focused(html)).toContain('Cancel');
    expect(words(drawn(roll, <DisconnectDialog host="gpu-rack" servers={[]} />))).toContain('so nothing stops');
  });

  test('removing says that everything there goes on', () => {
    const host = roll.hosts.find(({ name }) => name === 'build-01');
    if (host === undefined) throw new Error('the example has no build-01');
    const html = words(drawn(roll, <RemoveHostDialog host={host} servers={there} />));
    expect(html).toContain('4 servers there go on, 0 are stopped');
    expect(html).toContain('1 record of Rollcall stays on the host');
    expect(html).toContain('Your ssh config and known_hosts are not touched');
  });
});

test('a server is started on any connected host, each machine once; on another host it stays by default', () => {
  const roll = hostsRoll();
  expect(startHosts(roll).map(({ name }) => name)).toEqual(['local', 'build-01', 'gpu-rack']);
  const there = drawn(roll, <StartDialog roll={roll} home={HOME} kind={null} />, 'build-01');
  expect(there).toMatch(/<option[^>]*selected=""[^>]*>build-01/u);
  expect(there).toContain('checked=""/><span class="box">');
  expect(words(there)).not.toContain('Choose…');
  const here = drawn(roll, <StartDialog roll={roll} home={HOME} kind={null} />);
  expect(words(here)).toContain('Choose…');
  expect(here).not.toContain('checked=""/><span class="box">');
});
