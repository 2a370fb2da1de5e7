/** The environment a server of ours starts with: the person's own, without what belongs to us or to another server. */

/**
 * Never handed on: marks of the server whose tool may have started us, Electron's switches, what an AppImage puts in
 * front of the system's libraries (children must not link against a mount that goes away with us), our own folders.
 */
const DROPPED = [
  /^OPENCODE_PID$/u,
  /^OPENCODE$/u,
  /^KILO_PID$/u,
  /^ROLLCALL_(NONCE|KIND|CONFIG_DIR|STATE_DIR)$/u,
  /^ELECTRON_/u,
  /^CHROME_DESKTOP$/u,
  /^NODE_OPTIONS$/u,
  /^(APPDIR|APPIMAGE|ARGV0|OWD)$/u,
  /^npm_/u,
];

/** Lists of folders from which those inside an AppImage's mount are taken out. */
const FOLDER_LISTS = ['PATH', 'LD_LIBRARY_PATH', 'XDG_DATA_DIRS', 'GSETTINGS_SCHEMA_DIR', 'PYTHONPATH'];

/** Pure. */
export function serverEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  additions: Readonly<Record<string, string>>,
): Record<string, string> {
  const mount = own['APPDIR'];
  const out: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined || DROPPED.some((pattern) => pattern.test(name))) continue;
    if (mount !== undefined && mount !== '' && FOLDER_LISTS.includes(name)) {
      const kept = value.split(':').filter((folder) => !folder.startsWith(mount));
      if (kept.length > 0) out[name] = kept.join(':');
    } else {
      out[name] = value;
    }
  }
  return { ...out, ...additions };
}
