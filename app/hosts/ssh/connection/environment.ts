/**
 * Marks by which processes are told apart, and options meant for our own runtime: an ssh that carried them would count
 * as somebody's child. The askpass settings are ours to choose.
 */
const DROPPED =
  /^(?:OPENCODE|OPENCODE_PID|KILO_PID|ROLLCALL_NONCE|ROLLCALL_KIND|NODE_OPTIONS|NODE_CHANNEL_FD|ELECTRON_.*|SSH_ASKPASS|SSH_ASKPASS_REQUIRE|LC_ALL|LC_MESSAGES|LANGUAGE)$/u;

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment of every ssh we start: ours, with the system's messages in English, since they are read here. How
 * text is encoded stays the person's setting. Without `askpass` nothing can be asked.
 */
export function sshEnvironment(env: Environment, askpass: Environment | null = null): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !DROPPED.test(name)) kept[name] = value;
  }
  const encoding = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'];
  if (encoding) kept['LC_CTYPE'] = encoding;
  kept['LC_MESSAGES'] = 'C';
  kept['SSH_ASKPASS_REQUIRE'] = 'never';
  for (const [name, value] of Object.entries(askpass ?? {})) if (value !== undefined) kept[name] = value;
  return kept;
}
