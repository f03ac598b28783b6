/** The kernel's end of one socket alone: a test kernel would not let a test write bytes that no process sends. */
import { Duplex } from 'node:stream';
import type { Declaration } from '../../core/declarations/index.ts';
import type { ExtensionContext } from '../../core/contract/index.ts';
import { createPeer, type Peer } from '@pith/process-rpc';
import { CODEC, CommandCalls, KernelCalls, OwnTurns } from '../../core/process/index.ts';
import { words } from '../words.ts';

/** A context that takes what it is given apart, as the kernel does. */
function context(): ExtensionContext {
  const walk = (...values: unknown[]) => void JSON.stringify(values);
  const later = async (...values: unknown[]) => walk(...values);
  const logger = { debug: walk, info: walk, warn: walk, error: walk };
  const kv = { get: later, set: later, delete: later, keys: later };
  const events = { publish: later, handle: () => () => undefined };
  const agents = {
    list: () => [],
    check: later,
    run: async function* (request: unknown) {
      yield walk(request);
    },
  };
  const parts = {
    id: 'mine',
    logger,
    kv,
    events,
    agents,
    find: () => [],
    use: () => {
      throw new Error('nothing');
    },
  };
  return parts as unknown as ExtensionContext;
}

export interface Ears {
  readonly peer: Peer;
  readonly sent: Buffer[];
  readonly why: string[];
  hear(bytes: Buffer): void;
}

/** The kernel's end of a socket, without a process at the other. */
export function kernelSide(): Ears {
  const sent: Buffer[] = [];
  const why: string[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write(chunk: Buffer, _encoding, done) {
      sent.push(chunk);
      done();
    },
  });
  const reports = { note: () => undefined, failures: { record: () => undefined }, crashed: () => undefined };
  const calls = new KernelCalls({
    reports: reports as unknown as ConstructorParameters<typeof KernelCalls>[0]['reports'],
    callFromProcess: async () => undefined,
    declaration: { id: 'mine', file: 'manifest.yaml' } as Declaration,
    context: context(),
    jobs: () => {
      throw new Error('nothing');
    },
    commands: new CommandCalls(),
    turns: new OwnTurns('mine'),
    peer: () => peer,
    background: () => undefined,
  });
  const peer = createPeer({
    codec: CODEC,
    socket,
    serve: calls.serve,
    ignored: calls.ignored,
    broken: (reason) => why.push(reason),
  });
  return { peer, sent, why, hear: (bytes) => void socket.emit('data', bytes) };
}

/** Any bytes with their length in front. */
export function framed(body: Uint8Array): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32LE(body.length);
  return Buffer.concat([head, body]);
}

/** What a process may ask for, and what it may not. */
export const OPERATIONS = words(`
  log note failure crashed background kv.get kv.set kv.delete kv.keys events.publish events.handle events.off agents.list
  agents.check agents.run use io.print io.ask io.input constructor __proto__ nonsense
`);
