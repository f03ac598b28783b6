import { probeSandboxing } from '@pith/held-process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { scriptKernel } from './script-kernel.ts';

const { available } = await probeSandboxing();
const UP = '../'.repeat(20);

describe('S74 TypeScript', () => {
  it.skipIf(!available)(
    'S73 is made into JavaScript where nothing of others can be read: no pattern of imports, no path, no device',
    async () => {
      const names = ['scripts/a.ts', 'scripts/b.ts', 'scripts/c.ts'];
      const kit = await scriptKernel(Object.fromEntries(names.map((name) => [name, ''])), { settings: 'approval: never, timeout_s: 1' });
      const secret = path.join(kit.pith.sandbox, 'secret1.json');
      await writeFile(secret, '"SECRET"');
      const [computed, named, map] = [
        `const found = await import(\`${UP}${secret.slice(1, -6)}\${process.argv[2]}.json\`);\nconsole.log(found.default);\n`,
        `import found from '${secret}';\nconsole.log(found);\n`,
        `console.log('c');\n//# sourceMappingURL=${UP}dev/zero\n`,
      ];
      for (const [at, text] of [computed, named, map].entries()) await writeFile(path.join(kit.skill, names[at]!), text);
      const told = await kit.run('scripts/a.ts', ['1']);
      expect(told.ok).toBe(false);
      expect(told.output).not.toContain('SECRET');
      expect(await kit.run('scripts/b.ts')).toMatchObject({ ok: false, code: 'script_invalid' });
      expect(await kit.run('scripts/c.ts')).toMatchObject({ ok: false, code: 'script_invalid' });
    },
  );

  it('S74 runs without a sandbox where the settings say so, and names the lines of its source', async () => {
    const kit = await scriptKernel(
      {
        'scripts/a.ts': "import { b } from './b.ts';\n\nb('x' as string);\n",
        'scripts/b.ts': 'export const b = (text: string): void => {\n  throw new Error(text);\n};\n',
      },
      { settings: 'approval: never, sandbox: none' },
    );
    expect((await kit.run('scripts/a.ts')).output).toMatch(/scripts\/b\.ts:2/u);
  });
});
