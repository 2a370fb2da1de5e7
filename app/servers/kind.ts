import type { ProcessIdentity } from '../identity/identity.ts';
import type { SessionState } from '../roll/schema.ts';

/**
 * What a process is, by its exact argv positions and executable, never by a substring.
 *
 * `role` tells the process that does the work (`server`) from one that only started it (`wrapper`: a node shim,
 * `npx`, `sh -c`); both belong to one server. `subject` groups helpers that serve one session (`--resume=ID`).
 */
export interface Recognition {
  /** Name of the kind: `opencode`, `kilo`, `t3`, `codex`, `claude-mcp`, `claude-serve`, or a custom kind's. */
  readonly kind: string;
  readonly role: 'server' | 'wrapper';
  /** Port in the arguments; null when none or 0 is given. */
  readonly declaredPort: number | null;
  /** How it talks: on TCP, on a Unix socket, or on its standard streams. */
  readonly transport: 'tcp' | 'socket' | 'stdio';
  /** Its own tool registered it as a daemon (`opencode serve --service`, `codex … --managed-daemon`). */
  readonly registeredService: boolean;
  readonly subject: string | null;
  /** Another server is known to own this kind of process (an MCP helper of a live server). */
  readonly helper: boolean;
}

/** The part of a process that recognition looks at. */
export interface Recognisable {
  readonly comm: string;
  readonly argv: readonly string[];
  /** The bytes that `argv` was decoded from, where they are at hand: most processes are told by these alone. */
  readonly rawArgv?: Buffer | null;
  /** Null where it is not known, because it could not be read or was not yet: then nothing is recognised for sure. */
  readonly executablePath: string | null;
}

/** What a process is, as far as the evidence at hand decides it. */
export type Recognised =
  | { readonly state: 'server'; readonly recognition: Recognition }
  | { readonly state: 'other' }
  /** Its program is not known, so nothing is decided. `claims` is what its arguments alone say; null for nothing. */
  | { readonly state: 'unproved'; readonly claims: Recognition | null };

/** A kind that a person defined in the configuration file. */
export interface CustomKind {
  readonly name: string;
  /**
   * Program file name or absolute path that the executable or an interpreter's script must equal, or argv[0] where the
   * executable has that name with a suffix (`agent-1.2`).
   */
  readonly program: string;
  /** Arguments that must follow the program in exactly these positions. */
  readonly args: readonly string[];
  /** Command to start it; `{port}` and `{directory}` are replaced. Absent when it is only watched. */
  readonly start?: readonly [string, ...string[]];
  /** Path of its health endpoint on its own port, and text its body must contain. */
  readonly health?: { readonly path: string; readonly contains: string };
}

/** How a listener is reached from this process. */
export type DialAddress =
  /** A literal loopback address of this machine. */
  | { readonly type: 'tcp'; readonly address: string; readonly port: number }
  /** A Unix socket in our runtime folder that only this user can open: the near end of a forward. */
  | { readonly type: 'socket'; readonly path: string };

/** For HTTP Basic authentication. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** A listener that has been verified to belong to the recorded server. */
export interface Endpoint {
  readonly identity: ProcessIdentity;
  /** Literal loopback address and port on the server's own host. */
  readonly address: string;
  readonly port: number;
  /** Where it is asked from here. Of a server on another host this is never its own address. */
  readonly at: DialAddress;
  /** Present only for servers of ours; never logged. */
  readonly credentials: Credentials | null;
}

export type Health =
  | { readonly state: 'ok'; readonly version: string | null }
  /** It answers, but wants a password we do not have (401 or 403): alive, and not ours to talk to. */
  | { readonly state: 'locked' }
  /** No answer, or not its kind's answer, within the deadline. */
  | { readonly state: 'unresponsive'; readonly why: string }
  | { readonly state: 'unknown'; readonly why: string };

/** One reading of the server's own signs of work. `unknown` says why it could not be had. */
export type Busyness =
  | { readonly busy: true; readonly sign: string }
  | { readonly busy: false; readonly sign: string }
  | { readonly busy: 'unknown'; readonly why: string };

/** What a server says of one of its sessions. */
export interface SessionFact {
  readonly id: string;
  /** One line; empty where it has none. */
  readonly title: string;
  readonly directory: string | null;
  /** Id of the session that started it. */
  readonly parent: string | null;
  /** Never `ended`: a session that was deleted is in `deleted` instead. */
  readonly state: Exclude<SessionState, 'ended'>;
  /** What it waits for, why it is tried again, what failed, why nothing is known; a clause. */
  readonly detail: string | null;
  /** By the server's clock, in milliseconds since the epoch; null where it did not say. */
  readonly createdAt: number | null;
  readonly updatedAt: number | null;
  /** When an event of this very server last told of it, on our monotonic clock in milliseconds; null for never. */
  readonly heardAt: number | null;
  /** Folder whose instance in the server told of it, where acts on it go; it may be another than its own. */
  readonly instance?: string | null;
}

export interface SessionReading {
  /** Null once the server has told of all its sessions; else why not, as a clause about it. */
  readonly why: string | null;
  /**
   * The same object as long as nothing has changed, and so is each fact in it. Also what was known before a stream
   * broke, as `unknown`. `heardAt` alone is renewed every few seconds only.
   */
  readonly sessions: ReadonlyMap<string, SessionFact>;
  /**
   * Ids that went away while it was watched, the newest: deleted, put into the archive by a person, or no longer in the
   * list. One that comes back is not in it any more.
   */
  readonly deleted: ReadonlySet<string>;
  /** Not all are there: it has more than are kept. */
  readonly truncated: boolean;
}

/** A followed server: its event stream, and now and then a question, all of them passive. */
export interface ServerWatch {
  /**
   * What the events of this connection say; `unknown` until the stream is open, when it broke or is locked, and for a
   * while after a reconnect as long as a session that was busy before has not been heard of.
   */
  reading(): Busyness;
  /**
   * When the last event came that was no heartbeat; else when this connection was opened; null while none is open.
   * Milliseconds on the monotonic clock of this thread (`performance.now()`), never to be compared with `Date.now()`.
   */
  lastSign(): number | null;
  sessions(): SessionReading;
  /**
   * Folders in which something of the server works by other signs than its events (a tool of it runs there), so that its
   * instance for them exists already and what its sessions do may be asked.
   */
  worksIn(folders: readonly string[]): void;
  /**
   * When it broke for good, on the monotonic clock in milliseconds: with a password it does not connect again by itself,
   * since whoever listens there by then is not proved. Null as long as it goes on.
   */
  brokeAt(): number | null;
  close(): void;
}

/** Acts on one session of a server, and how a person joins it. */
export interface SessionActs {
  /**
   * Interrupts it. Only ever asked of a verified listener; refused for a session that its own events did not tell of,
   * since the question alone would load the session's folder there.
   *
   * @returns null when it was interrupted, else why not, as a clause
   */
  abort(endpoint: Endpoint, session: SessionFact, deadlineMs: number): Promise<string | null>;
  /** Command that attaches a terminal to it. @param url the server's page on this machine */
  attach(url: string, session: string): readonly string[];
}

/** One step of ending a server of a kind, in order; the look between steps is the ender's own. */
export type EndingStep =
  | { readonly step: 'dispose'; readonly method: 'POST'; readonly path: string; readonly deadlineMs: number }
  | { readonly step: 'signal'; readonly signal: 'SIGTERM' | 'SIGKILL' | 'SIGINT'; readonly waitMs: number };

export interface StartPlan {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** Port asked for; null lets the server choose. */
  readonly port: number | null;
}

/** Where programs are looked for: on one host, as one account. */
export interface ProgramFinder {
  /** A file of this absolute path that may be run. */
  isProgram(path: string): Promise<boolean>;
  /** First program of that name on the PATH that a start would have. */
  onPath(name: string): Promise<string | null>;
  /** The same on the PATH of the login shell, which may be longer; `unasked` where none was asked, or none answered. */
  onLoginPath(name: string): Promise<string | 'unasked' | null>;
  /** Where `onPath` looks: "on PATH", "on the PATH of build-01 without a login". */
  readonly place: string;
}

export type Found =
  | { readonly found: true; readonly program: string }
  | { readonly found: false; readonly why: string; readonly remedy: string };

/** Everything Rollcall knows about one kind of server. One file per kind implements it. */
export interface Kind {
  readonly name: string;
  /** Returns null unless the process is exactly of this kind. Pure. */
  recognise(process: Recognisable): Recognition | null;
  /** Environment variable in which its children carry its PID; null when it marks nothing. */
  readonly mark: 'OPENCODE_PID' | 'KILO_PID' | null;
  /**
   * Follows the server's own event stream and asks for its sessions (passive requests only). `onChange` fires when a
   * reading changes, at most ten times a second. Null when the kind has no stream. The caller closes it.
   */
  watch: ((endpoint: Endpoint, onChange: () => void) => ServerWatch) | null;
  /** Why its sessions cannot be known, a clause about the kind; null where `watch` tells of them. */
  readonly sessionsWhy: string | null;
  /** Variables of its environment that protect it by HTTP Basic authentication; null where it has none. */
  readonly protection: {
    readonly password: string;
    readonly username: string;
    readonly defaultUsername: string;
  } | null;
  /** Null where nothing can be done with its sessions from outside. */
  readonly sessionActs: SessionActs | null;
  readonly ending: readonly EndingStep[];
  /** Its own health endpoint, within the deadline; only passive requests. Never throws. */
  health(endpoint: Endpoint, deadlineMs: number): Promise<Health>;
  /** URL to open in a browser, or null when it has no page. */
  pageUrl(address: string, port: number): string | null;
  /** Where its program is; null when this kind cannot be started from here. */
  locate: ((finder: ProgramFinder) => Promise<Found>) | null;
  startPlan: ((program: string, directory: string, port: number | null) => StartPlan) | null;
}
