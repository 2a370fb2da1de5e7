/** Real scripts and real looks at this machine, as if it were another one; no ssh. */
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../hosts/local/testing/processes.ts';
import { Machine } from './machine.ts';
import { accountHere, FakeLink, FakeSettings, hostsOver, lost, machineDeps, setting } from './ways.testing.ts';

const OTHER_MACHINE = '0123456789abcdef0123456789abcdef';

function machineOver(link: FakeLink, settings: FakeSettings): Machine {
  const machine = new Machine(machineDeps(settings), link.asLink, link.alias);
  link.onChange = () => machine.linkChanged();
  onTestFinished(() => machine.close());
  return machine;
}

/** Runs scripts until one that matches; that one and those after it are as `then` says. */
function from(script: RegExp, run: FakeLink['run'], then: FakeLink['run']): FakeLink['run'] {
  let met = false;
  return (input, deadlineMs) => {
    met ||= script.test(input.toString());
    return (met ? then : run)(input, deadlineMs);
  };
}

/** Changes the settings, and waits until a supervisor that goes on has looked again for that. */
async function changeUnder(settings: FakeSettings, watched: Machine): Promise<void> {
  const supervisor = await watched.ready();
  const { takenAt } = supervisor.part;
  settings.become({});
  await until('the one that goes on has looked again', () => supervisor.part.takenAt !== takenAt);
  await supervisor.refresh();
}

/** Of the first look, and of no script before it. */
const LOOK = /^ *rc_section tables$/mu;

test('a contact whose first look fails has failed: nothing of it goes on, and the next one is made anew', async () => {
  const settings = new FakeSettings();
  const account = accountHere();
  const box = new FakeLink(
    'box',
    from(LOOK, account, () => Promise.reject(lost('box'))),
  );
  const machine = machineOver(box, settings);
  await expect(machine.ready()).rejects.toThrow(/^box\b/u);
  expect(machine.supervisor).toBeNull();
  expect(machine.usable).toBe(false);
  expect(machine.failure).toMatchObject({ step: 'probe', code: 'unexpected' });
  expect(machine.steps.list.find(({ state }) => state === 'failed')).toBeDefined();

  const goesOn = machineOver(new FakeLink('other', account), settings);
  const before = box.ran;
  await changeUnder(settings, goesOn);
  // A supervisor that had stayed would have looked again, too.
  expect(box.ran).toBe(before);

  box.run = account;
  const supervisor = await machine.ready();
  expect(machine.usable).toBe(true);
  expect(machine.failure).toBeNull();
  expect(supervisor.part.host.counted).toBeGreaterThan(0);
});

test('a machine that is let go of during its first look is not looked at any more', async () => {
  const settings = new FakeSettings();
  const account = accountHere();
  let looking: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    looking = resolve;
  });
  const box = new FakeLink('box');
  box.run = from(LOOK, account, async (input, deadlineMs) => {
    looking();
    return account(input, deadlineMs);
  });
  const machine = machineOver(box, settings);
  const ready = machine.ready().catch((error: unknown) => error);
  await begun;
  await machine.close();
  expect(await ready).toMatchObject({ code: 'disconnected' });
  expect(machine.supervisor).toBeNull();
  const goesOn = machineOver(new FakeLink('other', account), settings);
  const before = box.ran;
  await changeUnder(settings, goesOn);
  expect(box.ran).toBe(before);
});

test('two ways that lead to one machine only after a reconnect become one there and then', async () => {
  const settings = new FakeSettings({ one: setting('when-asked'), two: setting('when-asked') });
  let elsewhere: string | null = OTHER_MACHINE;
  const one = new FakeLink('one', accountHere());
  const two = new FakeLink(
    'two',
    accountHere(() => elsewhere),
  );
  const hosts = hostsOver(settings, [one, two]);
  hosts.open();
  await hosts.connect('one', 'window');
  await hosts.connect('two', 'window');
  expect(hosts.supervisors()).toHaveLength(2);

  two.become({ status: 'reconnecting', attempt: 1, retryAt: { monotonic: 0, wall: 0 }, why: lost('two') });
  elsewhere = null;
  two.become({ status: 'connected' });
  await until('one connection is enough', () => two.state.status === 'disconnected');
  expect(hosts.supervisors()).toHaveLength(1);
  const [first, second] = hosts.parts();
  expect(first?.host).toMatchObject({ name: 'one', state: 'connected', ssh: { sharedWith: null } });
  expect(second?.host).toMatchObject({ name: 'two', state: 'connected', ssh: { sharedWith: 'one' } });
  expect(second?.servers).toEqual([]);
  expect(await hosts.reach('two')).toBe(await hosts.reach('one'));
});
