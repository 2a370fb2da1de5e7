/**
 * The helper that ssh runs to ask something: hands the question to Rollcall and prints the answer. Exit code 1 is "no
 * answer". It is short-lived and knows nothing but this one answer.
 */
import { connect } from 'node:net';
import { ASK_REPLY_LIMIT, ID_VARIABLE, MAX_PROMPT, SOCKET_VARIABLE } from './names.ts';

const { [SOCKET_VARIABLE]: path, [ID_VARIABLE]: id, SSH_ASKPASS_PROMPT: hint } = process.env;

if (path === undefined || id === undefined) {
  console.error('Rollcall’s askpass is run by ssh, for a connection that Rollcall makes.');
  process.exit(1);
}

const socket = connect(path);
let text = '';
socket.setEncoding('utf8');
socket.once('connect', () => {
  socket.write(`${JSON.stringify({ id, prompt: (process.argv[2] ?? '').slice(0, MAX_PROMPT), hint: hint ?? null })}\n`);
});
socket.on('data', (chunk: string) => {
  text += chunk;
  if (text.length > ASK_REPLY_LIMIT) socket.destroy();
});
socket.once('error', () => {
  process.exitCode = 1;
});
socket.once('close', () => {
  const answer = answerIn(text);
  if (answer === null) process.exitCode = 1;
  else process.stdout.write(`${answer}\n`);
});

function answerIn(line: string): string | null {
  try {
    const { answer } = JSON.parse(line) as { answer?: unknown };
    return typeof answer === 'string' ? answer : null;
  } catch {
    return null; // closed without an answer
  }
}
