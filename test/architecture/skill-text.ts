import { filesBelow, read, ROOT } from './repository.ts';
import path from 'node:path';
import ts from 'typescript';

const SKILL = 'sandbox/skills/extension-development';

export const SKILL_FILE = `${SKILL}/SKILL.md`;
export const PAGES: readonly string[] = filesBelow(`${SKILL}/references`, '.md');
export const TEMPLATES: readonly string[] = filesBelow(`${SKILL}/templates`);

/** Code spans in the first column of the tables below a heading. */
export function listed(markdown: string, heading: string): readonly string[] {
  const from = markdown.indexOf(`## ${heading}\n`);
  if (from < 0) throw new Error(`there is no heading '${heading}'`);
  const section = markdown.slice(from).split(/\n## /, 1)[0] ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|') && !/^\|[ -]*\|/.test(line));
  return rows.flatMap((row) => codeSpans(row.split('|')[1] ?? ''));
}

/** Code spans outside of fenced blocks. */
export function codeSpans(text: string): readonly string[] {
  return [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
}

/** The fenced blocks of one language. */
export function blocks(markdown: string, language: string): readonly string[] {
  return [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map((match) => match[1] ?? '');
}

/** The complete example of a protocol's page. */
export function exampleOf(page: string): { readonly manifest: string; readonly main: string } {
  const text = read(page);
  const [manifest, main] = [
    blocks(text, 'yaml').find((block) => block.startsWith('id:')),
    blocks(text, 'ts').find((block) => block.includes('export default class')),
  ];
  if (manifest === undefined || main === undefined) throw new Error(`${page} has no complete example: a yaml block and a ts block`);
  return { manifest, main };
}

/** What the compiler says of sources that stand in no file. One program; `pith` is the contract. */
export function typeErrors(sources: ReadonlyMap<string, string>): readonly string[] {
  const virtual = new Map([...sources].map(([name, text]) => [path.join(ROOT, '.skill-pages', name), text]));
  const { config } = ts.readConfigFile(path.join(ROOT, 'tsconfig.json'), (file) => ts.sys.readFile(file));
  const { options } = ts.convertCompilerOptionsFromJson((config as { compilerOptions: object }).compilerOptions, ROOT);
  const paths = {
    pith: [path.join(ROOT, 'core/contract/index.ts')],
    'pith/testing': [path.join(ROOT, 'core/testing/index.ts')],
    '@pith/*': [path.join(ROOT, 'packages/*/index.ts')],
    'pith/*': [path.join(ROOT, 'sandbox/extensions/*/contract.ts')],
  };
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists, getSourceFile } = host;
  host.fileExists = (file) => virtual.has(file) || fileExists(file);
  host.readFile = (file) => virtual.get(file) ?? readFile(file);
  host.getSourceFile = (file, languageVersion, ...rest) => {
    const text = virtual.get(file);
    return text === undefined ? getSourceFile(file, languageVersion, ...rest) : ts.createSourceFile(file, text, languageVersion);
  };
  const program = ts.createProgram([...virtual.keys()], { ...options, paths, types: ['node'], incremental: false }, host);
  return [...virtual.keys()].flatMap((file) => {
    const source = program.getSourceFile(file);
    if (source === undefined) return [`${file} is not in the program`];
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map((finding) => {
      const { line } = source.getLineAndCharacterOfPosition(finding.start ?? 0);
      return `${path.basename(file)}:${line + 1} ${ts.flattenDiagnosticMessageText(finding.messageText, ' ')}`;
    });
  });
}

/** Names of an interface's members, from its source. */
export function membersOf(file: string, name: string): readonly string[] {
  const found = interfacesIn(file).find((each) => each.name.text === name);
  if (found === undefined) throw new Error(`${file} has no interface '${name}'`);
  return found.members.map((member) => (member.name as ts.Identifier).text);
}

export function interfacesIn(file: string): readonly ts.InterfaceDeclaration[] {
  return ts.createSourceFile(file, read(file), ts.ScriptTarget.ES2022).statements.filter(ts.isInterfaceDeclaration);
}
