// A minimal MCP server on standard input and output, without tools. With the argument `sticky` it outlives its input.
import { createInterface } from 'node:readline';

const sticky = process.argv[2] === 'sticky';
const lines = createInterface({ input: process.stdin });

lines.on('line', (line) => {
  if (line.trim() === '') return;
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result =
    method === 'initialize'
      ? {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'fake', version: '1' },
        }
      : { tools: [] };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
});
lines.on('close', () => {
  if (!sticky) process.exit(0);
});
if (sticky) setInterval(() => {}, 1000);
