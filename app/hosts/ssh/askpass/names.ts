/** Shared by the app and the helper, which loads nothing else. */

/** Where the helper finds the socket. */
export const SOCKET_VARIABLE = 'ROLLCALL_ASKPASS_SOCKET';
/** Which ssh asks; everybody may know it. */
export const ID_VARIABLE = 'ROLLCALL_ASKPASS_ID';
/** The program that runs the helper (askpass.sh). */
export const RUNTIME_VARIABLE = 'ROLLCALL_ASKPASS_RUNTIME';

export const MAX_PROMPT = 8192;
/** A question with its escapes; bytes. */
export const ASK_REQUEST_LIMIT = 65_536;
/** ssh reads no more than 1023 bytes of an answer. */
export const ANSWER_BYTES = 1023;
export const ASK_REPLY_LIMIT = 8192;
