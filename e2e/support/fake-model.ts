/**
 * A model for `opencode` that needs no network: speaks the streaming chat-completions protocol on a loopback port.
 * A prompt `RUN: command` makes it call the bash tool once; anything else is answered in a word.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join, resolve } from 'node:path';

interface ChatMessage {
  readonly role: string;
  readonly content: unknown;
}

export interface FakeModel {
  readonly baseUrl: string;
  close(): Promise<void>;
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { text?: unknown }) => (typeof part.text === 'string' ? part.text : '')).join('');
}

function answer(messages: readonly ChatMessage[], hasTools: boolean): object[] {
  const asked = [...messages].reverse().find(({ role }) => role === 'user');
  const command = /^RUN: (?<command>.+)$/su.exec(textOf(asked?.content).trim())?.groups?.['command'];
  const answered = messages.at(-1)?.role === 'tool';
  if (command !== undefined && hasTools && !answered) {
    const call = { name: 'bash', arguments: JSON.stringify({ command, description: 'Runs what was asked' }) };
    return [
      { delta: { role: 'assistant', tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: call }] } },
      { delta: {}, finish_reason: 'tool_calls' },
    ];
  }
  return [{ delta: { role: 'assistant', content: 'Done.' } }, { delta: {}, finish_reason: 'stop' }];
}

async function bodyOf(request: IncomingMessage): Promise<{ messages: ChatMessage[]; tools?: unknown[] }> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text) as { messages: ChatMessage[]; tools?: unknown[] };
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { messages, tools } = await bodyOf(request);
  response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' });
  for (const choice of answer(messages, (tools ?? []).length > 0)) {
    const chunk = {
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'fake-1',
      choices: [{ index: 0, ...choice }],
    };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
  response.end('data: [DONE]\n\n');
}

export async function startFakeModel(): Promise<FakeModel> {
  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => {
      response.statusCode = 500;
      response.end(String(error));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the fake model has no port');
  return {
    baseUrl: `http://127.0.0.1:${address.port}/v1`,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}

/**
 * Configuration that makes `opencode` use the model, allow its tools, and run two MCP servers, one of them deaf to EOF.
 *
 * @param other parts of it that are to be different
 */
export function writeOpencodeConfig(folder: string, model: FakeModel, other: object = {}): Record<string, string> {
  mkdirSync(folder, { recursive: true });
  const mcp = resolve(import.meta.dirname, 'fake-mcp.mjs');
  const file = join(folder, 'opencode.json');
  writeFileSync(
    file,
    JSON.stringify({
      model: 'fake/fake-1',
      small_model: 'fake/fake-1',
      autoupdate: false,
      share: 'disabled',
      permission: { bash: 'allow', edit: 'allow' },
      provider: {
        fake: {
          npm: '@ai-sdk/openai-compatible',
          name: 'Fake',
          options: { baseURL: model.baseUrl, apiKey: 'none' },
          models: { 'fake-1': { name: 'Fake 1', tool_call: true, limit: { context: 100_000, output: 4000 } } },
        },
      },
      mcp: {
        good: { type: 'local', command: [process.execPath, mcp], enabled: true },
        sticky: { type: 'local', command: [process.execPath, mcp, 'sticky'], enabled: true },
      },
      ...other,
    }),
  );
  return { OPENCODE_CONFIG: file };
}

/** Creates a session in the folder and sends it a prompt; resolves once the server has taken it. */
export async function prompt(port: number, directory: string, text: string): Promise<string> {
  const base = `http://127.0.0.1:${port}`;
  const where = `directory=${encodeURIComponent(directory)}`;
  const json = { 'content-type': 'application/json' };
  // The first request of a folder makes the server start its MCP servers, which takes a while on a busy machine.
  const signal = AbortSignal.timeout(60_000);
  const created = await fetch(`${base}/session?${where}`, { method: 'POST', headers: json, body: '{}', signal });
  const { id } = (await created.json()) as { id: string };
  const sent = await fetch(`${base}/session/${id}/prompt_async?${where}`, {
    method: 'POST',
    headers: json,
    signal,
    body: JSON.stringify({ parts: [{ type: 'text', text }] }),
  });
  if (sent.status !== 204) throw new Error(`the prompt was answered with ${sent.status}`);
  return id;
}
