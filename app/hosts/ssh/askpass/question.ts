import type { SshQuestion } from './questions.ts';

type Kind = Pick<SshQuestion, 'type' | 'fingerprint' | 'keyPath'>;

/** Since OpenSSH 8.5 ssh itself puts `(user@host) ` before text of the server, and it begins no other prompt like that. */
const FROM_SERVER = /^\(/u;
// Each describes the whole prompt, so that nothing which only contains ssh's words is taken for them.
const HOST_KEY =
  /^The authenticity of host '[^\n]*' can't be established.*Are you sure you want to continue connecting \(yes\/no[^)\n]*\)\?\s*$/su;
const HOST_KEY_AGAIN = /^Please type 'yes'(?:,| or) 'no'(?: or the fingerprint)?:\s*$/u;
const FINGERPRINT = /^[^\n]*key fingerprint is:?\s+(?<fingerprint>(?:SHA256|MD5|SHA512):\S+?)\.?$/imu;
const PASSPHRASE = /^(?:Enter )?passphrase for (?:RSA1? )?(?:key )?['"]?(?<path>[^\n]*?)['"]?:?\s*$/iu;
const PIN = /^Enter PIN (?:and confirm user presence )?for (?:[^\s'"]+ key )?['"]?(?<path>[^\n]*?)['"]?:?\s*$/iu;
const YES_NO = /^[^\n]*\((?:yes\/no|y\/n)[^)\n]*\)\??:?\s*$/iu;
const PASSWORD = /password(?: for [^:]*)?\s*:?\s*$/iu;
const ONE_TIME = /one-time|verification|otp/iu;

/**
 * What kind of question ssh asks. Its words are its only sign; what is none of ssh's own comes from the server and is a
 * code as a rule. Text of the server is never more than a password or a code, whatever it says: what is answered to it
 * goes to that server.
 *
 * @param hint SSH_ASKPASS_PROMPT
 */
export function questionTypeOf(prompt: string, hint: string | null): Kind {
  return (FROM_SERVER.test(prompt) ? null : ownKind(prompt, hint)) ?? asked(prompt);
}

/** What ssh asks for itself, and answers to nobody else; null when it is none of that. */
function ownKind(prompt: string, hint: string | null): Kind | null {
  if (HOST_KEY.test(prompt) || HOST_KEY_AGAIN.test(prompt)) {
    const fingerprint = FINGERPRINT.exec(prompt)?.groups?.['fingerprint'];
    return { type: 'host-key', ...(fingerprint === undefined ? {} : { fingerprint }) };
  }
  if (hint === 'confirm' || hint === 'none') return { type: 'confirm' };
  const keyPath = PASSPHRASE.exec(prompt)?.groups?.['path'] ?? PIN.exec(prompt)?.groups?.['path'];
  if (keyPath !== undefined) return { type: 'passphrase', keyPath };
  return YES_NO.test(prompt) ? { type: 'confirm' } : null;
}

function asked(prompt: string): Kind {
  return { type: PASSWORD.test(prompt) && !ONE_TIME.test(prompt) ? 'password' : 'code' };
}

/** The question as it is shown: lines stay lines, everything else that is invisible goes. */
export function shownText(prompt: string): string {
  return prompt
    .replace(/\r\n?/gu, '\n')
    .replace(/[^\P{C}\n]/gu, '')
    .trim();
}
