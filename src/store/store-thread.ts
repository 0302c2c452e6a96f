/**
 * The thread that owns the file: a write waits for the disk here, and the control plane does not. (An fsync waits for the journal thread
 * of the file system, which runs under the fair scheduler; on a host full of FIFO work that is tens of milliseconds.)
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { assert } from '../contracts/errors.js';
import { StoreFile, type StoreFileOptions } from './store-file.js';
import { type FromStore, failureOf, type ToStore } from './store-protocol.js';

function serve(port: MessagePort, options: StoreFileOptions): void {
  const answer = (message: FromStore): void => port.postMessage(message);
  let file: StoreFile;
  try {
    file = new StoreFile(options);
  } catch (thrown) {
    answer({ kind: 'refused', failure: failureOf(thrown) });
    return;
  }
  port.on('message', (message: ToStore) => {
    if (message.kind === 'close') {
      file.close();
      port.close();
      return;
    }
    try {
      file.apply(message.changes);
      answer({ kind: 'applied' });
    } catch (thrown) {
      answer({ kind: 'applied', failure: failureOf(thrown) });
    }
  });
  answer({ kind: 'opened', contents: file.contents });
}

assert(parentPort !== null, 'the store runs in a thread of its own');
serve(parentPort, workerData as StoreFileOptions);
