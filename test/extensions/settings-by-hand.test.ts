import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { kernelCommands } from '../../core/cli/index.ts';
import { servedKernel } from './http/served-kernel.ts';

type Schema = Readonly<Record<string, unknown>>;
type Marked = readonly [key: string, reason: unknown];

/** Each setting of a schema, with why it is written by hand. */
function settingsIn(schema: Schema, above = ''): readonly Marked[] {
  const { properties = {}, additionalProperties, items, by_hand: reason } = schema;
  if (reason !== undefined) return [[above, reason]];
  const below = [
    ...Object.entries(properties as Readonly<Record<string, Schema>>),
    ...[additionalProperties, items].flatMap((each) => (typeof each === 'object' ? [['x', each as Schema] as const] : [])),
  ];
  return [
    ...(above === '' ? [] : [[above, undefined] as const]),
    ...below.flatMap(([name, each]) => settingsIn(each, above === '' ? name : `${above}.${name}`)),
  ];
}

/** Names of settings that start a program, name an address or a key, or open a boundary. */
const TELLING =
  /^(?!max_)(?:.*_)?(?:command|args|url|endpoint|api_key_env|env|hosts?|origins|proxies|home|paths?|sources|links|sandbox|approvals?|allow|trust|may_.*)$/u;
/** A name that is only printed, and globs that only narrow. */
const HARMLESS = ['skill_webhooks.public_url', 'skill_registry.allowed'];

it('W15 what starts a program, names an address of a key or opens a boundary is set by hand only, whichever extension that ships has it', async () => {
  const ids = readdirSync('sandbox/extensions').filter((id) => readdirSync(path.join('sandbox/extensions', id)).includes('manifest.yaml'));
  const api = await servedKernel({ only: ids, commands: kernelCommands, files: { 'pith.yaml': '# mine\n' } });
  const token = await api.token({ role: 'admin', may: 'admin' });
  const { setup } = api.pith.kernel.host;
  const file = path.join(api.pith.sandbox, 'pith.yaml');
  const patch = (id: string, value: string) =>
    api.request(`/api/extensions/${id}/settings`, { method: 'PATCH', token, json: { values: [value] } });
  const [marked, unmarked]: [string[], string[]] = [[], []];
  for (const id of ids) {
    const schema = (await setup.form(id)).schema as Schema | null;
    for (const [key, reason] of schema === null ? [] : settingsIn(schema)) {
      const name = key.split('.').at(-1) ?? '';
      if (reason === undefined) {
        if (TELLING.test(name) && !HARMLESS.includes(`${id}.${key}`)) unmarked.push(`${id}.${key}`);
        continue;
      }
      marked.push(`${id}.${key}`);
      for (const value of [`${key}=x`, `${key}=null`, `${key}.x.command=id`])
        expect([value, await patch(id, value)]).toMatchObject([
          value,
          {
            status: 403,
            json: {
              error: {
                code: 'not_allowed',
                message: expect.stringContaining(String(reason)),
                cure: { text: 'write it into pith.yaml by hand' },
              },
            },
          },
        ]);
      await expect(setup.configure(id, { [`extensions.${id}.${key}`]: 'x' }, 'agent')).rejects.toMatchObject({ code: 'not_allowed' });
    }
  }
  expect(unmarked).toEqual([]);
  for (const key of [
    'hooks.x',
    'mcp.servers',
    'http.hosts',
    'web.private_origins',
    'openai_compatible.providers.x.base_url',
    'skill_scripts.scripts.approval',
  ])
    expect(marked).toContain(key);
  expect(await patch('project_tools', 'shell={"home":["."]}')).toMatchObject({ status: 403 }); // within a value
  expect(readFileSync(file, 'utf8')).toBe('# mine\n');
  expect(await patch('project_tools', 'shell.timeout_seconds=9')).toMatchObject({ status: 200 });
  expect(await setup.configure('web', { 'extensions.web.base_url': 'http://localhost:1' })).toMatchObject({ written: file }); // a person was asked
});
