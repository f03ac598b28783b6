import { runsLater } from '@pith/safe-files';
import { describe, expect, it } from 'vitest';
import { words } from '../../words.ts';

const why = (path: string) => runsLater(path.split('/'));

describe('what runs later and unasked', () => {
  it.each([
    ['dot file', '.envrc .npmrc'],
    ['dot folder', '.vscode/settings.json web/.claude/settings.json .github/workflows/ci.yml'],
    ['lock file', 'package-lock.json skills.lock.json web/yarn.lock pnpm-lock.yaml npm-shrinkwrap.json go.sum bun.lockb'],
    [
      'package manifest',
      `web/package.json pyproject.toml setup.py requirements-dev.txt a.gemspec project.json angular.json devbox.json
       rust-toolchain.toml`,
    ],
    [
      'build file',
      `Makefile sub/GNUmakefile justfile mise.toml CMakePresets.json Procfile.dev moon.yml Snakefile dodo.py xmake.lua
       build.mill gradle/wrapper/gradle-wrapper.jar setup.sh autogen.sh x.csproj build.gradle.kts`,
    ],
    ['code of the build', 'buildSrc/src/A.kt'],
    ['hook', 'hooks/pre-commit tools/hooks/commit-msg.sh'],
    ['hooks', 'githooks/helper.sh'],
    ['started by', 'Guardfile Dangerfile fastlane/Fastfile Dockerfile compose.override.yaml Jenkinsfile'],
    ['runs code or loads plugins', 'sitecustomize.pyc vite.config.ts tests/conftest.py tsconfig.json'],
    ['instructions', 'WARP.md AGENTS.md docs/CLAUDE.md CLAUDE.local.md'],
    ['editor or an agent', 'my.code-workspace'],
    ['settings of Pith', 'pith.yaml sub/pith.local.yml'],
    ['code of an extension', 'extensions/z/main.ts'],
    ['part of an agent', 'agents/a/notes.md'],
    ['part of a skill', 'skills/x/references/a.md'],
    ['recipe', 'recipes/deploy.md'],
    ['packages', 'lib/node_modules/a/index.js py/__pycache__/a.pyc'],
    ['makes an extension', 'team/manifest.yaml team/prompt.j2'],
    ['makes a skill', 'group/SKILL.md'],
  ])('T18 F20: has a reason, at any depth: %s', (reason, paths) => {
    for (const path of words(paths)) expect({ path, why: why(path) }).toEqual({ path, why: expect.stringContaining(reason) });
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
