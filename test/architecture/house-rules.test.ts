import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { KERNEL_PROTOCOLS } from '../../core/declarations/index.ts';
import { manifestSchema } from '../../core/trust/index.ts';
import ts from 'typescript';
import { cureParts } from '@pith/command-line';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { settingsSchema } from '../../core/declarations/settings-schema.ts';
import { manifestKeys } from './manifest-keys.ts';
import { interfacesIn, membersOf } from './skill-text.ts';
import { filesBelow, codeOnly, places, read, ROOT, withoutComments } from './repository.ts';

/** What runs in Node; the page runs in browsers. */
const SOURCES = ['core', 'packages', 'sandbox/extensions']
  .flatMap((folder) => filesBelow(folder, '.ts'))
  .filter((file) => !file.startsWith('sandbox/extensions/web_channel/page/'));
const PAGE = filesBelow('sandbox/extensions/web_channel/page', '.ts', '.tsx');
const EXTENSIONS = readdirSync(path.join(ROOT, 'sandbox/extensions'));

/** Where `pattern` occurs in code, outside of the files that may use it. */
function uses(pattern: RegExp, allowed: RegExp): readonly string[] {
  return SOURCES.filter((file) => !allowed.test(file)).flatMap((file) => places(file, codeOnly(read(file)), pattern));
}

describe('house rules', () => {
  it('no file is named for nothing: utils, helpers, manager', () => {
    const files = ['core', 'packages', 'sandbox/extensions', 'scripts', 'bin', 'test'].flatMap((folder) =>
      filesBelow(folder, '.ts', '.mjs'),
    );
    expect(files.length).toBeGreaterThan(100);
    expect(files.filter((file) => /(?:^|[-/])(?:utils?|helpers?|managers?)(?:[-./]|$)/.test(file))).toEqual([]);
  });

  it('time comes from the clock', () => {
    expect(
      uses(
        /\bDate\.now\(|new Date\(\)|(?<![.\w])set(?:Timeout|Interval)\(/,
        /^(?:core\/(?:testing\/leak-check\.ts|cli\/)|packages\/(?:supervised-process\/timers|promises\/machine-clock)\.ts)/,
      ),
    ).toEqual([]);
  });

  it('the environment is read by the kernel, the command line and the test kit only, and its language and search path for programs', () => {
    const allowed =
      /^(?:core\/(?:compose\/compose\.ts|cli\/process\.ts|testing\/test-kernel\.ts)|packages\/supervised-process\/confined\.ts)$/;
    expect(uses(/\bprocess\.env\b/, allowed)).toEqual([]);
  });

  it('nobody writes to the console; the command line and the terminal have their streams', () => {
    // Only what turns the console of extensions aside names it.
    expect(uses(/\bconsole\.\w/, /^core\/cli\/process\.ts$/)).toEqual([]);
    expect(
      uses(
        /\bprocess\.std(?:out|err)\.write/,
        /^core\/(?:cli\/|kernel\/records\/(?:logger|stray-errors)\.ts)|^sandbox\/extensions\/cli_channel\//,
      ),
    ).toEqual([]);
  });

  it('T17 what leaves this machine goes through the guard', () => {
    const allowed = {
      'packages/guarded-fetch/listening.ts': 'the guard itself: it sends nothing',
      'packages/guarded-fetch/outgoing-requests.ts': 'the guard itself',
      'packages/guarded-fetch/tunnel.ts': 'the way of the guard through a proxy',
      'core/process/child-main.ts': 'a socket over an inherited descriptor, which connects to nothing',
      'sandbox/extensions/http/body.ts': 'the type of a request that has arrived',
      'sandbox/extensions/http/header-deadlines.ts': 'the type of a server that listens',
      'sandbox/extensions/http/listener.ts': 'the server of `pith serve`: it sends nothing by itself',
      'sandbox/extensions/web/web-address.ts': 'what is an address: it sends nothing',
      'sandbox/extensions/mcp/log-in.ts': 'a server on loopback that takes one answer: it sends nothing',
    };
    const imports =
      /(?:from|import\(|require\(|getBuiltinModule\()\s*['"`](?:node:)?(?:https?2?|net|tls|dns(?:\/promises)?|dgram|undici|ws)['"`]/;
    const found = SOURCES.flatMap((file) => [
      ...places(file, withoutComments(read(file)), imports),
      ...places(file, codeOnly(read(file)), /\b(?:globalThis|global)\.fetch\b|\bnew (?:WebSocket|EventSource)\(/),
      ...(/\bguardedFetch\(/.test(read(file)) ? [] : places(file, codeOnly(read(file)), /(?<![.\w])fetch\(/)),
    ]);
    expect([...new Set(found.map((place) => place.replace(/:\d+$/, '')))].sort()).toEqual(Object.keys(allowed).sort());
    // These send requests by themselves, and with what they are given.
    const senders = /\b(?:createAnthropic|new StreamableHTTPClientTransport)\(/;
    const users = SOURCES.filter((file) => senders.test(codeOnly(read(file))));
    expect(users.length).toBeGreaterThanOrEqual(2);
    expect(users.filter((file) => !/\bfetch\b/.test(codeOnly(read(file))))).toEqual([]);
  });

  it('C1 SQL of core stands in the store and in what implements a port on it', () => {
    const sql = /[`'"]\s*(?:SELECT\s|INSERT (?:OR \w+ )?INTO\s|UPDATE \w+ SET\s|DELETE FROM\s|CREATE (?:TABLE|INDEX)\s)/;
    const allowed = /^core\/(?:store\/|(?:durable(?:\/jobs)?|agent\/threads)\/sqlite-[a-z]+\.ts$)/;
    const core = SOURCES.filter((file) => file.startsWith('core/'));
    const found = core.flatMap((file) => (sql.test(withoutComments(read(file))) ? [file] : []));
    expect(found.length).toBeGreaterThan(4);
    expect(found.filter((file) => !allowed.test(file))).toEqual([]);
  });

  it('C7 extensions open no database by themselves', () => {
    const opens = /(?:from |\b(?:import|require)\()'(?!\.)[^']*sqlite[^']*'/;
    const drivers = SOURCES.filter((file) => opens.test(withoutComments(read(file))));
    expect(drivers.filter((file) => !file.startsWith('core/store/'))).toEqual([]);
    expect(drivers.length).toBeGreaterThan(0);
  });

  it('no error is swallowed: a catch without a name says why in a comment', () => {
    const silent = SOURCES.flatMap((file) => silentCatches(file, read(file)));
    expect(silent).toEqual([]);
  });

  it('T30 a cure follows a semicolon: it begins in lower case, or with a name', () => {
    const pattern = /\bcure\b *[:=?](?:[^,]*?[?:=])? *[`'"][A-Z][a-z]/;
    expect(SOURCES.flatMap((file) => places(file, withoutComments(read(file)), pattern))).toEqual([]);
  });

  it('W21 a cure that names a command is one from which the command is taken', () => {
    const files = ['core', 'sandbox', 'packages'].flatMap((folder) => filesBelow(folder, '.ts', '.tsx'));
    const named = files.flatMap((file) => curesIn(file, read(file))).filter(({ text }) => /\bpith [a-z]/u.test(text));
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter(({ text }) => cureParts(text).command === undefined)).toEqual([]);
  });

  it('tests do not sleep: they wait for facts, and real time passes in one place only', () => {
    const allowed = {
      'test/waiting.ts': 'the place',
      'test/core/kernel/system-clock.test.ts': "the machine's clock itself, under timers that the test moves",
      'test/core/cli/fixtures/process.ts': 'a program that stays alive until a signal comes',
      'test/fixtures/mcp-odd-server.mjs': 'a program that is slow',
      'test/reliability/ten-thousand-skills.test.ts': 'figures of real time',
    };
    const found = filesBelow('test', '.ts', '.mjs').filter((file) => !file.startsWith('test/bench/') && sleeps(file, read(file)));
    expect(found.sort()).toEqual(Object.keys(allowed).sort());
  });

  it('tests import a module of core by its door; only those in this folder read further', () => {
    const tests = filesBelow('test', '.ts', '.mjs').filter((file) => !file.startsWith('test/architecture/'));
    const past = tests.flatMap((file) =>
      [...read(file).matchAll(/(?:\bfrom |\(\s*)'(\.[^']+)'/g)]
        .map(([, named = '']) => path.posix.join(path.posix.dirname(file), named))
        .filter((named) => /^core\/\w+\/.+\.ts$/.test(named) && !/^core\/\w+\/index\.ts$/.test(named))
        .map((named) => `${file} → ${named}`),
    );
    expect(past).toEqual([]);
  });

  it('A9 each part of a kernel has one line, under a token; no option is a part, and others are registered by the test kit only', () => {
    const tokens = [...read('core/compose/tokens.ts').matchAll(/^export const (\w+)/gmu)].map(([, name]) => name);
    const lines = [...read('core/compose/parts.ts').matchAll(/^ {2}part\(parts, (\w+), .+\);$/gmu)].map(([, name]) => name);
    const given = [...read('core/compose/compose.ts').matchAll(/^ {2}container\.register\((\w+), /gmu)].map(([, name]) => name);
    expect([...lines, ...given].sort(), 'give a new part its line in parts.ts').toEqual(tokens.sort());
    expect(uses(/\.register\(/, /^core\/(?:compose\/(?:compose|parts)|testing\/test-kernel)\.ts$/)).toEqual([]);
    expect(membersOf('core/compose/kernel.ts', 'KernelOptions'), 'register what replaces a part over its token').toEqual([
      'env',
      'home',
      'commands',
    ]);
    expect(membersOf('core/compose/sandbox-reading.ts', 'SandboxOptions'), 'as above').toEqual([
      'trust',
      'accepts',
      'workingDirectory',
      'only',
      'switches',
      'serve',
      'inMemory', // what a program asks for that holds a kernel: neither is a part
      'isGuest',
    ]);
  });

  it('an interface of the page has at most 14 members of its own: what is more is several concepts', () => {
    const members = PAGE.flatMap((file) =>
      interfacesIn(file).flatMap(({ name, members: own }) => (own.length > 14 ? [`${file}: ${name.text} has ${own.length}`] : [])),
    );
    expect(members).toEqual([]);
  });

  it('a type of what is served says what it is, and not only what happened to it', () => {
    const served = ['http', 'rest_api', 'web_channel', 'program_turns', 'openai_api', 'ag_ui', 'mcp_server'];
    const files = [...SOURCES, ...PAGE].filter((file) => served.includes(file.split('/')[2] ?? ''));
    expect(files.length).toBeGreaterThan(100);
    const says =
      /^\s*(?:export )?(?:interface|type|class) (?:Taken|Held|Said|Given|Shown|Known|Found|Whole|Asked|Built|Placed|Posted|Served|Opened|Named)\b/gmu;
    expect(files.flatMap((file) => places(file, codeOnly(read(file)), says))).toEqual([]);
  });

  it('core names no extension', () => {
    const ids = EXTENSIONS.filter((id) => !KERNEL_PROTOCOLS.has(id)); // the word is the protocol's first
    const pattern = new RegExp(`['"\`](?:${ids.join('|')})(?:/[a-z_]+)?['"\`]`);
    const found = filesBelow('core', '.ts').flatMap((file) =>
      places(file, withoutComments(read(file)).replaceAll("ExtensionContext['kv']", ''), pattern).map((place) =>
        place.replace(/:\d+$/, ''),
      ),
    );
    expect(EXTENSIONS.length).toBeGreaterThan(3);
    expect([...new Set(found)]).toEqual([
      'core/cli/commands/new-project.ts', // a test of a new project, which names what its agent names
      'core/embed/shipped.ts', // what a program has without naming it: skills and models
      'core/store/key-value.ts', // the name of a table, not of an extension
    ]);
  });

  it('core knows no toolsets, and of skills what agents carry, what prompts print, a section of the settings and what people are told', () => {
    const skills = [
      /^core\/contract\//, // the protocol, and `uses_skills`
      /^core\/agent\/(?!tools\/tools|threads\/)/, // what an agent carries, the variable of templates, and `onlyForSkills`
      /^core\/kernel\/(?:host|calls\/(?:answers|render-prompt|surface)|providers\/(?:agents|tools)|records\/error-codes)\.ts$/, // the protocol, `uses_skills`, and the variable of templates
      /^core\/declarations\/|^core\/trust\/(?:manifest|project-files|safeguards)\.ts$/, // `uses_skills`, their section of the settings, and their folders in the question of trust
      /^core\/testing\//, // what a turn did with skills, by the names of two topics
      /^core\/process\/(?:launch|offer)\.ts$/, // the folder that ships, and `onlyForSkills`
      /^core\/compose\/(?:doctor|findings|sandbox-overview)\.ts$|^core\/cli\//, // what people are told
      /^core\/embed\//, // what a program gives and asks
    ];
    const has = (word: RegExp) => filesBelow('core', '.ts').filter((file) => word.test(withoutComments(read(file))));
    expect(has(/toolset/i)).toEqual([]);
    expect(has(/skill/i).filter((file) => !skills.some((place) => place.test(file)))).toEqual([]);
  });

  it('every tool that agents are told to use exists', () => {
    const tools = [...SOURCES, ...filesBelow('sandbox/skills', '.ts')].flatMap((file) =>
      [...read(file).matchAll(/\bname: '([a-z_]+)'/g)].map(([, name]) => name),
    );
    const known = new Set([...tools, ...manifestKeys().map((key) => key.split('.').at(-1)), ...Object.keys(settingsSchema().shape)]);
    const told = [
      ...SOURCES.map((file) => [file, withoutComments(read(file))] as const),
      ...['agents', 'skills'].flatMap((folder) =>
        filesBelow(`sandbox/${folder}`, '.md', '.jinja2').map((file) => [file, read(file)] as const),
      ),
    ].flatMap(([file, text]) =>
      [...text.matchAll(/\b(?:by|call|load|then|use) `?([a-z]+(?:_[a-z]+)+)\b(?![:(])/g)].map(([, name]) => [file, name] as const),
    );
    expect(told.length).toBeGreaterThan(5);
    expect(told.filter(([, name]) => !known.has(name))).toEqual([]);
  });

  it('an extension imports only pith, contracts of what it depends on, node, packages and its own files', () => {
    const found = EXTENSIONS.flatMap((id) =>
      filesBelow(`sandbox/extensions/${id}`, '.ts').flatMap((file) =>
        [...read(file).matchAll(/(?:from|import\()\s*'([^']+)'/g)].flatMap(([, wanted = '']) => {
          if (!wanted.startsWith('.')) return wanted.startsWith('pith/') && !mayTake(id, wanted) ? [`${file}: ${wanted}`] : [];
          return path.posix.join(path.posix.dirname(file), wanted).startsWith(`sandbox/extensions/${id}/`) ? [] : [`${file}: ${wanted}`];
        }),
      ),
    );
    expect(found).toEqual([]);
  });

  it('T6 state is written by one module: whoever else writes files says what they are', () => {
    const found = SOURCES.filter((file) => writesFiles(read(file)));
    expect(found.filter((file) => !WRITES_NO_STATE.has(file))).toEqual([]);
    expect([...WRITES_NO_STATE.keys()].filter((file) => !found.includes(file))).toEqual([]); // one that writes no more leaves the list
  });

  it('no file names a machine or a package registry', () => {
    const homes = ['home', 'Users'].map((folder) => `/${folder}/(?!(?:ada|someone|user|you|me)\\b)[a-z]+/`);
    const pattern = new RegExp(
      [...homes, `/${'work'}/(?:main|shared)`, `/${'root'}/`, `registry\\.(?:npm|yarn)[a-z]*\\.`, `"${'resolved'}": "(?!packages/)`].join(
        '|',
      ),
    );
    const root = readdirSync(ROOT, { withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== '.env' && entry.name !== '.git')
      .map(({ name }) => name);
    const files = [
      ...root,
      '.ci/run',
      ...['core', 'packages', 'sandbox', 'scripts', 'bin', 'test', 'docs'].flatMap((folder) => filesBelow(folder)),
    ];
    const found = files.flatMap((file) => {
      const bytes = readFileSync(path.join(ROOT, file));
      return bytes.includes(0) ? [] : places(file, bytes.toString('utf8'), pattern);
    });
    expect(found).toEqual([]);
  });
});

/** Whether `pith/<id>` is the contract of something that an extension names. */
function mayTake(id: string, wanted: string): boolean {
  const manifest = manifestSchema().parse(parse(read(`sandbox/extensions/${id}/manifest.yaml`)));
  return [...manifest.depends_on, ...manifest.optional_depends_on].includes(wanted.slice('pith/'.length));
}

/** Files that make, write or rename by a path of their own, and what that is, for it is not below a data folder. */
const WRITES_NO_STATE: ReadonlyMap<string, string> = new Map([
  ['packages/safe-files/state-files.ts', 'the module itself'],
  ['packages/safe-files/jail.ts', 'files of the sandbox, in folders that were proven'],
  ['packages/safe-files/staged-file.ts', 'the same'],
  ['packages/folder-changes/exclusive.ts', 'a folder, the lock, in one that the state module has made'],
  ['packages/folder-changes/journaled.ts', 'folders that are replaced, such as skills'],
  ['packages/folder-changes/folder-changes.ts', 'the folder that holds them'],
  ['packages/kept-folders/kept-folders.ts', 'renames in a folder that the state module has made, and a copy where a caller wants one'],
  ['core/cli/commands/init.ts', 'a new project'],
  ['sandbox/extensions/project_instructions/init-command.ts', 'AGENTS.md of the project, new, after a yes'],
  ['core/cli/commands/thread-export.ts', 'the file that a person names'],
  ['core/testing/test-kernel.ts', 'folders of tests'],
  ['core/embed/named-folders.ts', 'makes the folder that a program names as its store'],
  ['core/embed/temporary-folder.ts', 'skills that a program gives as objects, in a folder of its own below the temporary one'],
  ['core/loader/build-graph.ts', 'the build'],
  ['core/loader/contract-shim.ts', 'a link to a bundle, in a folder of its own below the temporary one'],
  ['packages/supervised-process/confined.ts', 'a folder of its own below the temporary one'],
  ['sandbox/extensions/skill_install/install/plugin-mark.ts', 'a staging folder'],
  ['sandbox/extensions/skill_install/install/plugin-parts.ts', 'a part of a plugin, in the folder that the journaled writer gave'],
  ['sandbox/extensions/skill_search/enriching/write-into-skill.ts', 'a copy of a skill, in the folder that the journaled writer gave'],
  [
    'sandbox/extensions/skill_proposals/change/skill-tree.ts',
    'a skill, in a new folder that the state module or the journaled writer gave',
  ],
  ['sandbox/extensions/skill_proposals/proposal/fit.ts', 'renames in a folder that the state module has made'],
  ['sandbox/extensions/skill_registry/writing/proposal-files.ts', 'renames into a folder that the state module has made'],
  ['packages/skill-conformance/fixture.ts', 'skills of tests, in a folder of its own below the temporary one'],
  ['packages/skill-conformance/check-loader.ts', 'the same'],
  ['packages/skill-files/tree/copy-skill.ts', 'a copy with a random name in a folder that the state module has made'],
  ['core/kernel/records/extension-data.ts', 'one rename of a folder that was looked at'],
  ['packages/supervised-process/started.ts', '/proc'],
  ['packages/supervised-process/user-tools.ts', 'copies of small programs, in a folder that the state module has made'],
  ['sandbox/extensions/project_tools/shell/git-guard.ts', 'empty files in a repository, in the place of what a command could make'],
  ['sandbox/extensions/project_tools/shell/placeholders.ts', 'files of the project while commands run that may not make them'],
  ['core/trust/sandbox-trust.ts', 'the state of restricted sandboxes in ~/.pith'],
  ['sandbox/extensions/extension_builder/sources.ts', 'sources; of versions, below a folder that the state module has made'],
  ['sandbox/extensions/extension_builder/trial/trial.ts', 'packages of what is tried, below a folder that the state module has made'],
  ['sandbox/extensions/skill_install/install/git-origin.ts', 'a staging folder'],
  ['sandbox/extensions/skill_install/install/new-skill.ts', 'a staging folder'],
  ['sandbox/extensions/skill_install/install/staged-skill.ts', 'a staging folder'],
  ['sandbox/extensions/skill_install/install/update.ts', 'a staging folder'],
  [
    'sandbox/extensions/skill_registry/drafts/draft-files.ts',
    'a draft that is accepted, in the folder that the journaled writer gave; one rename',
  ],
  ['sandbox/extensions/skill_scripts/scripts/run-script.ts', 'a copy with a random name in a folder that the state module has made'],
  ['sandbox/extensions/skill_evals/runs/folders.ts', 'copies of skills, in folders that the state module has made'],
  ['sandbox/extensions/skill_evals/runs/runner.ts', 'the same'],
  ['sandbox/extensions/skill_evals/runs/trial-project.ts', 'the project of one run, in a new folder that the state module has made'],
]);

const WRITERS = /\b(?:mkdir|mkdtemp|writeFile|appendFile|rename|copyFile|symlink|link|cp|truncate)(?:Sync)?\b|\bcreateWriteStream\b/;

function writesFiles(text: string): boolean {
  const code = codeOnly(text);
  const named = [...text.matchAll(/import (\{[^}]*\}|\w+)(?: as \w+)? from 'node:fs(?:\/promises)?'/g)].map(([, names = '']) => names);
  return named.some((names) =>
    names.startsWith('{') ? WRITERS.test(names) : new RegExp(`\\b${names}\\.(?:${WRITERS.source})`).test(code),
  );
}

/** Calls a timer, or asks how much real time has passed. What stands in strings is code of an extension or of another process. */
function sleeps(file: string, text: string): boolean {
  if (!/set(?:Timeout|Interval)|systemClock|performance/.test(text)) return false;
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022);
  const pattern = /^(?:(?:globalThis\.)?set(?:Timeout|Interval)|systemClock\.(?:sleep|after)|performance\.now)$/;
  const visit = (node: ts.Node): boolean =>
    (ts.isCallExpression(node) && pattern.test(node.expression.getText(source))) || (ts.forEachChild(node, visit) ?? false);
  return visit(source) || /import \{[^}]*\bsetTimeout\b[^}]*\} from 'node:timers\/promises'/.test(text);
}

/** The texts in what is named as a cure; what is put into them stands as X. */
function curesIn(file: string, text: string): readonly { readonly place: string; readonly text: string }[] {
  if (!/cure/iu.test(text)) return [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true, file.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS);
  const found: { place: string; text: string }[] = [];
  const visit = (node: ts.Node, isCure: boolean): void => {
    const said = ts.isStringLiteralLike(node)
      ? node.text
      : ts.isTemplateExpression(node)
        ? [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('X')
        : null;
    if (isCure && said !== null)
      found.push({ place: `${file}:${source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1}`, text: said });
    const isNamed =
      (ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node) || ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node)) &&
      /cures?$|^CURE/iu.test(node.name?.getText(source) ?? '');
    ts.forEachChild(node, (child) => visit(child, isCure || isNamed));
  };
  visit(source, false);
  return found;
}

/** Catches that are empty, or that leave the error out without a comment. */
function silentCatches(file: string, text: string): readonly string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCatchClause(node)) {
      const body = node.block.getFullText(source);
      const empty = node.block.statements.length === 0;
      const unexplained = node.variableDeclaration === undefined && !/\/\/|\/\*/.test(body);
      if (unexplained || (empty && !/\/\/|\/\*/.test(body)))
        found.push(`${file}:${source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
