/** Entry point of the thread that takes looks: it alone reads the process table, so the caller never waits for it. */

import { parentPort, workerData } from 'node:worker_threads';
import { recognise } from '../../../servers/recognition/recognise.ts';
import { messageOf } from '../../../util/errors.ts';
import { ReadFailed } from '../../host.ts';
import type { Collector } from './collect.ts';
import { BEAT, type FromWorker, type ToWorker, type WorkerStart } from './look-protocol.ts';
import { collectorFor } from './looker.ts';

const port = parentPort;
if (port === null) throw new Error('look-worker runs as a worker thread only.');
const start = workerData as WorkerStart;
const beat = new Int32Array(start.beat);
const collector = await collectorFor(start.place, recognise, (pid) => {
  Atomics.store(beat, BEAT.pid, pid);
  Atomics.add(beat, BEAT.step, 1);
});

function answer(asked: ToWorker, from: Collector): FromWorker {
  try {
    switch (asked.ask) {
      case 'look':
        return { answer: 'look', id: asked.id, look: from.look(asked.request, new Set(asked.skip)) };
      case 'inspect':
        return { answer: 'inspect', id: asked.id, info: from.inspect(asked.pid) };
      case 'port':
        return { answer: 'port', id: asked.id, holder: from.portHolder(asked.port) };
    }
  } catch (error) {
    if (error instanceof ReadFailed) return { answer: 'unreadable', id: asked.id, pid: error.pid, why: error.why };
    return { answer: 'failed', id: asked.id, why: messageOf(error) };
  }
}

port.postMessage({ answer: 'ready' } satisfies FromWorker);
port.on('message', (asked: ToWorker) => port.postMessage(answer(asked, collector)));
