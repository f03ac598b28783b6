import { runsLater } from '@pith/safe-files';
import { describe, expect, it } from 'vitest';
import { words } from '../../words.ts';

const why = (path: string) => runsLater(path.split('/'));

describe('what runs later and unasked', () => {
  it('T18 F20: dot files, lock files, manifests, build files, agent instructions, recipes and code have a reason, at any depth', () => {
    const reasons: Readonly<Record<string, RegExp>> = {
      '.envrc': /dot file/,
      '.npmrc': /dot file/,
      '.vscode/settings.json': /dot folder/,
      'web/.claude/settings.json': /dot folder/,
      '.github/workflows/ci.yml': /dot folder/,
      'package-lock.json': /lock file/,
      'skills.lock.json': /lock file/,
      'web/yarn.lock': /lock file/,
      'pnpm-lock.yaml': /lock file/,
      'npm-shrinkwrap.json': /lock file/,
      'go.sum': /lock file/,
      'bun.lockb': /lock file/,
      'web/package.json': /package manifest/,
      'pyproject.toml': /package manifest/,
      'setup.py': /package manifest/,
      'requirements-dev.txt': /package manifest/,
      'a.gemspec': /package manifest/,
      Makefile: /build file/,
      'sub/GNUmakefile': /build file/,
      justfile: /build file/,
      'mise.toml': /build file/,
      'CMakePresets.json': /build file/,
      'Procfile.dev': /build file/,
      'moon.yml': /build file/,
      Snakefile: /build file/,
      'dodo.py': /build file/,
      'xmake.lua': /build file/,
      'build.mill': /build file/,
      'gradle/wrapper/gradle-wrapper.jar': /build file/,
      'setup.sh': /build file/,
      'autogen.sh': /build file/,
      'buildSrc/src/A.kt': /code of the build/,
      'hooks/pre-commit': /hook/,
      'tools/hooks/commit-msg.sh': /hook/,
      'githooks/helper.sh': /hooks/,
      Guardfile: /started by/,
      Dangerfile: /started by/,
      'fastlane/Fastfile': /started by/,
      'sitecustomize.pyc': /runs code or loads plugins/,
      'project.json': /package manifest/,
      'angular.json': /package manifest/,
      'devbox.json': /package manifest/,
      'rust-toolchain.toml': /package manifest/,
      'WARP.md': /instructions/,
      'x.csproj': /build file/,
      'build.gradle.kts': /build file/,
      Dockerfile: /started by/,
      'compose.override.yaml': /started by/,
      Jenkinsfile: /started by/,
      'vite.config.ts': /runs code or loads plugins/,
      'tests/conftest.py': /runs code or loads plugins/,
      'tsconfig.json': /runs code or loads plugins/,
      'my.code-workspace': /editor or an agent/,
      'AGENTS.md': /instructions/,
      'docs/CLAUDE.md': /instructions/,
      'CLAUDE.local.md': /instructions/,
      'pith.yaml': /settings of Pith/,
      'sub/pith.local.yml': /settings of Pith/,
      'extensions/z/main.ts': /code of an extension/,
      'agents/a/notes.md': /part of an agent/,
      'skills/x/references/a.md': /part of a skill/,
      'recipes/deploy.md': /recipe/,
      'lib/node_modules/a/index.js': /packages/,
      'py/__pycache__/a.pyc': /packages/,
      'team/manifest.yaml': /makes an extension/,
      'team/prompt.j2': /makes an extension/,
      'group/SKILL.md': /makes a skill/,
    };
    for (const [path, reason] of Object.entries(reasons))
      expect({ path, why: why(path) }).toEqual({ path, why: expect.stringMatching(reason) });
  });

  it('T18 F20: case, trailing points and spaces, unseen characters, other forms of letters, streams and short names change nothing', () => {
    for (const path of [
      ...words(`
        PACKAGE.JSON Package.json. ｐａｃｋａｇｅ.json package.json::$DATA package.json:stream PACKAG~1.JSO
        VSCODE~1/settings.json MAKEFILE Extensions/a.ts ſkills/a.md
      `),
      'package.json ',
      'package.json. .',
      'pack\u200bage.json',
      '\u2060.envrc',
      'package\ufe0f.json',
      '\u2024envrc',
      'ma\u212aefile',
      'a/... /b',
      '\u200b',
    ])
      expect({ path, asks: why(path) !== null }).toEqual({ path, asks: true });
  });

  it('T18 F20: what people write day by day has none', () => {
    for (const path of [
      ...words(`
        notes/a.md notes/2026-03-01.md drafts/report.md src/index.ts src/lock.ts src/hooks/use-lock.ts data.json
        locksmith.md block.json clock.md README.md docs/agents/list.md docs/skills.md build/out.txt package.md
        images/logo.svg Grüße.md plan.v2.md
      `),
      'letter to the tax office.txt',
      '12:30 meeting.md',
    ])
      expect({ path, why: why(path) }).toEqual({ path, why: null });
  });
});
