import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { testKernel, type TestKernel } from 'pith/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SEPARATORS, UP } from '../fixtures/ways-up.ts';
import { agentFile, skillFile } from '../journeys/sandbox-files.ts';
import { words } from '../words.ts';

const SECRET = 'SECRET-OF-OUTSIDE';

const TARGETS = ['secret.txt', 'etc/passwd', 'outside/secret.txt', 'skills/other/secret.txt'];
const WHOLE = [
  ...words(
    '/etc/passwd //etc/passwd file:///etc/passwd /proc/self/environ /proc/self/cwd/package.json /dev/stdin way-out/secret.txt link.txt',
  ),
  '\\\\host\\share',
  'C:\\secret.txt',
  'a\0.txt',
  '\0',
  'x'.repeat(5000),
];

const COMBINED = UP.flatMap((up) =>
  SEPARATORS.flatMap((separator) => TARGETS.flatMap((target) => [1, 2, 4].map((depth) => `${up}${separator}`.repeat(depth) + target))),
);
/** The plain ones, and some of the others, with every way up and every separator among them: the long form of test/extensions/skill_registry/resource-paths.test.ts has all. */
const EVERY = process.env['PITH_TEST_LONG'] === '1' ? 5 : 37;
const PATHS = [...WHOLE, ...COMBINED.filter((each, index) => each.startsWith('../') || index % EVERY === 0)];

let pith: TestKernel;
let outside: string;
beforeAll(async () => {
  pith = await testKernel({
    only: ['core_tools', 'skill_registry'],
    files: {
      'skills/alpha/SKILL.md': skillFile('alpha', 'Alpha.', 'x'),
      'skills/alpha/references/guide.md': 'inside',
      'skills/other/SKILL.md': skillFile('other', 'Other.', 'x'),
      'skills/other/secret.txt': SECRET,
      'agents/reader/manifest.yaml': agentFile('reader', { uses_tools: ['skill_registry', 'core_tools'], skills: { allow: ['alpha'] } }),
    },
  });
  outside = path.join(path.dirname(pith.sandbox), 'outside');
  await mkdir(outside);
  for (const folder of [outside, path.dirname(pith.sandbox)]) await writeFile(path.join(folder, 'secret.txt'), SECRET);
  for (const folder of [path.join(pith.sandbox, 'skills/alpha'), pith.sandbox]) {
    await symlink(outside, path.join(folder, 'way-out'));
    await symlink(path.join(outside, 'secret.txt'), path.join(folder, 'link.txt'));
  }
});
afterAll(() => pith.stop());

async function results(
  name: string,
  inputOf: (path: string) => Record<string, string | boolean>,
  paths = PATHS,
): Promise<readonly (readonly [string, Awaited<ReturnType<TestKernel['kernel']['agents']['callTool']>>])[]> {
  const found = [];
  for (const each of paths) found.push([each, await pith.kernel.agents.callTool('reader', name, inputOf(each))] as const);
  return found;
}

describe('paths that lead outside, through the kernel', () => {
  it('S44 read_skill_resource reads nothing of them, and answers all alike', async () => {
    const found = await results('read_skill_resource', (each) => ({ skill_id: 'alpha', path: each }));
    expect(found.filter(([, result]) => result.ok || JSON.stringify(result).includes(SECRET)).map(([each]) => each)).toEqual([]);
    expect(new Set(found.map(([, result]) => (result.ok ? 'ok' : result.error.code)))).toEqual(new Set(['resource_not_found']));
    const words = found.map(([, result]) => (result.ok ? '' : result.error.message.replace(/'[^]*'|`[^]*`/u, '…')));
    expect(new Set(words).size, [...new Set(words)].slice(0, 3).join('\n')).toBe(1);
    expect(
      await pith.kernel.agents.callTool('reader', 'read_skill_resource', { skill_id: 'alpha', path: 'references/guide.md' }),
    ).toMatchObject({
      ok: true,
    });
  });

  it('S42 ids are looked up and never joined to a path', async () => {
    const found = await results('read_skill', (each) => ({ skill_id: `alpha/${each}` }));
    expect(found.filter(([, result]) => result.ok || JSON.stringify(result).includes(SECRET)).map(([each]) => each)).toEqual([]);
    expect(await pith.kernel.agents.callTool('reader', 'read_skill_resource', { skill_id: '../other', path: 'secret.txt' })).toMatchObject({
      ok: false,
      error: { code: 'skill_not_found' },
    });
  });

  it('K60 file reads and changes nothing of them', async () => {
    const read = await results('file', (each) => ({ action: 'read', path: `skills/alpha/${each}` }));
    const leaked = read.filter(
      ([each, result]) => (result.ok || JSON.stringify(result).includes(SECRET)) && !isInside(`skills/alpha/${each}`),
    );
    expect(leaked.map(([each]) => each)).toEqual([]);
    for (const action of ['write', 'copy', 'move', 'delete']) {
      const some = PATHS.filter((_, index) => index < WHOLE.length || index % 7 === 0);
      await results('file', (each) => ({ action, path: each, content: 'CHANGED', to: each, overwrite: true }), some);
    }
    for (const folder of [outside, path.dirname(pith.sandbox), path.join(pith.sandbox, 'skills/other')])
      expect(await readFile(path.join(folder, 'secret.txt'), 'utf8')).toBe(SECRET);
    expect(await readFile('/etc/passwd', 'utf8')).not.toContain('CHANGED');
  });
});

/** The file tool's jail is the sandbox: going up inside it is no way out. */
function isInside(each: string): boolean {
  return !each.includes('\0') && path.posix.normalize(each.replaceAll('\\', '/')).startsWith('skills/other/');
}
