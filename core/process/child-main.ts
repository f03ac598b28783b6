import { AsyncLocalStorage } from 'node:async_hooks';
import { Socket } from 'node:net';
import { PithError } from '../contract/index.ts';
import { problemOf, guardProcess, runAs, runOutside, type Loader, type Owner } from '../kernel/index.ts';
import { CommandCalls } from './command-bridge.ts';
import { CODEC, errorToData } from './crossing.ts';
import { activeTraceparent, underTraceparent } from '@pith/genai-spans';
import { type Cause, createPeer, type Incoming } from '@pith/process-rpc';
import type { Setup } from './setup.ts';
import { ChildExtension } from './child-extension.ts';

/** The process of one extension: frames on descriptor 3, and nothing of Pith but what that extension needs. Runs until the kernel is gone. */
export function runExtensionProcess(importing: Loader['import']): void {
  const causes = new AsyncLocalStorage<Cause>();
  const terminals = new CommandCalls();
  let extension: ChildExtension | undefined;

  /** Answers for what escapes: all code here is the extension's. */
  const owner: Owner = {
    extensionId: '',
    isShipped: false,
    report: (errorCode, error) => peer.notify('crashed', [errorToData(problemOf(error, extension?.doing ?? 'import', errorCode))]),
  };

  const serve = (operation: string, args: readonly unknown[], incoming: Incoming): unknown => {
    if (operation === 'host.import' || operation === 'host.entry')
      extension = new ChildExtension(importing, peer, terminals, args[0] as Setup);
    if (extension) return extension.serve(operation, args, incoming);
    throw new PithError('internal', `${operation} was asked for before anything was loaded`);
  };

  /** Runs what serves a call, so that all that it logs, publishes and asks for belongs to what caused it, also in the tracing that an extension brings. */
  const under = <T>(cause: Cause, run: () => T): T =>
    cause.correlationId === undefined && cause.traceparent === undefined
      ? run()
      : causes.run(cause, () => underTraceparent(cause.traceparent, run));

  const socket = new Socket({ fd: 3, readable: true, writable: true });
  const peer = runAs(owner, () =>
    createPeer({
      codec: CODEC,
      socket,
      serve,
      under,
      cause() {
        const { correlationId, traceparent } = causes.getStore() ?? {};
        return { correlationId, traceparent: activeTraceparent() ?? traceparent };
      },
      broken: () => runOutside(() => process.exit(0)), // the kernel is gone
    }),
  );
  guardProcess(String, owner);
}
