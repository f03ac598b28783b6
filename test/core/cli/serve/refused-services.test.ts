import path from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { runCli } from '../../../../core/cli/index.ts';
import { createKernel } from '../../../../core/compose/index.ts';
import { folderWith } from '../../../places.ts';
import { until } from '../../../waiting.ts';
import { sink } from '../fakes.ts';
import { superviseHere } from './supervisor.ts';

const SERVER = `export default class {
  constructor({ id, events }) { Object.assign(this, { id, events }); }
  start() { this.events.publish('service.refused', { extensionId: this.id }); }
  async runBackground() {}
}
`;

it('W1 K21 pith serve says that it serves once a service that had refused is ready, whose later failures do not end it', async () => {
  const folder = folderWith({
    'sandbox/pith.yaml': 'extensions: { server: { isolation: in_process } }\n',
    'sandbox/extensions/server/manifest.yaml': 'id: server\nentrypoint: main.ts\nprovides: [service]\n',
    'sandbox/extensions/server/main.ts': SERVER,
  });
  const sandbox = path.join(folder, 'sandbox');
  const kernel = await createKernel({ accepts: true, sandbox, env: {}, home: null, only: [] });
  superviseHere();
  const end = new AbortController();
  const input = Object.assign(new PassThrough(), { isTTY: false });
  const [out, err] = [sink(), sink()];
  const served = runCli(
    {
      argv: ['serve'],
      cwd: folder,
      env: { PITH_TRUST: '1', PITH_SUPERVISED: '1' },
      stdio: { input, output: out.stream, error: err.stream },
      openKernel: async () => kernel,
    },
    end.signal,
  );
  await until(() => expect(kernel.host.extensions.state('server')).toBe('active'));
  kernel.events.publish('service.ready', { extensionId: 'server', text: 'ready after all' });
  await until(() => expect(out.text()).toBe(`server: ready after all\nServing ${sandbox}; Ctrl-C ends it\n`));
  kernel.events.publish('extension.failed', {
    extensionId: 'server',
    phase: 'background',
    at: 0,
    code: 'internal',
    message: 'it ended',
    cure: 'none',
  });
  await until(() => expect(err.text()).toContain('it ended'));
  end.abort();
  expect(await served).toBe(0);
});
