// Which rooms (folders) of the house may import which: the order of docs/architecture.md as a table. Read by check-imports.mjs.

const desktopPackages = ['electron', 'react', 'react-dom', 'zustand', '@tanstack/react-virtual'];
const windowPackages = ['react', 'react-dom', 'zustand', '@tanstack/react-virtual'];

/**
 * The rooms that each room may import, types included, besides itself. A file belongs to the room with the longest matching
 * path, and a room that is not listed here is refused. Lower rooms first.
 */
export const rooms = {
  'app/identity': [],
  'app/roll': ['app/identity'],
  'app/audit': ['app/roll', 'app/config', 'app/identity', 'app/util'],
  'app/util': [],
  'app/ipc': [],
  'app/text': ['app/roll'],
  'app/hosts': ['app/identity', 'app/servers'],
  'app/servers': ['app/identity', 'app/roll', 'app/hosts'],
  'app/config': ['app/roll', 'app/servers', 'app/util', 'app/text'],
  'app/records': ['app/identity', 'app/roll', 'app/hosts', 'app/config', 'app/util'],
  'app/hosts/local': [
    'app/identity',
    'app/hosts',
    'app/servers',
    'app/hosts/local/look',
    'app/hosts/local/process',
    'app/hosts/local/procfs',
    'app/util',
  ],
  'app/hosts/local/look': [
    'app/identity',
    'app/hosts',
    'app/servers',
    'app/hosts/local/process',
    'app/hosts/local/procfs',
    'app/util',
  ],
  'app/hosts/local/process': [
    'app/identity',
    'app/hosts',
    'app/hosts/local/look',
    'app/hosts/local/procfs',
    'app/util',
  ],
  'app/hosts/local/procfs': ['app/identity', 'app/util'],
  'app/hosts/ssh': ['app/identity', 'app/hosts', 'app/servers', 'app/config', 'app/util'],
  'app/hosts/ssh/askpass': [
    'app/config',
    'app/hosts/local',
    'app/hosts/local/procfs',
    'app/hosts/ssh',
    'app/util',
    'app/ipc',
  ],
  'app/hosts/ssh/host': [
    'app/identity',
    'app/hosts',
    'app/servers',
    'app/config',
    'app/records',
    'app/hosts/local',
    'app/hosts/local/procfs',
    'app/hosts/ssh',
    'app/hosts/ssh/remote',
    'app/util',
    'app/hosts/local/look',
    'app/hosts/local/process',
  ],
  'app/hosts/ssh/remote': [],
  'app/sessions': [
    'app/identity',
    'app/roll',
    'app/hosts',
    'app/servers',
    'app/config',
    'app/records',
    'app/audit',
    'app/util',
  ],
  'app/sessions/foreign': [
    'app/identity',
    'app/roll',
    'app/hosts',
    'app/servers',
    'app/sessions',
    'app/hosts/local/process',
  ],
  'app/supervisor': [
    'app/identity',
    'app/roll',
    'app/hosts',
    'app/servers',
    'app/config',
    'app/records',
    'app/sessions',
    'app/sessions/foreign',
    'app/supervisor/remote',
    'app/audit',
    'app/util',
    'app/text',
  ],
  'app/supervisor/remote': [
    'app/identity',
    'app/roll',
    'app/hosts',
    'app/hosts/ssh',
    'app/hosts/ssh/askpass',
    'app/hosts/ssh/host',
    'app/servers',
    'app/config',
    'app/sessions',
    'app/supervisor',
    'app/audit',
    'app/text',
    'app/util',
  ],
  'app/control': ['app/roll', 'app/supervisor', 'app/ipc'],
  'app/guard': [
    'app/identity',
    'app/roll',
    'app/hosts',
    'app/hosts/local',
    'app/servers',
    'app/config',
    'app/records',
    'app/supervisor',
    'app/control',
    'app/audit',
    'app/util',
    'app/ipc',
    'app/hosts/local/look',
  ],
  'app/cli': [
    'app/roll',
    'app/servers',
    'app/config',
    'app/sessions',
    'app/supervisor',
    'app/control',
    'app/guard',
    'app/audit',
    'app/identity',
    'app/text',
  ],
  main: [
    'app/roll',
    'app/servers',
    'app/config',
    'app/supervisor',
    'app/control',
    'app/guard',
    'app/audit',
    'app/identity',
    'app/util',
    'app/text',
  ],
  'renderer/view': ['app/roll', 'app/text'],
  'renderer/state': ['app/roll', 'renderer/view', 'app/text'],
  'renderer/dialogs': ['app/roll', 'renderer/view', 'renderer/state', 'renderer/components', 'app/text'],
  'renderer/components': ['app/roll', 'renderer/view', 'renderer/state', 'renderer/dialogs', 'app/text'],
  renderer: ['app/roll', 'renderer/state', 'renderer/components', 'app/text'],
  'renderer/preview': ['app/roll', 'renderer', 'renderer/state', 'app/text'],
};

/**
 * Imports that run against the table today, as `file → file`. The list only gets shorter: the check fails on an entry that
 * no source needs any more.
 */
export const exceptions = [
  'app/config/schema.ts → app/hosts/ssh/alias.ts',
  'app/supervisor/failure.ts → app/hosts/ssh/contract.ts',
  'app/supervisor/fleet.ts → app/control/writer-lock.ts',
  'app/supervisor/local-core.ts → app/control/writer-lock.ts',
  'app/supervisor/local-core.ts → app/hosts/local/local-host.ts',
  'app/supervisor/local-core.ts → app/hosts/local/look/look-client.ts',
  'app/supervisor/local-core.ts → app/hosts/local/look/looker.ts',
  'app/supervisor/starter.ts → app/hosts/ssh/contract.ts',
  'app/supervisor/starter.ts → app/hosts/ssh/host/spawning.ts',
  'renderer/view/hostItems.ts → renderer/components/shapes.ts',
  'renderer/view/sessionItems.ts → renderer/components/shapes.ts',
  'renderer/view/timelineItems.ts → renderer/components/shapes.ts',
];

/** Rules that hold for whole houses. `tests` may reach `to`; `never` names packages that stay out. */
export const houses = {
  app: { tests: ['app', 'e2e/support'], never: desktopPackages },
  main: { tests: ['main', 'app', 'e2e/support'], never: windowPackages },
  renderer: {
    tests: ['renderer', 'app/roll', 'app/text', 'e2e/support'],
    never: ['electron', 'koffi', 'systeminformation'],
  },
  // Scenarios, benchmarks and the chaos run drive every part, and nothing depends on them.
  e2e: { tests: ['e2e', 'app', 'main', 'renderer'], never: [] },
  bench: { tests: ['bench', 'app', 'e2e'], never: [] },
  chaos: { tests: ['chaos', 'app'], never: desktopPackages },
};

/** Rooms that run in the window: no Node, and of a room that has Node only types. */
export const withoutNode = ['app/roll', 'app/text', 'renderer'];
