import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { filesBelow, read } from './repository.ts';

/** Words that the project's messages once were made of, and that nobody says. */
const BANNED =
  /\b(?:told|anew|mend(?:s|ed|ing)?|holds?|held|apart|stands?|stood)\b|\bof (?:its|their) own\b|(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b)|\bnames (?:no|nobody|nothing)\b|\bno [a-z ]+ (?:is|are) (?:called|named) '/iu;

/** Texts of other kinds: a pattern, lists of words for search. */
const OTHER = [/skill_install\/safety\/persistence\.ts$/, /word-ranker\/tokens\.ts$/];

/** Words that names of this project were once made of, and what the field says. */
const PRIVATE_WORDS: ReadonlyMap<string, string> = new Map([
  ['brought', 'declared, or dynamic'],
  ['taker', 'claimant'],
  ['desk', 'service'],
  ['guests', 'waiters'],
  ['gathering', 'accumulator'],
  ['familiarity', 'load status'],
  ['wish', 'request'],
  ['usual', 'default'],
  ['instead', 'fallback, or cure'],
  ['heard', 'notified'],
  ['tell', 'notify, or report'],
  ['told', 'notified, or acknowledged'],
  ['untold', 'unreported'],
  ['foothold', 'persistence'],
  ['footholds', 'persistence'],
  ['forgiven', 'reset'],
  ['defused', 'stripped'],
  ['loosened', 'weakened'],
  ['loosens', 'weakened'],
  ['withdrawal', 'cancellation'],
]);
/** The same of whole names, whose words are common. */
const PRIVATE_NAMES: ReadonlyMap<string, string> = new Map([
  ['alone', 'withLock'],
  ['Coming', 'PendingVersion'],
  ['dieFirst', 'raiseOomScore'],
  ['diesWithUs', 'killWithParent'],
  ['goesOn', 'isResumable'],
  ['isStandingIn', 'usesFallback'],
  ['knowAsked', 'loadNamedTools'],
  ['knowConfigured', 'checkSettings'],
  ['LetGo', 'StopReason'],
  ['mayStandIn', 'fallback'],
  ['mayStaySilent', 'mayBeIdle'],
  ['MustLetGo', 'RunStopped'],
  ['openOptions', 'allowUnknownOptions'],
  ['takesLine', 'rawArgument'],
  ['yields', 'overridable'],
]);
/** A name that is kept in tables. */
const STORED = { folder: 'sandbox/extensions/task_engine/', name: 'told' };

describe('U33 plain English', () => {
  it('U33 no name in the code is a private word where the field has a common one', () => {
    const sources = ['core', 'packages', 'sandbox/extensions'].flatMap((folder) => filesBelow(folder, '.ts'));
    expect(sources.flatMap(privateNames)).toEqual([]);
  });

  it('U33 no text of a command, message, setting or tool has a banned word', () => {
    const sources = ['core', 'packages', 'sandbox/extensions'].flatMap((folder) => filesBelow(folder, '.ts'));
    expect(sources.length).toBeGreaterThan(500);
    const found = sources.filter((file) => !OTHER.some((other) => other.test(file))).flatMap(bannedTexts);
    expect(found).toEqual([]);
  });

  it('U33 the same in comments, as far as they are words that nobody says', () => {
    const sources = ['core', 'packages', 'sandbox/extensions'].flatMap((folder) => filesBelow(folder, '.ts'));
    expect(sources.flatMap(bannedComments)).toEqual([]);
  });

  it('U33 the same in pages and skills', () => {
    const pages = ['README.md', ...['docs', 'sandbox/skills'].flatMap((folder) => filesBelow(folder, '.md'))];
    const found = pages.flatMap((file) =>
      read(file)
        .replaceAll(/^```[^]*?^```/gmu, (code) => code.replaceAll(/[^\n]/gu, ''))
        .replaceAll(/\]\([^)\n]*\)/gu, ']') // addresses are no words
        .split('\n')
        .flatMap((line, index) => (BANNED_IN_COMMENTS.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
    );
    expect(found).toEqual([]);
  });

  it('U33 the same in manifests, prompts and the sample of settings', () => {
    const files = [
      ...filesBelow('sandbox/extensions', 'manifest.yaml'),
      ...filesBelow('sandbox/agents', '.yaml'),
      ...filesBelow('sandbox/agents', '.jinja2'),
      'sandbox/pith.sample.yaml',
    ];
    const found = files.flatMap((file) =>
      read(file)
        .split('\n')
        .flatMap((line, index) => (BANNED.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
    );
    expect(found).toEqual([]);
  });
});

/** What comments were once made of. */
const BANNED_IN_COMMENTS = /\b(?:anew|mend(?:s|ed|ing)?|stands|stood)\b(?! for)/iu;

function bannedComments(file: string): readonly string[] {
  return read(file)
    .split('\n')
    .flatMap((line, index) => {
      const comment = /(?:^|\s)(?:\/\/|\/\*\*?|\*) .*$/u.exec(line)?.[0];
      return comment !== undefined && BANNED_IN_COMMENTS.test(comment) ? [`${file}:${index + 1}: ${comment.trim()}`] : [];
    });
}

function privateNames(file: string): readonly string[] {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.ES2022, true);
  const found = new Set<string>();
  const visit = (node: ts.Node): void => {
    if ((ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) && !(node.text === STORED.name && file.startsWith(STORED.folder))) {
      const name = node.text.replace(/^#/u, '');
      const words = name.split(/(?<=[a-z0-9])(?=[A-Z])|_/u).map((word) => word.toLowerCase());
      const better = PRIVATE_NAMES.get(name) ?? words.map((word) => PRIVATE_WORDS.get(word)).find((word) => word !== undefined);
      if (better !== undefined) found.add(`${file}: ${node.text}: say '${better}'`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return [...found];
}

/** Literals with a space: a word alone is a name or a key. */
function bannedTexts(file: string): readonly string[] {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.ES2022, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    if (isText(node) && /\s/u.test(node.text) && BANNED.test(node.text)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      found.push(`${file}:${line + 1}: ${node.text}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function isText(node: ts.Node): node is ts.LiteralLikeNode {
  return (
    ts.isStringLiteral(node) ||
    ts.isNoSubstitutionTemplateLiteral(node) ||
    ts.isTemplateHead(node) ||
    ts.isTemplateMiddle(node) ||
    ts.isTemplateTail(node)
  );
}
