/** Projects and servers that end with the test that makes them. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { startOpenAiServer, type OpenAiServer } from '../fixtures/openai-server.ts';
import { projectFolder, type Folder } from './pith-process.ts';

export async function ownFolder(files: Readonly<Record<string, string>> = {}): Promise<Folder> {
  const folder = await projectFolder(files);
  onTestFinished(() => folder.remove());
  return folder;
}

export interface OwnServer extends OpenAiServer {
  /** With which `pith` asks it. */
  readonly env: Readonly<Record<string, string>>;
}

export async function ownServer(): Promise<OwnServer> {
  const server = await startOpenAiServer();
  onTestFinished(() => server.close());
  return { ...server, env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'sk-test', PITH_MODEL: 'openai/test' } };
}

/** A port that nobody has now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
