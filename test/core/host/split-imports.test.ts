import { expect, it } from 'vitest';
import { splitImports } from '../../../core/host/bundles/split-imports.ts';

const split = (source: string): string => splitImports(source, (name) => name === 'z' || name === 'defineTool');

it('K6 takes what needs zod into an import of its own, and keeps the lines', () => {
  expect(split("import { z, PithError as Oops, type Tool } from 'pith';\nnext();")).toBe(
    "import { PithError as Oops } from 'pith:light'; import { z } from 'pith:full';\nnext();",
  );
  const many =
    "// first\nimport fs from 'node:fs'\nimport './side.ts';\n/* of us */\nimport {\n  z, // for schemas\n  didYouMean,\n} from \"pith\"\nimport type { Tool } from 'pith';\nimport * as all from './all.ts';\nimport { PithError } from 'pith';\nnext();";
  const done = split(many);
  expect(done).toContain("// first\nimport fs from 'node:fs'\nimport './side.ts';\n/* of us */\n");
  expect(done).toContain("import { didYouMean } from 'pith:light'; import { z } from 'pith:full'\n");
  expect(done).toContain("import type { Tool } from 'pith';");
  expect(done).toContain("import { PithError } from 'pith:light';");
  expect(done.split('\n')).toHaveLength(many.split('\n').length);
});

it.each([
  'const text = "import { z } from \'pith\'";',
  "const template = `\nimport { defineTool, z } from 'pith';\nexport default class {}\n`;",
  "const late = await import('node:fs');\nconst text = `import { z } from 'pith'`;",
  "import { PithError } from './mine.ts';\nwrite(`\nimport { z } from 'pith';\n`);",
])('K6 leaves texts and templates as they are: %s', (source) => {
  expect(split(source)).toBe(source);
});

it('leaves whole what only has types, or nothing', () => {
  expect(split("import { type Tool } from 'pith';\nnext();")).toBe('\nnext();');
  expect(split('')).toBe('');
  expect(split('// import { z } from \'pith\';\n/* import { z } from "pith" */')).toBe(
    '// import { z } from \'pith\';\n/* import { z } from "pith" */',
  );
});
