import type { Recognisable } from '../kind.ts';
import { executableOnDisk, fileName, invocationOf, stemOf } from './argv.ts';

/** Programs that own or carry agent servers, by a folder in the path of their executable or script. */
const BY_FOLDER: readonly (readonly [RegExp, string])[] = [
  [/\/\.vscode-server(?:-insiders)?\//u, 'VS Code server'],
  [/\/\.cursor-server\//u, 'Cursor server'],
  [/\/\.windsurf-server\//u, 'Windsurf server'],
  [/\/\.zed_server\//u, 'Zed remote server'],
  [/\/code-server\//u, 'code-server'],
];

const BY_NAME: ReadonlyMap<string, string> = new Map([
  ['code', 'VS Code'],
  ['code-insiders', 'VS Code'],
  ['codium', 'VSCodium'],
  ['cursor', 'Cursor'],
  ['windsurf', 'Windsurf'],
  ['zed', 'Zed'],
  ['zed-editor', 'Zed'],
  ['idea', 'IntelliJ IDEA'],
  ['nvim', 'Neovim'],
]);

/** Name of a known editor or editor's server that this program is; null for any other. Such a tree is never ours to reap. */
export function editorLabel(process: Recognisable): string | null {
  const invocation = invocationOf(process);
  const executable = process.executablePath === null ? null : executableOnDisk(process.executablePath);
  for (const path of [executable, invocation?.program ?? null]) {
    if (path === null) continue;
    const folder = BY_FOLDER.find(([pattern]) => pattern.test(path));
    if (folder !== undefined) return folder[1];
  }
  return BY_NAME.get(stemOf(executable ?? invocation?.program ?? process.comm)) ?? null;
}

/** A process as a person would call it: `VS Code`, `node launcher.js`, `tmux`. One line, never empty. */
export function programLabel(process: Recognisable): string {
  const editor = editorLabel(process);
  if (editor !== null) return editor;
  const invocation = invocationOf(process);
  // A title that was rewritten (`tmux: server`, `sshd: ann@pts/3`) is one string: its first word is the program.
  const first = (process.argv[0] ?? '').trim().split(/\s+/u)[0] ?? '';
  const runner = fileName(first.replace(/^-|:$/gu, ''));
  const name =
    invocation !== null && invocation.interpreter !== null ? `${runner} ${fileName(invocation.program)}` : runner;
  const plain = name
    .replace(/\s+/gu, ' ')
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .trim();
  const cut = plain.length > 60 ? `${plain.slice(0, 59)}…` : plain;
  return cut === '' ? process.comm || 'a process without a name' : cut;
}
