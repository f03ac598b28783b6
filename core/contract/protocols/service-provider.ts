import { defineProtocol } from '../protocol.ts';

/** Work in the background while the kernel serves or chats. */
export interface ServiceProvider {
  /** Resolves when `signal` aborts. A rejection restarts it with back-off; three in five minutes stop it. */
  runBackground(signal: AbortSignal): Promise<void>;
}

export const ServiceProvider = defineProtocol<ServiceProvider>(
  'service',
  {
    runBackground: { kind: 'method', signature: 'runBackground(signal: AbortSignal): Promise<void>', timeoutMs: null },
  },
  { inProcessOnly: true },
);
