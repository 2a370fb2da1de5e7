import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkElectronApi } from './electron-api.mjs';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'api-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('API that only the newer Electron has is refused, what both have passes', async () => {
  const older = path.join(folder, 'older', 'electron.d.ts');
  mkdirSync(path.dirname(older));
  writeFileSync(
    older,
    'export const app: { getName(): string };\nexport const session: { readonly defaultSession: object };\n',
  );
  const file = path.join(folder, 'a.ts');
  writeFileSync(file, "import { app } from 'electron';\nexport const name: string = app.getName();\n");
  await checkElectronApi([file], older);
  writeFileSync(
    file,
    "import { session } from 'electron';\nexport const f = () => session.defaultSession.registerPreloadScript;\n",
  );
  await expect(checkElectronApi([file], older)).rejects.toMatchObject({
    tail: expect.stringContaining("Property 'registerPreloadScript' does not exist"),
  });
});
