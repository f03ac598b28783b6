import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { lastUser, stepOf, taskKernel } from './task-kernel.ts';

const EXTENSION = path.resolve('sandbox/extensions/kv');
const files = Object.fromEntries(
  readdirSync(EXTENSION).map((file) => [`extensions/kv/${file}`, readFileSync(path.join(EXTENSION, file), 'utf8')]),
);
const agent = 'id: reviewer\nversion: 1.0.0\nagent:\n  description: Reviews.\n  uses_tools: [skill_registry, core_tools, task_engine]\n';

it('K92: "review the kv extension for best practices" loads code-review, reads the files and returns a structured review', async () => {
  await using kernel = await taskKernel(
    (request) => {
      const read = (file: string) => ({ calls: [{ name: 'file', input: { action: 'read', path: `extensions/kv/${file}` } }] });
      const steps = [
        { calls: [{ name: 'read_skill', input: { skill_id: 'code-review' } }] },
        read('manifest.yaml'),
        read('main.ts'),
        read('tools.ts'),
        { calls: [{ name: 'complete_task', input: { result: 'Verdict: ready\n\nMust fix\n\nChecked and found good: all four tools.' } }] },
        { text: 'Reviewed.' },
      ];
      return steps[stepOf(request)]!;
    },
    { only: ['task_engine', 'kv', 'core_tools', 'skill_registry'], files: { ...files, 'agents/reviewer/manifest.yaml': agent } },
  );
  const id = await kernel.submit('review the kv extension for best practices', { agent_id: 'reviewer' }, 'reviewer');
  const task = await kernel.until(id, 'done');
  expect(task).toMatchObject({ loaded: ['code-review'], steps: 6, result: expect.stringMatching(/^Verdict: ready\n\nMust fix/) });
  const [first, ...later] = kernel.requests;
  expect(lastUser(first!)).toContain('review the kv extension');
  expect(`${first!.system}${JSON.stringify(first!.messages)}`).toContain('code-review'); // the catalog offers it
  const seen = JSON.stringify(later.at(-1)!.messages);
  expect(seen).toContain('Best practices for an extension'); // the skill's body
  expect(seen).toContain('kvTools(this.context.kv)'); // main.ts
  expect(seen).toContain('value_too_large'); // tools.ts
});
