import { expect, it } from 'vitest';
import type { JsonValue } from 'pith';
import { until } from '../../waiting.ts';
import { apiKernel } from './api-kernel.ts';

type Row = Readonly<Record<string, JsonValue>>;

/** null: the kernel's own, whose paths of this machine are hidden in answers. */
const COMMANDS: Readonly<Record<string, string | null>> = {
  'GET /api/agents': null,
  'GET /api/agents/helper': null,
  'GET /api/tools': null,
  'GET /api/models': null,
  'GET /api/models/chosen': null,
  'GET /api/extensions': null,
  'GET /api/extensions/risky': null,
  'GET /api/jobs': null,
  'GET /api/skills': null,
  'GET /api/skills/letters': null,
  'GET /api/saved': 'saved list',
  'GET /api/saved/local%2Fone': 'saved show one',
  'GET /api/saved/local%2Fone/versions': 'saved versions one',
  'GET /api/runs': 'runs list',
  'GET /api/runs/RUN': 'runs show RUN',
  'GET /api/tasks': 'tasks list',
  'GET /api/tasks/TASK': 'tasks show TASK',
};

it('W21 the description says what the commands behind routes answer, and they answer that, as they print it with --json', async () => {
  // Each answer is checked against its schema by the helper that asks.
  const api = await apiKernel([{ text: 'done' }, { text: 'done' }], {
    only: ['http', 'rest_api', 'skill_registry', 'saved_skills', 'task_engine', 'scheduler'],
    files: { 'skills/letters/SKILL.md': '---\nname: letters\ndescription: Writes letters. Use when asked.\n---\n\nWrite.\n' },
  });
  const token = await api.token({ role: 'admin', may: 'admin', userId: 'local' });
  const send = async (method: string, path: string, json: JsonValue = {}): Promise<Row> => {
    const answer = await api.request(path, { method, token, ...(method === 'GET' ? {} : { json }) });
    expect([path, answer.status, answer.text]).toEqual([path, 200, expect.anything()]);
    return answer.json as Row;
  };
  const text = JSON.stringify({ system_prompt: 'Say it.', input_schema: [{ name: 'who', default: 'Ada' }], schedule: '0 9 * * *' });
  await send('POST', '/api/saved', { name: 'one', text });
  await send('PATCH', '/api/saved/local%2Fone', { text: JSON.stringify({ description: 'It says.' }) });
  const run = String((await send('POST', '/api/saved/local%2Fone/runs'))['id']);
  const task = String((await send('POST', '/api/tasks', { goal: ['do it'] }))['id']);
  await until(
    async () => (await send('GET', `/api/runs/${run}`))['state'] === 'ok' && (await send('GET', `/api/tasks/${task}`))['state'] === 'done',
  );
  const { paths } = (await send('GET', '/api/openapi.json')) as unknown as {
    paths: Record<string, Record<string, { responses: Record<string, { content: Record<string, { schema: object }> }> }>>;
  };
  const filled = (words: string) => words.replace('RUN', run).replace('TASK', task);
  for (const [name, command] of Object.entries(COMMANDS)) {
    const [, path = ''] = name.split(' ');
    const answered = await send('GET', filled(path));
    const printed = command === null ? [answered] : (await api.pith.command(filled(command), { json: true })).values;
    expect([name, printed]).toEqual([name, [answered]]);
    const stated = path
      .replace(/helper|risky|letters/u, '{id}')
      .replace('local%2Fone', '{skill}')
      .replace('RUN', '{run}')
      .replace('TASK', '{id}');
    const schema = paths[stated]?.['get']?.responses['200']?.content['application/json']?.schema ?? {};
    expect([name, JSON.stringify(schema).length > 80]).toEqual([name, true]);
  }
  const listed = await send('GET', '/api/runs?limit=1');
  expect(listed).toMatchObject({ runs: [{ id: run }], cursor: null });
});

it('W21 what one command cannot say of what it prints is missing in the description, and logged once', async () => {
  const api = await apiKernel([], {
    files: {
      'extensions/odd/manifest.yaml': 'id: odd\nentrypoint: main.ts\nprovides: [command]\n',
      'extensions/odd/main.ts': `import { z } from 'pith';
const command = (path, result) => ({ path, description: 'd', result, run: async () => 0 });
export default class {
  getCommands() {
    return [
      command('recipes list', async () => { throw new Error('no such file'); }),
      command('recipes show', async () => 'no schema'),
      command('mcp', async () => z.object({ servers: z.number() })),
    ];
  }
}
`,
    },
  });
  await api.pith.kernel.host.extensions.activate('odd');
  const token = await api.token({ role: 'admin', may: 'admin', userId: 'local' });
  const schemas = async (): Promise<unknown> => {
    const { status, json } = await api.request('/api/openapi.json', { token });
    const { paths } = json as unknown as { paths: Record<string, Record<string, { responses: Record<string, { content: object }> }>> };
    const of = (path: string) => Object(paths[path]?.['get']?.responses['200']?.content)['application/json'] as unknown;
    return [status, of('/api/recipes'), of('/api/recipes/{name}'), of('/api/mcp')];
  };
  const described = { schema: expect.objectContaining({ properties: { servers: { type: 'number' } } }) };
  expect(await schemas()).toEqual([200, { schema: {} }, { schema: {} }, described]);
  expect(await schemas()).toEqual([200, { schema: {} }, { schema: {} }, described]);
  api.pith.kernel.host.logger('test').warn('that was all');
  const log = await until(async () => {
    const text = await api.log();
    return text.includes('that was all') && text;
  });
  const lines = log.split('\n').filter((line) => line.includes('leaves out what a command prints'));
  expect(lines.map((line) => /recipes \w+/u.exec(line)?.[0]).toSorted()).toEqual(['recipes list', 'recipes show']);
  expect(log).toMatch(/recipes list.*no such file/u);
});
