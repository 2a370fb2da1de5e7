/** Acts under way and just finished, as the roll shows them. */
import { randomUUID } from 'node:crypto';
import type { ReapResult, Task } from '../../roll/schema.ts';

/** How many finished acts stay visible until they are dismissed. */
const KEEP_FINISHED = 5;

export interface RunningTask {
  readonly id: string;
  message(text: string): void;
  row(index: number, phase: string, outcome?: ReapResult['outcome']): void;
  end(state: 'done' | 'failed', message: string, results?: readonly ReapResult[]): void;
}

export class Tasks {
  #tasks: Task[] = [];
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Oldest first. Each change makes new objects, so a snapshot that was handed out never changes. */
  get list(): readonly Task[] {
    return this.#tasks;
  }

  begin(
    act: Task['act'],
    title: string,
    rows: readonly { readonly id: string | null; readonly label: string }[],
  ): RunningTask {
    const id = randomUUID();
    const task: Task = {
      id,
      act,
      title,
      startedAt: new Date().toISOString(),
      endedAt: null,
      state: 'running',
      message: '',
      rows: rows.map((row) => ({ ...row, phase: 'waiting', outcome: null })),
      results: [],
    };
    this.#tasks = [...this.#tasks, task];
    this.#onChange();
    const change = (how: (task: Task) => Task): void => {
      this.#tasks = this.#tasks.map((candidate) => (candidate.id === id ? how(candidate) : candidate));
      this.#onChange();
    };
    return {
      id,
      message: (text) => change((now) => ({ ...now, message: text })),
      row: (index, phase, outcome) =>
        change((now) => ({
          ...now,
          message: phase,
          rows: now.rows.map((row, at) => (at === index ? { ...row, phase, outcome: outcome ?? row.outcome } : row)),
        })),
      end: (state, message, results = []) => {
        change((now) => ({ ...now, state, message, endedAt: new Date().toISOString(), results: [...results] }));
        this.#trim();
      },
    };
  }

  dismiss(id: string): boolean {
    const found = this.#tasks.some((task) => task.id === id && task.state !== 'running');
    if (found) {
      this.#tasks = this.#tasks.filter((task) => task.id !== id);
      this.#onChange();
    }
    return found;
  }

  #trim(): void {
    const finished = this.#tasks.filter(({ state }) => state !== 'running');
    const surplus = new Set(finished.slice(0, Math.max(0, finished.length - KEEP_FINISHED)).map(({ id }) => id));
    this.#tasks = this.#tasks.filter(({ id }) => !surplus.has(id));
  }
}
