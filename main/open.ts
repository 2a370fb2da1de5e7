/** What the app opens outside itself: loopback URLs, files of ours, the clipboard. Nothing else. */

import { existsSync } from 'node:fs';
import { clipboard, shell } from 'electron';
import type { Roll } from '../app/roll/schema.ts';
import { messageOf } from '../app/util/errors.ts';
import { urlOf } from './server-url.ts';

type Done = { readonly ok: true } | { readonly ok: false; readonly message: string };

export async function openServerUrl(roll: Pick<Roll, 'servers'>, id: string): Promise<Done> {
  const found = urlOf(roll, id);
  if ('message' in found) return { ok: false, message: found.message };
  try {
    await shell.openExternal(found.url);
    return { ok: true };
  } catch (error) {
    return {
      ok: false,
      message: `No browser opened ${found.url} (${messageOf(error)}). Copy the URL and open it yourself.`,
    };
  }
}

export function copyServerUrl(roll: Pick<Roll, 'servers'>, id: string): Done {
  const found = urlOf(roll, id);
  if ('message' in found) return { ok: false, message: found.message };
  clipboard.writeText(found.url);
  return { ok: true };
}

export function copyText(text: string): Done {
  clipboard.writeText(text);
  return { ok: true };
}

/** Opens a file with the desktop's own program for it. `what` names it in the sentence for the person. */
export async function openFile(path: string | null, what: string): Promise<Done> {
  if (path === null) return { ok: false, message: `There is no ${what} for this server.` };
  if (!existsSync(path)) return { ok: false, message: `${path} does not exist yet. Create it, then try again.` };
  const failed = await shell.openPath(path);
  return failed === '' ? { ok: true } : { ok: false, message: `${path} could not be opened: ${failed}` };
}
