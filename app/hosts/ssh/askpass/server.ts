/** Takes the questions of our own ssh processes to the person, and nobody else's. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { FrameReader, MalformedFrame } from '../../../ipc/frames.ts';
import { listenUnix } from '../../../ipc/unix-listener.ts';
import { ensureRuntimeFolder } from '../../../util/folders.ts';
import type { Libc } from '../../../util/libc.ts';
import { ANSWER_BYTES, ASK_REQUEST_LIMIT, ID_VARIABLE, RUNTIME_VARIABLE, SOCKET_VARIABLE } from './names.ts';
import { isFromSsh } from './peer.ts';
import { type AskRequest, askRequestSchema } from './protocol.ts';
import { questionTypeOf, shownText } from './question.ts';
import type { Ask, GivenUp, PromptBroker, PromptScope, SshQuestion } from './questions.ts';

export interface AskpassOptions {
  /** The app's runtime folder; the socket goes to `ssh` below it. */
  readonly runtimeDir: string;
  /** Absolute path of `askpass.sh`, with `askpass.js` beside it. */
  readonly script: string;
  /** The program that runs `askpass.js`: our own executable. */
  readonly runtime: string;
  readonly ask: Ask;
  /** For the check of peers; null where there is none. */
  readonly libc: Libc | null;
  /** How long a person may take for one answer, in milliseconds. */
  readonly timeoutMs?: number;
}

export interface AskpassServer extends PromptBroker {
  /** Takes pending questions back and removes the socket. Idempotent. */
  close(): Promise<void>;
}

const PERSON_MS = 3 * 60_000;
/** The helper sends its question as soon as it is connected. */
const REQUEST_MS = 5000;
const MAX_CONNECTIONS = 32;

/** @throws UnsafeFolder, FolderFailed, or the system's error when the socket cannot be made */
export async function startAskpass(options: AskpassOptions): Promise<AskpassServer> {
  const folder = join(options.runtimeDir, 'ssh');
  const prepare = (): void => {
    ensureRuntimeFolder(options.runtimeDir);
    ensureRuntimeFolder(folder);
  };
  prepare();
  const path = join(folder, `ask-${randomBytes(4).toString('hex')}.sock`);
  const desk = new Desk(options, path);
  const listener = await listenUnix({
    path,
    maxConnections: MAX_CONNECTIONS,
    onConnection: (socket) => desk.take(socket),
    prepare,
  });
  return {
    admit: (alias, onPending) => desk.admit(alias, onPending),
    close() {
      desk.close();
      return listener.close();
    },
  };
}

/** One ssh that may ask. */
class Admitted implements PromptScope {
  readonly env: Readonly<Record<string, string>>;
  readonly id = randomUUID();
  readonly alias: string;
  readonly onPending: (question: SshQuestion | null) => void;
  readonly abort = new AbortController();
  readonly #asked = new Map<string, number>();
  readonly #onRelease: () => void;
  pid: number | null = null;
  givenUp: GivenUp = null;

  constructor(
    alias: string,
    env: Readonly<Record<string, string>>,
    onPending: (question: SshQuestion | null) => void,
    onRelease: () => void,
  ) {
    this.alias = alias;
    this.env = { ...env, [ID_VARIABLE]: this.id };
    this.onPending = onPending;
    this.#onRelease = onRelease;
  }

  started(pid: number): void {
    this.pid = pid;
  }

  release(): void {
    this.pid = null;
    this.abort.abort();
    this.#onRelease();
  }

  question(prompt: string, hint: string | null): SshQuestion {
    const kind = questionTypeOf(prompt, hint);
    const text = shownText(prompt);
    const what = `${kind.type} ${text}`;
    const attempt = (this.#asked.get(what) ?? 0) + 1;
    this.#asked.set(what, attempt);
    return { id: randomUUID(), alias: this.alias, ...kind, text, attempt };
  }
}

class Desk {
  readonly #options: AskpassOptions;
  readonly #env: Readonly<Record<string, string>>;
  readonly #admitted = new Map<string, Admitted>();
  readonly #sockets = new Set<Socket>();

  constructor(options: AskpassOptions, path: string) {
    this.#options = options;
    this.#env = {
      SSH_ASKPASS: options.script,
      SSH_ASKPASS_REQUIRE: 'force',
      // Before OpenSSH 8.4 a display was what made ssh use the helper.
      DISPLAY: process.env['DISPLAY'] || ':0',
      [SOCKET_VARIABLE]: path,
      [RUNTIME_VARIABLE]: options.runtime,
    };
  }

  admit(alias: string, onPending: (question: SshQuestion | null) => void): PromptScope {
    const admitted = new Admitted(alias, this.#env, onPending, () => this.#admitted.delete(admitted.id));
    this.#admitted.set(admitted.id, admitted);
    return admitted;
  }

  close(): void {
    for (const admitted of [...this.#admitted.values()]) admitted.release();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Reads one question, if the peer may ask one, and answers it or closes without a word. */
  take(socket: Socket): void {
    this.#sockets.add(socket);
    const reader = new FrameReader(ASK_REQUEST_LIMIT);
    const timer = setTimeout(() => socket.destroy(), REQUEST_MS);
    socket.once('error', () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(timer);
      this.#sockets.delete(socket);
    });
    let asked = false;
    socket.on('data', (chunk: Buffer) => {
      // One question for each connection.
      if (asked) return void socket.destroy();
      try {
        for (const value of reader.push(chunk)) {
          const request = askRequestSchema.safeParse(value);
          const admitted = request.success ? this.#admitted.get(request.data.id) : undefined;
          if (asked || !request.success || admitted === undefined || !this.#mayAsk(socket, admitted)) {
            socket.destroy();
            return;
          }
          asked = true;
          clearTimeout(timer);
          void this.#answer(socket, admitted, request.data);
        }
      } catch (error) {
        if (!(error instanceof MalformedFrame)) throw error;
        socket.destroy();
      }
    });
  }

  #mayAsk(socket: Socket, { pid }: Admitted): boolean {
    return pid !== null && isFromSsh(socket, pid, this.#options.libc);
  }

  async #answer(socket: Socket, admitted: Admitted, { prompt, hint }: AskRequest): Promise<void> {
    // Given up once is given up: ssh goes on to the next way to log in.
    const answer = admitted.givenUp === null ? await this.#ask(socket, admitted, prompt, hint) : null;
    if (!socket.destroyed) socket.end(`${JSON.stringify({ answer })}\n`);
  }

  /** Null without an answer; then the reason is noted, unless nobody waits any more. */
  async #ask(socket: Socket, admitted: Admitted, prompt: string, hint: string | null): Promise<string | null> {
    const question = admitted.question(prompt, hint);
    const gone = new AbortController();
    const leave = (): void => gone.abort();
    socket.once('close', leave);
    const signal = AbortSignal.any([admitted.abort.signal, gone.signal]);
    const { timeoutMs = PERSON_MS, ask } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<'timeout' | 'gone'>((resolve) => {
      timer = setTimeout(() => resolve('timeout'), timeoutMs);
      signal.addEventListener('abort', () => resolve('gone'), { once: true });
      if (signal.aborted) resolve('gone');
    });
    admitted.onPending(question);
    try {
      const asking = ask(question, signal).then((answer) => ({ answer: usable(answer) }));
      const outcome = await Promise.race([asking, over]);
      if (outcome === 'gone') return null;
      if (outcome === 'timeout') {
        admitted.givenUp = 'timeout';
        return null;
      }
      if (outcome.answer === null) admitted.givenUp = 'cancelled';
      return outcome.answer;
    } catch {
      // Whoever asks could not: nobody was there to answer.
      admitted.givenUp = 'cancelled';
      return null;
    } finally {
      clearTimeout(timer);
      socket.off('close', leave);
      // Also tells the asker to take its window away.
      gone.abort();
      admitted.onPending(null);
    }
  }
}

/** ssh reads one line; a longer answer would be cut and tried as another. */
function usable(answer: string | null): string | null {
  if (answer === null || /[\r\n\0]/u.test(answer) || Buffer.byteLength(answer) > ANSWER_BYTES) return null;
  return answer;
}
