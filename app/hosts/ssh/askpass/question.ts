import type { Question } from '../questions.ts';

type Kind = Pick<Question, 'type' | 'fingerprint' | 'keyPath'>;

const HOST_KEY = /authenticity of host|continue connecting|type 'yes', 'no' or the fingerprint/iu;
const FINGERPRINT = /key fingerprint is:?\s+(?<fingerprint>(?:SHA256|MD5|SHA512):\S+?)\.?(?:\s|$)/iu;
const PASSPHRASE = /^(?:Enter )?passphrase for (?:RSA1? )?(?:key )?['"]?(?<path>.*?)['"]?:?\s*$/imu;
const PIN = /^Enter PIN for (?:\S+ key )?['"]?(?<path>.*?)['"]?:?\s*$/imu;
const PASSWORD = /password(?: for [^:]*)?\s*:?\s*$/iu;
const YES_NO = /\((?:yes\/no|y\/n)[^)]*\)\??:?\s*$/iu;

/**
 * What kind of question ssh asks. Its words are its only sign; what is none of ssh's own comes from the server and is a
 * code as a rule.
 *
 * @param hint SSH_ASKPASS_PROMPT
 */
export function kindOf(prompt: string, hint: string | null): Kind {
  if (HOST_KEY.test(prompt)) {
    const fingerprint = FINGERPRINT.exec(prompt)?.groups?.['fingerprint'];
    return { type: 'host-key', ...(fingerprint === undefined ? {} : { fingerprint }) };
  }
  if (hint === 'confirm' || hint === 'none') return { type: 'confirm' };
  const keyPath = PASSPHRASE.exec(prompt)?.groups?.['path'] ?? PIN.exec(prompt)?.groups?.['path'];
  if (keyPath !== undefined) return { type: 'passphrase', keyPath };
  if (YES_NO.test(prompt)) return { type: 'confirm' };
  if (PASSWORD.test(prompt) && !/one-time|verification|otp/iu.test(prompt)) return { type: 'password' };
  return { type: 'code' };
}

/** The question as it is shown: lines stay lines, everything else that is invisible goes. */
export function shownText(prompt: string): string {
  return prompt
    .replace(/\r\n?/gu, '\n')
    .replace(/[^\P{C}\n]/gu, '')
    .trim();
}
